//! The runs that a bulk is for, page by page.
//!
//! Runs are listed by when they were accepted and by their ids, newest first. Neither ever changes, so that a cursor
//! never skips or repeats a run because its status has. Those in memory are listed before those that have ended, and a
//! run may go from the one list to the other: each action takes its runs from one of the two.

use api_types::{BulkAction, BulkCount, BulkSelect, BulkView, Problem, RunSummary};
use kernel::job;
use types::RunStatus;

use crate::api::{Refusal, RunApi, RunsPart, RunsQuery};
use crate::limits::{BULK_COUNTED_MAX, BULK_COUNTED_PAGE, BULK_COUNTED_ROWS_MAX};

/// One page of the runs that a bulk is for.
pub(crate) struct SelectedRuns {
    pub rows: Vec<RunSummary>,
    pub next: Option<String>,
    /// How many rows were looked at.
    pub scanned: usize,
}

/// Why there is no list.
pub(crate) enum ListFailure {
    /// Try again after so many seconds.
    Later {
        problem: Box<Problem>,
        secs: u64,
    },
    Permanent(Box<Problem>),
}

impl From<Refusal> for ListFailure {
    fn from(refusal: Refusal) -> ListFailure {
        if refusal.is_server_error() {
            let secs = refusal.retry_after_secs.unwrap_or(1);
            return ListFailure::Later { problem: refusal.problem, secs };
        }
        ListFailure::Permanent(refusal.problem)
    }
}

/// One page of what a selection finds, after a cursor.
pub(crate) async fn find_runs(
    api: &impl RunApi,
    view: &BulkView,
    select: &BulkSelect,
    cursor: Option<&str>,
    limit: usize,
) -> Result<SelectedRuns, ListFailure> {
    let part = if view.action == BulkAction::Rerun { RunsPart::Ended } else { RunsPart::Live };
    let page = api.list(&view.by, RunsQuery { select, part, cursor, limit }).await?;
    let scanned = page.items.len();
    let wanted = |row: &RunSummary| is_meant(view.action, row.status) && has_reason(select, row);
    Ok(SelectedRuns { rows: page.items.into_iter().filter(wanted).collect(), next: page.next, scanned })
}

/// How many runs a selection finds, and the first of them.
pub(crate) async fn count_runs(
    api: &impl RunApi,
    view: &BulkView,
    select: &BulkSelect,
    sample_max: usize,
) -> Result<(BulkCount, Vec<RunSummary>), ListFailure> {
    let (mut count, mut scanned, mut sample, mut cursor) = (0, 0, Vec::new(), None);
    loop {
        let found = find_runs(api, view, select, cursor.as_deref(), BULK_COUNTED_PAGE).await?;
        count += found.rows.len() as u64;
        scanned += found.scanned.max(1);
        let room = sample_max - sample.len();
        sample.extend(found.rows.into_iter().take(room));
        match found.next {
            None => return Ok((BulkCount { count, at_least: false }, sample)),
            Some(_) if count >= BULK_COUNTED_MAX || scanned >= BULK_COUNTED_ROWS_MAX => {
                return Ok((BulkCount { count, at_least: true }, sample));
            }
            Some(next) => cursor = Some(next),
        }
    }
}

fn has_reason(select: &BulkSelect, row: &RunSummary) -> bool {
    let Some(wanted) = &select.reason else { return true };
    row.reason.as_ref().is_some_and(|reason| reason.contains(wanted.as_str()))
}

/// Whether an action is for runs of this status.
pub(crate) fn is_meant(action: BulkAction, status: RunStatus) -> bool {
    match action {
        BulkAction::Retry | BulkAction::Resolve => status == RunStatus::Parked,
        BulkAction::Cancel => matches!(status, RunStatus::Accepted | RunStatus::Queued | RunStatus::Running),
        BulkAction::Rerun => status.is_final(),
    }
}

/// Whether a run was an occurrence of a job: its job fires again, or is run manually.
pub(crate) fn is_occurrence(row: &RunSummary) -> bool {
    row.workflow == job::WORKFLOW
}
