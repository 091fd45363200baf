//! Partitions, services and limits as the API shows them.

use serde::{Deserialize, Serialize};

/// Where a partition stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionView {
    pub partition: u16,
    /// running, stopped, or unheld when no instance has it at this moment
    pub state: String,
    /// Why it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Requests accepted so far, and how many of them became runs; among several instances, messages of requests.
    pub inbox_tail: u64,
    pub inbox_through: u64,
    pub live_runs: usize,
    pub parked_runs: usize,
    pub calls: usize,
}

impl PartitionView {
    /// One that no instance has at this moment.
    pub fn unheld(partition: u16) -> PartitionView {
        PartitionView {
            partition,
            state: "unheld".to_owned(),
            reason: None,
            inbox_tail: 0,
            inbox_through: 0,
            live_runs: 0,
            parked_runs: 0,
            calls: 0,
        }
    }
}

/// How a service is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceView {
    pub service: String,
    /// Calls that may be under way at once, now.
    pub limit: usize,
    pub in_flight: usize,
    pub waiting: usize,
    /// closed, open, half_open, held_open or held_closed
    pub breaker: String,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

/// The limits in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub partitions: u16,
    pub body_bytes_max: usize,
    pub batch_requests_max: usize,
    pub batch_bytes_max: usize,
    pub definition_bytes_max: usize,
    pub unfinished_runs_max: usize,
    pub calls_max: usize,
    pub live_runs_max: usize,
    pub page_items_max: usize,
    pub connections_max: usize,
}
