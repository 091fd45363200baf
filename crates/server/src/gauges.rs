//! Gauges of the whole process.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Default)]
pub(crate) struct Gauges {
    pub disk_free_bytes: Gauge,
    pub journal_bytes: Gauge,
    pub view_bytes: Gauge,
    pub unfinished: Gauge,
    pub frames_refused: Counter,
    pub inbox_gaps: Counter,
    pub servers_unfit: Gauge,
    pub servers_silent: Gauge,
}

impl Gauges {
    pub fn register(registry: &mut Registry) -> Gauges {
        let gauges = Gauges::default();
        registry.register("sortie_disk_free_bytes", "Free space on the disk", gauges.disk_free_bytes.clone());
        registry.register("sortie_journal_bytes", "Size of the journal", gauges.journal_bytes.clone());
        registry.register("sortie_view_bytes", "Size of the view on disk", gauges.view_bytes.clone());
        registry.register(
            "sortie_unfinished_runs",
            "Requests that are accepted and have not ended, including those in the inbox",
            gauges.unfinished.clone(),
        );
        registry.register(
            "sortie_frames_refused",
            "Frames that the journal refused because another owner had claimed the partition; 0 with a journal on disk",
            gauges.frames_refused.clone(),
        );
        registry.register(
            "sortie_inbox_gaps",
            "Inboxes that ended before the position up to which they had been read, and were continued after it: their streams were restored from a backup or created again. Alert when it grows without that",
            gauges.inbox_gaps.clone(),
        );
        registry.register(
            "sortie_nats_servers_unfit",
            "NATS servers that may lose what they acknowledge, by their version or their settings; alert above 0",
            gauges.servers_unfit.clone(),
        );
        registry.register(
            "sortie_nats_servers_silent",
            "NATS servers that do not report their state",
            gauges.servers_silent.clone(),
        );
        gauges
    }
}
