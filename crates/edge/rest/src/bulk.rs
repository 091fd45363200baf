//! Doing one thing to many runs: kept in the control partition, driven by its holder, one page of runs after another.
//!
//! A page is kept before anything is done to its runs. Whoever goes on after a crash looks at each run of that page
//! first, and finds by its timeline whether it had its turn: so nothing is left out, and every run is counted once.

mod act;
mod ask;
mod driver;
mod metrics;
mod order;
mod preview;
mod select;

use api_types::{BulkFailure, BulkState, BulkView, Time};
use engine::{ExpectedVersion, KeepError, StoredDocument};
use serde::{Deserialize, Serialize};
use types::Timestamp;

use crate::error::ApiError;
use crate::limits::{BULK_SAMPLE_MAX, BULK_TEXT_CHARS_MAX, BULKS_ENDED_MAX, BULKS_RUNNING_MAX};

pub(crate) use driver::drive;
pub(crate) use metrics::Bulks;
pub(crate) use order::Order;

/// Where bulks are kept, and the ids of those that name their runs.
const SHELF: &str = "bulk";
const IDS_SHELF: &str = "bulk.ids";

/// A bulk as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bulk {
    #[serde(flatten)]
    pub view: BulkView,
    /// Where the list of runs goes on.
    #[serde(default)]
    next: Next,
    /// The runs whose turn it is: each may have been dealt with since this was kept, or not.
    #[serde(default)]
    page: Vec<String>,
}

/// Where a list of runs goes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Next {
    #[default]
    First,
    Cursor(String),
    /// With the ids that were named, this is how many were taken.
    Taken(usize),
    End,
}

/// What became of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Acted {
    Done,
    /// For a reason that is told by a code.
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
            |error| tracing::warn!(%error, "a bulk cannot be read; it was kept by a newer version"),
        )
        .ok()
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("a bulk in memory can always be encoded")
    }

    fn is_running(&self) -> bool {
        self.view.state == BulkState::Running
    }

    fn count(&mut self, id: &str, acted: Acted) {
        let view = &mut self.view;
        match acted {
            Acted::Done => view.done += 1,
            Acted::Skipped(reason) => {
                view.skipped.count += 1;
                *view.skipped.reasons.entry(reason).or_default() += 1;
            }
            Acted::Failed { code, problem } => {
                view.failed.count += 1;
                if view.failed.sample.len() < BULK_SAMPLE_MAX {
                    let problem = problem.chars().take(300).collect();
                    view.failed.sample.push(BulkFailure { id: id.to_owned(), code, problem });
                }
            }
        }
    }

    /// Ends it before it is through, for a reason that is told with its failures, in few bytes.
    fn break_off(&mut self, code: &str, problem: &str, at: Timestamp) {
        self.view.failed.sample.truncate(BULK_SAMPLE_MAX - 1);
        self.count("", Acted::Failed { code: code.to_owned(), problem: problem.to_owned() });
        let view = &mut self.view;
        (view.state, view.ended_at, view.waiting) = (BulkState::Stopped, Some(Time(at)), None);
        let reason = view.select.as_mut().and_then(|select| select.reason.as_mut());
        for text in reason.into_iter().chain(view.step.as_mut()) {
            *text = text.chars().take(BULK_TEXT_CHARS_MAX).collect();
        }
        (self.page, self.next) = (Vec::new(), Next::End);
    }

    /// What marks decisions of this bulk in timelines.
    fn mark(&self) -> String {
        format!("bulk {}", self.view.id)
    }

    /// What stands in timelines.
    fn note(&self) -> String {
        match self.view.note.as_str() {
            "" => self.mark(),
            note => format!("{note} ({})", self.mark()),
        }
    }
}

