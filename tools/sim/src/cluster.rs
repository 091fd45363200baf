//! Several instances, one NATS, and sometimes a second region: simulated with the shipped journal, engine and membership
//! over a model of JetStream.

mod audit;
mod checker;
mod clients;
mod coverage;
mod figures;
mod instance;
mod link;
mod message;
mod nats;
mod observed_journal;
mod pace;
mod plan;
mod play;
mod regions;
mod register;
mod services;
mod simulator;
mod snapshot_store;
mod world;

use types::PartitionId;

pub use pace::measure;
pub use simulator::Clusters;

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
