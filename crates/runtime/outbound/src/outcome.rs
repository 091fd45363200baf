//! What becomes of an attempt of a workflow's call, once its answer is sorted: the outcome for its run.

use bytes::Bytes;
use http::HeaderMap;
use types::{Outcome, Work};
use workflow::{Definition, ResponseVerdict};

use crate::client::ServiceResponse;
use crate::fault::Fault;
use crate::sort::Sorted;

/// Judges the answers to one piece of work.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    pub definition: &'a Definition,
    pub work: Work,
    pub context: &'a workflow::ExpressionContext<'a>,
}

impl Judge<'_> {
    /// What the answer to a call means for the run.
    pub fn answered(&self, result: &Result<ServiceResponse, Fault>, sorted: Sorted) -> Outcome {
        match (sorted, result) {
            (Sorted::Done { status, body }, Ok(answer)) => self.judged(status, &answer.headers, &body),
            (Sorted::Refused { status: Some(status @ (404 | 410)), .. }, _) if is_undo(self.work) => {
                // An undo is a tombstone: it succeeds for what was never done.
                Outcome::Done { status, output: Bytes::from_static(b"null") }
            }
            (sorted, _) => not_done(sorted),
        }
    }

    /// What the fate of a message means for the run. A message that nobody takes has not undone anything, so that no
    /// refusal counts as success here.
    pub fn sent(&self, sorted: Sorted) -> Outcome {
        match sorted {
            Sorted::Done { status, body } => self.judged(status, &HeaderMap::new(), &body),
            sorted => not_done(sorted),
        }
    }

    fn judged(&self, status: u16, headers: &HeaderMap, body: &Bytes) -> Outcome {
        match self.definition.judge(self.work, self.context, status, headers, body) {
            ResponseVerdict::Done { output } => Outcome::Done { status, output },
            ResponseVerdict::Refused { reason } => Outcome::Refused { status: Some(status), reason },
        }
    }
}

/// A call that cannot be made of its definition and this run: it would be the same each time.
pub fn never_sent(reason: &str) -> Outcome {
    Outcome::Refused { status: None, reason: format!("not sent: {reason}") }
}

/// What did not get done.
pub(crate) fn not_done(sorted: Sorted) -> Outcome {
    match sorted {
        Sorted::Done { status, .. } => Outcome::Unknown { reason: format!("{status} without an answer") },
        Sorted::Refused { status, reason } => Outcome::Refused { status, reason },
        Sorted::Transient { status, reason, retry_after } => {
            Outcome::Transient { status, reason, retry_after }
        }
        Sorted::Unknown { reason } => Outcome::Unknown { reason },
    }
}

fn is_undo(work: Work) -> bool {
    matches!(work, Work::Undo(_) | Work::UndoInstead(_))
}
