//! A job of a simulation: made by the shipped rules from its document, and what the clocks do to it.

use std::collections::BTreeMap;
use std::convert::Infallible;

use kernel::job::{CollectionDraft, Draft, Expect, Job, JobRejection, PutMode, put, put_collection};
use kernel::recurrence;
use schedule::JobDocument;
use types::{CollectionSpec, Span, Ticks, Timestamp, Timing, Uid};

/// Occurrences whose clock changes are looked for; as many as a preview lists.
const PLANNED_MAX: usize = 1000;
/// Local times that daylight saving skips, as many as are printed.
const LEFT_OUT_MAX: usize = 20;

/// What a change of the clocks does to the occurrences of a job.
#[derive(Debug)]
pub struct PlannedJob {
    changes: BTreeMap<Ticks, String>,
    /// The local times of the recurrence that the clocks skip.
    pub omitted: Vec<String>,
}

impl PlannedJob {
    pub fn new(timing: &Timing, from: Timestamp, to: Timestamp) -> PlannedJob {
        let (from, to) = (Ticks::from(from), Ticks::from(to));
        let planned = recurrence::preview(timing, from, from, PLANNED_MAX);
        let changes =
            planned.into_iter().filter_map(|planned| Some((planned.at, planned.change?.to_string())));
        let omitted = recurrence::skipped_times(timing, from, from, to, LEFT_OUT_MAX);
        PlannedJob { changes: changes.collect(), omitted: omitted.iter().map(ToString::to_string).collect() }
    }

    /// What a change of the clocks did to an occurrence.
    pub fn clocks(&self, occurrence: Ticks) -> Option<String> {
        self.changes.get(&occurrence).cloned()
    }
}

/// The job as it progress_after_change when it is created at `now`, in a collection that bounds nothing.
pub fn create(name: &str, document: &JobDocument, seed: u64, now: Timestamp) -> Result<Job, JobRejection> {
    let uid = uid(seed);
    let spec =
        CollectionSpec { jobs_max: 1, period_min: Span::from_secs(1), authentication: true, enabled: true };
    let text = |text: &str| text.to_owned();
    let collection = CollectionDraft {
        subscription: text("default"),
        group: text("default"),
        name: text("simulated"),
        uid,
        spec,
        document: text("{}"),
    };
    let (collection, _) = put_collection(None, &[], &collection, Expect::Anything, now)?;
    let draft = Draft {
        name: name.to_owned(),
        uid,
        spec: document.spec(),
        document: document.stored(),
        delay: Span::ZERO,
    };
    put(&collection, None, &draft, Expect::Anything, PutMode::Replace, now)
}

/// The document without its secrets: no call leaves, so nobody needs them.
pub fn without_secrets(mut document: JobDocument) -> JobDocument {
    let Ok(()) = document.visit_secrets(|_, secret| {
        "hidden".clone_into(secret);
        Ok::<(), Infallible>(())
    });
    document
}

/// An id that follows from the seed: jitter and delays are drawn from it.
fn uid(seed: u64) -> Uid {
    let halves = [types::retry::mix(seed), types::retry::mix(!seed)];
    let mut bytes = [0; 16];
    for (place, half) in halves.into_iter().enumerate() {
        bytes[place * 8..][..8].copy_from_slice(&half.to_be_bytes());
    }
    Uid(bytes)
}
