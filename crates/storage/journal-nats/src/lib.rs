//! The journal on NATS JetStream: guarded appends, replay that is complete or refused, snapshots that any machine can
//! go on from.

pub mod batch;
mod events;
mod fetch;
pub mod frame;
mod guarded;
mod inbox;
pub mod jetstream;
pub mod layout;
mod limits;
pub mod names;
mod nats_journal;
mod nats_wire;
pub mod nonce;
mod open;
pub mod preflight;
mod room;
mod settings;
mod snapshots;
mod tls;
mod wire;

pub use nats_journal::{Installation, NatsJournal};
pub use nats_wire::NatsWire;
pub use open::{OpenError, new_process};
pub use settings::{Login, Proof, Servers, Settings, Tls};
pub use snapshots::{Snapshots, Version};
pub use wire::{Bounds, Outgoing, PublishError, Source, Storage, Wire};
