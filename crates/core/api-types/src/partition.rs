//! Partitions, services and limits as the API shows them.

use serde::{Deserialize, Serialize};

use crate::{ApiSchema, Time};

/// Where a partition stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Partition")]
pub struct PartitionView {
    pub partition: u16,
    /// running, stopped, or unheld when no instance has it at this moment
    #[schema(one_of("running", "stopped", "unheld"))]
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

/// How a service is doing. Among several instances: to all of them together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Service")]
pub struct ServiceView {
    /// Its address.
    pub service: String,
    /// What workflows call it, as `workflow/service`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Calls that may be under way at once, now; 0 before the first call.
    pub limit: usize,
    pub in_flight: usize,
    pub waiting: usize,
    /// closed, open, half_open, held_open or held_closed
    #[schema(one_of("closed", "open", "half_open", "held_open", "held_closed"))]
    pub breaker: String,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// What a person has said about it, while that applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<ByHandView>,
}

/// What a person has said about a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "ServiceByHand")]
pub struct ByHandView {
    /// auto, open or closed
    #[schema(one_of("auto", "open", "closed"))]
    pub breaker: String,
    /// The most calls at once, in the place of the workflows' `concurrency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub at: Time,
    pub by: String,
}

/// What a person says about a service, in the place of what was said before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(deny_unknown_fields)]
#[schema(name = "ServiceDraft", input)]
pub struct ServiceRequest {
    /// auto: the breaker decides; open: calls wait; closed: calls go out whatever their results
    #[serde(default = "auto")]
    #[schema(one_of("auto", "open", "closed"), default = "auto")]
    pub breaker: String,
    /// The most calls at once; without one, what the workflows say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10000, nullable)]
    pub limit: Option<u32>,
    /// Why, for whoever looks at it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500, nullable)]
    pub note: Option<String>,
}

fn auto() -> String {
    "auto".to_owned()
}

/// The limits that apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Limits")]
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
