//! How the whole installation is doing, in one answer.

use serde::{Deserialize, Serialize};

use crate::{ApiSchema, ServiceView, Time};

/// How everything is doing now, and how it was in the last minutes. Among several instances: of all of them together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Overview")]
pub struct OverviewView {
    pub at: Time,
    pub rates: RatesView,
    pub latency: LatencyView,
    pub backlog: BacklogView,
    /// Runs that wait for a person.
    pub parked: u64,
    pub firings: FiringsView,
    pub services: Vec<ServiceView>,
    pub partitions: PartitionCounts,
    /// Where there are regions: the one that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionBrief>,
    pub series: SeriesView,
}

/// Per second, over the last ten seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Rates")]
pub struct RatesView {
    /// Requests accepted, and occurrences of jobs that fired: what becomes a run.
    pub accepted: f64,
    /// Requests refused because there was too much.
    pub refused: f64,
    /// Runs that ended.
    pub ended: f64,
    /// Attempts that ended, undos included.
    pub attempts: f64,
}

/// Over the last minute; absent when nothing happened in it. Among several instances: of the slowest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Latency")]
pub struct LatencyView {
    /// From when a request was checked until it was durable; batches are not counted.
    pub accept_p50_ms: Option<f64>,
    pub accept_p99_ms: Option<f64>,
    /// From a request's acceptance to the end of its run.
    pub run_p50_ms: Option<f64>,
    pub run_p99_ms: Option<f64>,
}

/// What is accepted and has not ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Backlog")]
pub struct BacklogView {
    pub unfinished: u64,
    /// Those of them that wait in an inbox.
    pub waiting: u64,
    /// Those of them that run.
    pub live: u64,
    /// How long it takes until nothing waits, at the rates of the last minute; absent when it does not shrink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_seconds: Option<u64>,
}

/// Occurrences of jobs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Firings")]
pub struct FiringsView {
    /// The next ones, soonest first.
    pub next: Vec<FiringView>,
    /// Due, and not fired yet.
    pub late: u64,
    /// How late those of the last minute were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ms: Option<f64>,
}

/// A firing that is to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Firing")]
pub struct FiringView {
    pub collection: String,
    pub job: String,
    pub at: Time,
}

/// How many partitions there are, and in which state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "PartitionCounts")]
pub struct PartitionCounts {
    pub total: u16,
    pub running: u16,
    pub stopped: u16,
    /// Held by no instance at this moment.
    pub unheld: u16,
}

/// A region in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RegionBrief")]
pub struct RegionBrief {
    pub region: String,
    /// active, standby, fenced, or unknown
    pub role: String,
    pub pair: String,
    pub pair_reachable: bool,
}

/// How it was: one value for each stretch of `every_seconds`, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Series")]
pub struct SeriesView {
    pub every_seconds: u32,
    /// Per second, as in the rates.
    pub accepted: Vec<f64>,
    pub ended: Vec<f64>,
    pub run_p99_ms: Vec<Option<f64>>,
    /// Accepted and not ended, at the end of the stretch.
    pub unfinished: Vec<u64>,
}
