//! What a bulk asks of the API.

use api_types::{BulkSelect, DecisionRequest, Problem, RunDetail, RunPage, RunSummary};
use bytes::Bytes;
use types::RunId;

/// The API for runs, wherever in the cluster they are, on behalf of an operator. Every call may be repeated.
pub trait RunApi: Clone + Send + Sync + 'static {
    /// One page of runs that a selection matches, all but its reason, newest first.
    fn list(&self, by: &str, query: RunsQuery<'_>) -> impl Future<Output = Result<RunPage, Refusal>> + Send;

    fn get(&self, by: &str, id: &str) -> impl Future<Output = Result<RunDetail, Refusal>> + Send;

    fn cancel(&self, by: &str, id: &str) -> impl Future<Output = Result<(), Refusal>> + Send;

    fn decide(
        &self,
        by: &str,
        id: &str,
        decision: &DecisionRequest,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Submits the request of an earlier run to the current version of its workflow, as the run `id`.
    fn submit_again(
        &self,
        by: &str,
        workflow: &str,
        id: &RunId,
        request: Bytes,
    ) -> impl Future<Output = Result<Resubmitted, Refusal>> + Send;
}

/// Which runs are listed.
#[derive(Debug, Clone, Copy)]
pub struct RunsQuery<'a> {
    pub select: &'a BulkSelect,
    pub part: RunsPart,
    /// Where the list goes on: the `next` of the page before.
    pub cursor: Option<&'a str>,
    pub limit: usize,
}

/// Runs are listed in two parts, and a run may go from the first to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsPart {
    /// Those in memory; the last page has no `next`.
    Live,
    Ended,
}

/// What became of a request that was submitted again.
#[derive(Debug)]
pub enum Resubmitted {
    New,
    /// A run with this id exists, with this summary if it could be read.
    Existing(Option<RunSummary>),
}

/// Why the API has not done what was asked.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The status of HTTP.
    pub status: u16,
    pub retry_after_secs: Option<u64>,
    pub problem: Box<Problem>,
}

impl Refusal {
    /// Whether the run is not in the state that the request needs.
    pub(crate) fn is_conflict(&self) -> bool {
        self.status == 409
    }

    pub(crate) fn is_server_error(&self) -> bool {
        self.status >= 500
    }
}
