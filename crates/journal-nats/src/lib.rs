//! The journal on NATS JetStream: guarded appends, replay that is complete or refused, snapshots that any machine can
//! go on from.

mod batch;
mod events;
mod fetch;
mod frame;
mod guarded;
mod inbox;
mod limits;
pub mod names;
mod nats_journal;
mod nonce;
mod pause;
mod room;
pub mod snapshots;
mod wire;

pub use nats_journal::{Installation, NatsJournal};
pub use snapshots::Snapshots;
pub use wire::{Bounds, Outgoing, PublishError, Source, Storage, Wire, WireError};