impl Bulks {
    /// Every bulk that is known, newest first.
    pub(crate) fn all(&self) -> Vec<BulkView> {
        let shelves = self.control.documents().load();
        let mut all: Vec<_> = shelves.all(SHELF).filter_map(|(_, document)| Bulk::read(document)).collect();
        all.sort_by(|a, b| (b.view.started_at.0, &b.view.id).cmp(&(a.view.started_at.0, &a.view.id)));
        all.into_iter().map(|bulk| bulk.view).collect()
    }

    pub(crate) fn get(&self, id: &str) -> Result<BulkView, ApiError> {
        Ok(self.kept(id)?.0.view)
    }

    fn kept(&self, id: &str) -> Result<(Bulk, u64), ApiError> {
        let shelves = self.control.documents().load();
        let found =
            shelves.get(SHELF, id).and_then(|document| Some((Bulk::read(document)?, document.version)));
        found.ok_or_else(|| ApiError::NotFound(format!("no bulk {id}")))
    }

    /// Ends a bulk before it is through. What it is doing at the moment is still done.
    pub(crate) async fn stop(&self, id: &str, by: &str) -> Result<BulkView, ApiError> {
        loop {
            let (mut bulk, version) = self.kept(id)?;
            if !bulk.is_running() {
                return Ok(bulk.view);
            }
            bulk.view.state = BulkState::Stopped;
            bulk.view.ended_at = Some(Time(self.clock.now()));
            bulk.view.waiting = None;
            match self.keep(&bulk, by, ExpectedVersion::Version(version)).await {
                Ok(_) => return Ok(bulk.view),
                // Its driver has kept how far it has come; or, when that is not to be seen, it changes hands.
                Err(KeepError::Changed { .. }) if self.kept(id)?.1 == version => {
                    return Err(KeepError::NotHeld.into());
                }
                Err(KeepError::Changed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Keeps a new bulk. From now on it is driven.
    async fn begin(&self, bulk: &Bulk, ids: &[String]) -> Result<(), ApiError> {
        let _alone = self.beginning.lock().await;
        let running = self.all().iter().filter(|view| view.state == BulkState::Running).count();
        if running >= BULKS_RUNNING_MAX {
            let text = format!("{running} bulks are under way; wait for one to end, or stop one");
            return Err(ApiError::TooManyBulks(text));
        }
        self.forget_old().await?;
        let (id, by) = (&bulk.view.id, &bulk.view.by);
        if !ids.is_empty() {
            let text = serde_json::to_string(ids).expect("texts can always be encoded");
            self.control.keep(IDS_SHELF, id, Some(text), by, ExpectedVersion::Absent).await?;
        }
        self.keep(bulk, by, ExpectedVersion::Absent).await?;
        Ok(())
    }

    /// Forgets bulks that ended long ago, and ids whose bulk is forgotten or never began.
    async fn forget_old(&self) -> Result<(), ApiError> {
        let all = self.all();
        let ended = all.iter().filter(|view| view.state != BulkState::Running);
        for old in ended.skip(BULKS_ENDED_MAX - 1) {
            self.control.keep(SHELF, &old.id, None, "sortie", ExpectedVersion::Anything).await?;
        }
        let kept = self.control.documents().load();
        for (name, _) in kept.all(IDS_SHELF) {
            // Also what cannot be read here may need its ids: its driver is of another version.
            if kept.get(SHELF, name).is_none() {
                self.control.keep(IDS_SHELF, name, None, "sortie", ExpectedVersion::Anything).await?;
            }
        }
        Ok(())
    }

    async fn keep(&self, bulk: &Bulk, by: &str, expected: ExpectedVersion) -> Result<u64, KeepError> {
        let kept = self.control.keep(SHELF, &bulk.view.id, Some(bulk.text()), by, expected).await?;
        Ok(kept.expect("what is kept has a version"))
    }

    /// The ids that a bulk was given, if they are there.
    fn ids(&self, id: &str) -> Option<Vec<String>> {
        let shelves = self.control.documents().load();
        serde_json::from_str(&shelves.get(IDS_SHELF, id)?.text).ok()
    }
}
