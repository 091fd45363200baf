//! Which instance owns which partition: who lives, who should own what, and how partitions change hands.
//!
//! Nothing here is authority. The journal refuses whoever was overtaken; this only makes sure that somebody tries.

mod assignment;
mod decide;
mod directory;
mod hands;
mod holder;
mod keeper;
mod member;
mod metrics;
mod pauses;
mod pulse;
mod register;
mod settings;
mod versions;

pub use assignment::{Owners, assign};
pub use decide::{Action, Decision, Outlook, Wait, decide};
pub use directory::{Directory, Place};
pub use holder::Holder;
pub use keeper::Keeper;
pub use member::{InstanceId, Member, Roles};
pub use metrics::Metrics;
pub use register::{High, Holding, Register, RegisterError, Sight};
pub use settings::{LIFETIME, Settings};
