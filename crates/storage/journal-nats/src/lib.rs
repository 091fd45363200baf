//! The journal on NATS JetStream, which several instances share.
//!
//! A partition has two streams: its *inbox*, to which any instance appends requests, and its *events*, to which only the
//! owner appends frames (`names`). Messages carry checksums (`frame`, `batch`).
//!
//! **What it promises.** An append that returns `Ok` is stored on a majority of the stream's servers, each of which has
//! synced it. An append to the events is *guarded*: it expects the last sequence of the stream, and is sent again with the
//! same expectation until it is certain whether it is stored (`guarded_append`). So an owner that was replaced can append
//! nothing, and a frame is stored at most once. A claim is such an append, too. A read returns every frame that was asked
//! for, or an error; a damaged message is fetched from another replica or from the paired region (`fetch`).
//!
//! **What it needs from NATS.** Version 2.15 or newer, `sync_interval: always`, `max_payload` of at least 8 MB
//! (`preflight` refuses other servers), and streams with the configuration that `layout` creates and checks.
//!
//! **What happens at a fault.** Without a response, appends and reads are repeated until NATS responds; the callers wait.
//! A request to an inbox is repeated for 30 seconds; then its outcome is unknown to the client, who may repeat it under the
//! same id. If a stream has lost acknowledged messages, its partition is not claimed, and the error says what to restore.
//!
//! [`jetstream`] is the client that everything here, the snapshot store, the register and the regions use.

pub mod batch;
mod events;
mod fetch;
pub mod frame;
mod guarded_append;
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
