//! Metrics of heartbeats and of partitions acquired and released.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The metrics of one instance in a cluster. The default is registered nowhere.
#[derive(Debug, Clone, Default)]
pub struct ClusterMetrics {
    pub(crate) acquisitions: Counter,
    pub(crate) acquire_failures: Counter,
    pub(crate) releases: Counter,
    pub(crate) losses: Counter,
    pub(crate) owned: Gauge,
    pub(crate) instances: Gauge,
    pub(crate) last_acquire_seconds: Gauge<f64, AtomicU64>,
    pub(crate) heartbeats_missed: Counter,
    pub(crate) calls_paused: Gauge,
}

impl ClusterMetrics {
    pub fn register(registry: &mut Registry) -> ClusterMetrics {
        let metrics = ClusterMetrics::default();
        let counters = [
            ("sortie_partition_takes", "Partitions acquired", &metrics.acquisitions),
            (
                "sortie_partition_take_failures",
                "Acquisitions that failed; each is retried after a backoff. Alert when it keeps growing",
                &metrics.acquire_failures,
            ),
            ("sortie_partition_releases", "Partitions released", &metrics.releases),
            (
                "sortie_partition_losses",
                "Partitions that another instance claimed, or that stopped",
                &metrics.losses,
            ),
            (
                "sortie_beats_missed",
                "Heartbeats that the register did not acknowledge",
                &metrics.heartbeats_missed,
            ),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        let gauges = [
            (
                "sortie_partitions_held",
                "Partitions that this instance owns, the control partition included; alert when the sum over all instances stays below their number",
                &metrics.owned,
            ),
            ("sortie_instances", "Instances that are alive, as this one sees them", &metrics.instances),
            (
                "sortie_calls_held",
                "1 while this instance starts no calls, because no heartbeat was acknowledged for 4 s",
                &metrics.calls_paused,
            ),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        let seconds = metrics.last_acquire_seconds.clone();
        registry.register(
            "sortie_partition_last_take_seconds",
            "How long the last acquisition took",
            seconds,
        );
        metrics
    }
}
