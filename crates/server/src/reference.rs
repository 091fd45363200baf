//! The metrics and settings of a server, for the tables of the reference.

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::gauges::Gauges;
use crate::region;

pub use crate::config::declare::Setting;

/// Every setting, with its default as its value.
pub fn settings() -> Vec<Setting> {
    Config::default().settings()
}

/// Every metric of a server, in the text that `/metrics` has before anything has happened.
pub fn metrics() -> String {
    text(|registry| {
        ingest::Metrics::register(registry);
        engine::EngineMetrics::register(registry);
        sources::SourceMetrics::register(registry);
        Gauges::register(registry);
    })
}

/// The metrics that only instances of a cluster have.
pub fn cluster_metrics() -> String {
    text(|registry| {
        cluster::ClusterMetrics::register(registry);
    })
}

/// The metrics that instances of paired regions have in addition, with a witness.
pub fn region_metrics() -> String {
    text(|registry| {
        region::Gauges::register(registry, true);
    })
}

fn text(register: impl FnOnce(&mut Registry)) -> String {
    let mut registry = Registry::default();
    register(&mut registry);
    let mut text = String::new();
    encode_registry(&mut text, &registry).expect("text can be written to a string");
    text
}
