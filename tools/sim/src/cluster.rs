//! Several instances, one NATS, and sometimes a second region: simulated with the shipped journal, engine and keeper
//! over a model of JetStream.

mod audit;
mod campaign;
mod clients;
mod coverage;
mod instance;
mod judge;
mod link;
mod message;
mod nats;
mod pace;
mod plan;
mod play;
mod regions;
mod register;
mod report;
mod services;
mod shrink;
mod snapshot_store;
mod watch;
mod world;

use types::PartitionId;

pub use campaign::{catch, play, replay};
pub use pace::measure;

/// The name of the simulated installation.
const NAME: &str = "sim";

fn inbox(partition: PartitionId) -> String {
    journal_nats::names::inbox_stream(NAME, partition)
}

fn events(partition: PartitionId) -> String {
    journal_nats::names::events_stream(NAME, partition)
}

/// Whether a message of the events is a claim.
pub fn is_claim(payload: &bytes::Bytes) -> bool {
    message::Event::read(payload).is_some_and(|event| event.frame.is_none())
}
