//! The journal on NATS JetStream: guarded appends, replay that is complete or refused, snapshots that any machine can
//! go on from.

pub mod names;
pub mod regions;
pub mod snapshots;
mod wire;

pub use snapshots::Snapshots;
pub use wire::{Bounds, Outgoing, PublishError, Source, Wire, WireError};
