//! The journal on NATS JetStream: guarded appends, replay that is complete or refused, snapshots that any machine can
//! go on from.

mod batch;
mod client;
mod events;
mod fetch;
mod frame;
mod guarded;
mod inbox;
pub mod layout;
mod limits;
pub mod names;
mod nats_journal;
mod nonce;
mod open;
mod pause;
pub mod preflight;
pub mod regions;
mod register;
mod room;
mod settings;
pub mod snapshots;
mod tls;
mod wire;

pub use client::Client;
pub use nats_journal::{Installation, NatsJournal};
pub use open::{OpenError, new_process};
pub use register::NatsRegister;
pub use settings::{Login, Proof, Servers, Settings, Tls};
pub use snapshots::Snapshots;
pub use wire::{Bounds, Outgoing, PublishError, Source, Storage, Wire, WireError};
