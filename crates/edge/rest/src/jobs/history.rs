//! History: every attempt of every occurrence, read from the runs that the occurrences were.

use std::cmp::Reverse;

use engine::archive;
use kernel::job::{Collection, Job, Occurrence};
use kernel::{Fact, Run};
use schedule::{ActionName, HistoryRecord, HistoryStatus};
use types::{Outcome, Ticks, Timestamp, Work};
use view::RunQuery;

use super::{Jobs, JobsError};
use crate::error::ApiError;

/// One attempt that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub run: String,
    pub expected: Ticks,
    pub started: Timestamp,
    pub ended: Timestamp,
    /// The errorAction, not the action itself.
    pub is_alternative: bool,
    /// 0 for the first attempt.
    pub retry: u32,
    /// 1 for the first occurrence.
    pub occurrence: u64,
    pub by_hand: bool,
    pub completed: bool,
    pub message: String,
}

impl Attempt {
    /// Tells attempts apart that began in the same millisecond, the later one being greater: an action that is
    /// refused at once is followed by its errorAction at once.
    pub fn rank(&self) -> u64 {
        let alternative = if self.is_alternative { 500_000 } else { 0 };
        self.occurrence
            .saturating_mul(1_000_000)
            .saturating_add(alternative + u64::from(self.retry.min(499_999)))
    }
}

/// One page of attempts, newest first.
pub(crate) struct HistoryPage {
    pub attempts: Vec<Attempt>,
    pub more: bool,
}

/// Runs that are read at once.
const RUNS_AT_ONCE: usize = 100;

/// An attempt as the documents know it.
pub(crate) fn record(attempt: &Attempt) -> HistoryRecord {
    HistoryRecord {
        start: attempt.started.into(),
        end: Some(attempt.ended.into()),
        expected: attempt.expected,
        status: if attempt.completed { HistoryStatus::Completed } else { HistoryStatus::Failed },
        message: attempt.message.clone(),
        retry_count: attempt.retry,
        repeat_count: attempt.occurrence,
        action: if attempt.is_alternative { ActionName::Error } else { ActionName::Main },
    }
}

impl Jobs {
    pub(crate) async fn history(
        &self,
        collection: &Collection,
        job: &Job,
        status: Option<HistoryStatus>,
        skip: usize,
        top: usize,
    ) -> Result<HistoryPage, JobsError> {
        let partition = self.reader.partition_of(&collection.id());
        let key = job.key();
        let live =
            self.engine.query(partition, move |state| state.occurrences(&key).cloned().collect::<Vec<Run>>());
        let mut attempts = Vec::new();
        for run in live.await.map_err(ApiError::from)?.iter().rev() {
            attempts.extend(attempts_of(run));
        }
        let wanted = |attempt: &Attempt| match status {
            None => true,
            Some(HistoryStatus::Completed) => attempt.completed,
            Some(HistoryStatus::Failed) => !attempt.completed,
            // Nothing is put off for ever without being tried: there are no such records.
            Some(HistoryStatus::Postponed) => false,
        };
        attempts.retain(wanted);
        let enough = skip.saturating_add(top).saturating_add(1);
        let mut cursor = None;
        // Once for all pages: a cursor belongs to the query that it came from.
        let from = self.clock.wall() - self.history_for;
        while attempts.len() < enough {
            let query = RunQuery {
                key: Some(job.key()),
                from: Some(from),
                partition: Some(partition),
                limit: RUNS_AT_ONCE,
                cursor: cursor.take(),
                ..RunQuery::default()
            };
            let view = self.view.clone();
            let read = tokio::task::spawn_blocking(move || read_page(&view, &query)).await;
            let (runs, next) = read.expect("reading does not panic")?;
            // What has ended since is in the view as well, and whole.
            attempts.retain(|attempt| runs.iter().all(|run| run.request.id.as_str() != attempt.run));
            attempts.extend(runs.iter().flat_map(attempts_of).filter(wanted));
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        // Occurrences that overlap are listed by when each attempt began.
        attempts.sort_by_key(|attempt| Reverse((attempt.started, attempt.rank())));
        let more = attempts.len() > skip.saturating_add(top);
        let attempts = attempts.into_iter().skip(skip).take(top).collect();
        Ok(HistoryPage { attempts, more })
    }
}

fn read_page(view: &view::View, query: &RunQuery) -> Result<(Vec<Run>, Option<String>), ApiError> {
    let failed = |error: String| ApiError::View(error);
    let page = view.list(query).map_err(|error| failed(error.to_string()))?;
    let mut runs = Vec::new();
    for row in page.rows {
        let ended = view.run(&row.id, query.partition).map_err(|error| failed(error.to_string()))?;
        if let Some(ended) = ended {
            runs.push(archive::open(&ended).map_err(|error| failed(format!("run {}: {error}", row.id)))?);
        }
    }
    Ok((runs, page.next))
}

/// The attempts of an occurrence that have ended, newest first.
fn attempts_of(run: &Run) -> Vec<Attempt> {
    let Some(occurrence) = Occurrence::of_request(&run.request) else { return Vec::new() };
    let mut attempts = Vec::new();
    let mut started = None;
    for moment in &run.timeline {
        match &moment.fact {
            Fact::Started { .. } => started = Some(moment.at),
            Fact::Ended { work, attempt, outcome, .. } => attempts.push(Attempt {
                run: run.request.id.to_string(),
                expected: occurrence.expected,
                started: started.take().unwrap_or(moment.at),
                ended: moment.at,
                is_alternative: matches!(work, Work::Alternative(_)),
                retry: attempt - 1,
                occurrence: occurrence.number,
                by_hand: occurrence.by_hand,
                completed: matches!(outcome, Outcome::Done { .. }),
                message: message(outcome),
            }),
            _ => {}
        }
    }
    attempts.reverse();
    attempts
}

/// What the effects said of an attempt.
fn message(outcome: &Outcome) -> String {
    #[derive(serde::Deserialize)]
    struct Output {
        message: String,
    }
    match outcome {
        Outcome::Done { output, .. } => {
            serde_json::from_slice(output).map(|output: Output| output.message).unwrap_or_default()
        }
        Outcome::Refused { reason, .. } | Outcome::Transient { reason, .. } | Outcome::Unknown { reason } => {
            reason.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_of_one_millisecond_keep_their_order_and_differ() {
        let attempt = |occurrence: u64, is_alternative: bool, retry: u32| Attempt {
            run: String::new(),
            expected: Ticks(0),
            started: Timestamp(0),
            ended: Timestamp(0),
            is_alternative,
            retry,
            occurrence,
            by_hand: false,
            completed: false,
            message: String::new(),
        };
        let in_order = [(1, false, 0), (1, false, 4), (1, true, 0), (1, true, 20), (2, false, 0)];
        let ranks =
            in_order.map(|(occurrence, alternative, retry)| attempt(occurrence, alternative, retry).rank());
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
    }
}
