//! Bulk: one action on many runs, stored in the control partition and driven by its owner, page after page.
//!
//! A page is stored before anything is done to its runs. The owner that continues after a crash looks at each run of
//! that page first, and its timeline says whether it had its turn: so no run is skipped, and each is counted once.

mod act;
mod api;
mod driver;
mod handle;
pub mod limits;
mod order;
mod preview;
mod select;

use api_types::{BulkFailure, BulkState, BulkView, Time};
use engine::{KeepError, StoredDocument};
use serde::{Deserialize, Serialize};
use types::Timestamp;

use crate::limits::{BULK_SAMPLE_MAX, BULK_TEXT_CHARS_MAX};

pub use api::{Refusal, Resubmitted, RunApi, RunsPart, RunsQuery};
pub use driver::drive;
pub use handle::Bulks;
pub use order::BulkOrder;

/// Why a bulk was not begun, shown or stopped.
#[derive(Debug, thiserror::Error)]
pub enum BulkError {
    /// The request is wrong; says why.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    TooMany(String),
    /// Whether runs match cannot be said at the moment.
    #[error("{0}")]
    Unsure(String),
    #[error(transparent)]
    Keep(#[from] KeepError),
}

/// A bulk as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bulk {
    #[serde(flatten)]
    pub view: BulkView,
    /// Where the list of runs goes on.
    #[serde(default)]
    next: NextPage,
    /// The runs whose turn it is: each may have been acted on since this was stored, or not.
    #[serde(default)]
    page: Vec<String>,
}

/// Where a list of runs goes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NextPage {
    #[default]
    First,
    Cursor(String),
    /// For a bulk that names its runs: how many of the ids were taken.
    Taken(usize),
    End,
}

/// What became of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ActionOutcome {
    Done,
    /// With the code of the reason.
    Skipped(String),
    Failed {
        code: String,
        problem: String,
    },
}

impl Bulk {
    fn read(document: &StoredDocument) -> Option<Bulk> {
        let read = serde_json::from_str(&document.text);
        read.inspect_err(
            |error| tracing::warn!(%error, "a bulk cannot be read; it was stored by a newer version"),
        )
        .ok()
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("a bulk in memory can always be encoded")
    }

    fn is_running(&self) -> bool {
        self.view.state == BulkState::Running
    }

    fn count(&mut self, id: &str, outcome: ActionOutcome) {
        let view = &mut self.view;
        match outcome {
            ActionOutcome::Done => view.done += 1,
            ActionOutcome::Skipped(reason) => {
                view.skipped.count += 1;
                *view.skipped.reasons.entry(reason).or_default() += 1;
            }
            ActionOutcome::Failed { code, problem } => {
                view.failed.count += 1;
                if view.failed.sample.len() < BULK_SAMPLE_MAX {
                    let problem = problem.chars().take(300).collect();
                    view.failed.sample.push(BulkFailure { id: id.to_owned(), code, problem });
                }
            }
        }
    }

    /// Ends it before it is through, for a reason that is reported with its failures, in few bytes.
    fn break_off(&mut self, code: &str, problem: &str, at: Timestamp) {
        self.view.failed.sample.truncate(BULK_SAMPLE_MAX - 1);
        self.count("", ActionOutcome::Failed { code: code.to_owned(), problem: problem.to_owned() });
        let view = &mut self.view;
        (view.state, view.ended_at, view.waiting) = (BulkState::Stopped, Some(Time(at)), None);
        let reason = view.select.as_mut().and_then(|select| select.reason.as_mut());
        for text in reason.into_iter().chain(view.step.as_mut()) {
            *text = text.chars().take(BULK_TEXT_CHARS_MAX).collect();
        }
        (self.page, self.next) = (Vec::new(), NextPage::End);
    }

    /// Marks the decisions of this bulk in timelines.
    fn mark(&self) -> String {
        format!("bulk {}", self.view.id)
    }

    /// The note that timelines show.
    fn note(&self) -> String {
        match self.view.note.as_str() {
            "" => self.mark(),
            note => format!("{note} ({})", self.mark()),
        }
    }
}
