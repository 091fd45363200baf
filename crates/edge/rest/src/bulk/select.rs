//! The runs that a bulk is about, page by page.
//!
//! Runs are listed by when they were accepted and by their ids, newest first. Neither ever changes, so that a cursor
//! never skips or repeats a run because its status has. Those in memory are listed before those that have ended, and a
//! run may go from the one list to the other: each action takes its runs from one of the two.

use api_types::{BulkAction, BulkCount, BulkSelect, BulkView, Problem, RunPage, RunSummary};
use bytes::Bytes;
use http::{Method, Uri};
use kernel::job;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use types::RunStatus;

use super::ask::Answer;
use crate::limits::{BULK_COUNTED_MAX, BULK_COUNTED_ROWS_MAX, PAGE_ITEMS_MAX};
use crate::router::Router;
use crate::runs as listing;

/// Some of the runs, and where the list goes on.
pub(super) struct Found {
    pub rows: Vec<RunSummary>,
    pub next: Option<String>,
    /// How many rows were looked at.
    pub seen: usize,
}

/// Why there is no list.
pub(super) enum NoList {
    /// Try again after so many seconds.
    Later {
        problem: Box<Problem>,
        secs: u64,
    },
    Never(Box<Problem>),
}

impl Router {
    /// One page of what a selection finds, behind a cursor.
    pub(super) async fn find_runs(
        &self,
        view: &BulkView,
        select: &BulkSelect,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Found, NoList> {
        let rerun = view.action == BulkAction::Rerun;
        let cursor = cursor.or(rerun.then_some(listing::ENDED_FIRST));
        let answer = self.ask_for(&view.by, Method::GET, uri(select, cursor, limit), Bytes::new()).await;
        if !answer.status.is_success() {
            return Err(no_list(&answer));
        }
        let page: RunPage = answer.json().map_err(NoList::Never)?;
        let seen = page.items.len();
        let wanted = |row: &RunSummary| is_meant(view.action, row.status) && has_reason(select, row);
        let rows = page.items.into_iter().filter(wanted).collect();
        // Where those in memory end, everything else has ended.
        let next = page.next.filter(|next| rerun || listing::is_live(next));
        Ok(Found { rows, next, seen })
    }

    /// How many runs a selection finds, and the first of them.
    pub(super) async fn count_runs(
        &self,
        view: &BulkView,
        select: &BulkSelect,
        sample_max: usize,
    ) -> Result<(BulkCount, Vec<RunSummary>), NoList> {
        let (mut count, mut seen, mut sample, mut cursor) = (0, 0, Vec::new(), None);
        loop {
            let found = self.find_runs(view, select, cursor.as_deref(), PAGE_ITEMS_MAX).await?;
            count += found.rows.len() as u64;
            seen += found.seen.max(1);
            let room = sample_max - sample.len();
            sample.extend(found.rows.into_iter().take(room));
            match found.next {
                None => return Ok((BulkCount { count, at_least: false }, sample)),
                Some(_) if count >= BULK_COUNTED_MAX || seen >= BULK_COUNTED_ROWS_MAX => {
                    return Ok((BulkCount { count, at_least: true }, sample));
                }
                Some(next) => cursor = Some(next),
            }
        }
    }
}

fn no_list(answer: &Answer) -> NoList {
    let problem = Box::new(answer.problem());
    if answer.status.is_server_error() {
        return NoList::Later { problem, secs: answer.retry_after_secs.unwrap_or(1) };
    }
    NoList::Never(problem)
}

fn uri(select: &BulkSelect, cursor: Option<&str>, limit: usize) -> Uri {
    let mut text = format!("/v1/runs?limit={limit}");
    let mut add = |name: &str, value: &str| {
        text.push_str(&format!("&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    };
    let pairs = [
        ("workflow", select.workflow.clone()),
        ("status", select.status.map(|status| status.as_str().to_owned())),
        ("key", select.key.clone()),
        ("from", select.from.map(|time| time.to_string())),
        ("to", select.to.map(|time| time.to_string())),
        ("cursor", cursor.map(str::to_owned)),
    ];
    for (name, value) in pairs {
        value.iter().for_each(|value| add(name, value));
    }
    text.parse().expect("an encoded query is an address")
}

fn has_reason(select: &BulkSelect, row: &RunSummary) -> bool {
    let Some(wanted) = &select.reason else { return true };
    row.reason.as_ref().is_some_and(|reason| reason.contains(wanted.as_str()))
}

/// Whether an action is for runs that stand so.
pub(super) fn is_meant(action: BulkAction, status: RunStatus) -> bool {
    match action {
        BulkAction::Retry | BulkAction::Resolve => status == RunStatus::Parked,
        BulkAction::Cancel => matches!(status, RunStatus::Accepted | RunStatus::Queued | RunStatus::Running),
        BulkAction::Rerun => status.is_final(),
    }
}

/// Whether a run was an occurrence of a job: its job fires again, or by hand.
pub(super) fn is_occurrence(row: &RunSummary) -> bool {
    row.workflow == job::WORKFLOW
}
