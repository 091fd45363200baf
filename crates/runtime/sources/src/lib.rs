//! Sources: takes messages off queues and streams and starts a run of a workflow with each.
//!
//! At least once: a message is settled when its run is durable, never before. The id of the run follows from the
//! message and from the source that takes it, so that one that comes again finds its run, and two sources of one topic
//! have a run each. What can never become a run is parked with its bytes: by a
//! built-in queue among its own dead letters, of a broker in a built-in queue.

mod broker;
mod holders;
mod intake;
mod own_queue;
mod roster;

use std::sync::Arc;

use brokers::{Brokers, Login};
use engine::{Catalogs, Engine};
use ingest::Ingest;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use workflow::Service;

pub use holders::{ForwardedRequest, Forwarding, OwnerError, PartitionOwners};

/// What sources work with.
pub struct SourceParts {
    pub engine: Engine,
    pub ingest: Arc<Ingest>,
    pub catalogs: Catalogs,
    pub partitions: u16,
    pub metrics: SourceMetrics,
    pub brokers: Brokers,
    /// How to sign in at the service of a broker.
    pub login: fn(&Service) -> Result<Option<Login>, String>,
    /// The way to other instances; none when this one is alone.
    pub holders: Option<Arc<dyn PartitionOwners>>,
}

/// The running sources of all workflows.
pub struct Sources {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// What happened to a message of a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone)]
pub struct SourceMetrics {
    messages: Family<OutcomeLabel, Counter>,
}

impl SourceMetrics {
    pub fn register(registry: &mut Registry) -> SourceMetrics {
        let messages = Family::default();
        for outcome in ["started", "parked", "refused"] {
            // There from the start: a rate over what begins with its first event misses that event.
            drop(messages.get_or_create(&OutcomeLabel { outcome }));
        }
        registry.register(
            "sortie_source_messages",
            "What became of the messages of sources",
            messages.clone(),
        );
        SourceMetrics { messages }
    }

    fn count(&self, outcome: &'static str) {
        self.messages.get_or_create(&OutcomeLabel { outcome }).inc();
    }
}

impl Sources {
    /// Begins to take messages for every workflow that has sources, now and whenever one is applied.
    pub fn start(parts: SourceParts) -> Sources {
        let (stop, stopped) = watch::channel(false);
        let task = host::spawn("sources", roster::keep(Arc::new(parts), stopped));
        Sources { stop, task }
    }

    /// Takes nothing more, and waits until what was taken is settled.
    pub async fn stop(self) {
        // The roster may have ended with the process's other tasks.
        let _ = self.stop.send(true);
        self.task.await.expect("a task that panics takes the process down");
    }
}
