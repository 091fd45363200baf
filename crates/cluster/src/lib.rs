//! Which instance owns which partition: who lives, who should own what, and how partitions change hands.
//!
//! Nothing here is authority. The journal refuses whoever was overtaken; this only makes sure that somebody tries.

mod directory;
mod member;
mod register;

pub use directory::{Directory, Place};
pub use member::{InstanceId, Member, Roles};
pub use register::{Holding, Register, RegisterError, Sight};
