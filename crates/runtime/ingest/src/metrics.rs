//! What ingest counts.

use host::{Counted, Histogram};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Reason {
    pub reason: &'static str,
}

const REASONS: [&str; 3] = ["backlog", "disk", "memory"];

/// What has been accepted and refused since the start.
#[derive(Debug, Clone, PartialEq)]
pub struct IngestReading {
    pub accepted: u64,
    /// Because there was too much.
    pub refused: u64,
    /// How long it took to make requests durable; those that came in batches are not among them.
    pub accept_times: Counted,
}

/// The metrics of ingest.
#[derive(Clone)]
pub struct Metrics {
    pub(crate) accepted: Counter,
    pub(crate) replayed: Counter,
    pub(crate) shed: Family<Reason, Counter>,
    pub(crate) ack_seconds: Histogram,
}

impl Metrics {
    /// Reads the counts. Takes no part in what is counted.
    pub(crate) fn read(&self) -> IngestReading {
        let refused = REASONS.map(|reason| self.shed.get(&Reason { reason }).map_or(0, |count| count.get()));
        IngestReading {
            accepted: self.accepted.get(),
            refused: refused.into_iter().sum(),
            accept_times: self.ack_seconds.read(),
        }
    }

    pub fn register(registry: &mut Registry) -> Metrics {
        let metrics = Metrics {
            accepted: Counter::default(),
            replayed: Counter::default(),
            shed: Family::default(),
            ack_seconds: Histogram::new(0.0001, 18),
        };
        for reason in ["backlog", "disk", "memory"] {
            // There from the start: a rate over what begins with its first event misses that event.
            drop(metrics.shed.get_or_create(&Reason { reason }));
        }
        registry.register("sortie_ingest_accepted", "Requests accepted", metrics.accepted.clone());
        registry.register(
            "sortie_ingest_replayed",
            "Requests answered with an existing run",
            metrics.replayed.clone(),
        );
        registry.register(
            "sortie_shed",
            "Requests refused because there was too much to do or too little room",
            metrics.shed.clone(),
        );
        registry.register(
            "sortie_ingest_ack_seconds",
            "Time to make a request durable",
            metrics.ack_seconds.clone(),
        );
        metrics
    }
}
