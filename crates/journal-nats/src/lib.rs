//! The journal on NATS JetStream: guarded appends, replay that is complete or refused, snapshots that any machine can
//! go on from.

pub mod names;
pub mod regions;
mod wire;

pub use wire::{Bounds, Outgoing, PublishError, Source, Wire, WireError};
