//! What is counted when partitions change hands.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The metrics of one instance among others. The default counts for nobody.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    pub(crate) takes: Counter,
    pub(crate) take_failures: Counter,
    pub(crate) releases: Counter,
    pub(crate) losses: Counter,
    pub(crate) held: Gauge,
    pub(crate) instances: Gauge,
    pub(crate) last_take_seconds: Gauge<f64, AtomicU64>,
    pub(crate) beats_missed: Counter,
    pub(crate) calls_held: Gauge,
}

impl Metrics {
    pub fn register(registry: &mut Registry) -> Metrics {
        let metrics = Metrics::default();
        let counters = [
            ("sortie_partition_takes", "Partitions taken", &metrics.takes),
            (
                "sortie_partition_take_failures",
                "Takes that failed; each is tried again after a pause. Alert when it keeps growing",
                &metrics.take_failures,
            ),
            ("sortie_partition_releases", "Partitions let go", &metrics.releases),
            ("sortie_partition_losses", "Partitions that another took, or that stopped", &metrics.losses),
            ("sortie_beats_missed", "Signs of life that the register did not take", &metrics.beats_missed),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        let gauges = [
            (
                "sortie_partitions_held",
                "Partitions that this instance holds, the control partition included; alert when the sum over all instances stays below their number",
                &metrics.held,
            ),
            ("sortie_instances", "Instances that live, as this one sees them", &metrics.instances),
            (
                "sortie_calls_held",
                "1 while this instance starts no calls, because nobody has heard it for 4 s",
                &metrics.calls_held,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        let seconds = metrics.last_take_seconds.clone();
        registry.register("sortie_partition_last_take_seconds", "How long the last take took", seconds);
        metrics
    }
}
