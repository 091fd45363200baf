//! Which situations of jobs durable events tell of.

pub mod queues;

use kernel::job::{Job, JobProgress, Occurrence};
use kernel::{Event, JobFact};
use types::{JobState, Missed, Overlap, Span, Ticks};

use crate::coverage::{Coverage, Sometimes};
use crate::plan::jobs::{BACK_MS, FORWARD_MS};
use crate::sighting::Durable;

const GRACE: Span = Span::from_secs(60);
const HOUR_MS: i64 = 3_600_000;

pub fn note(coverage: &mut Coverage, durable: &Durable<'_>) {
    let book = durable.book;
    match durable.event {
        Event::Fired(fired) => {
            let Some(before) = book.jobs.get(&fired.job) else { return };
            let Some(occurrence) = Occurrence::of_request(&fired.request) else { return };
            if occurrence.by_hand {
                return coverage.note(Sometimes::JobByHand);
            }
            note_fired(coverage, durable, before, occurrence.expected);
        }
        Event::Job(fact) => match &**fact {
            JobFact::Put(job) => {
                if book.jobs.get(&job.definition.at).is_some_and(|before| book.live(before) > 0) {
                    coverage.note(Sometimes::JobEditedUnderWay);
                }
            }
            JobFact::Deleted { job } => {
                if book.jobs.get(job).is_some_and(|before| book.live(before) > 0) {
                    coverage.note(Sometimes::JobDeletedUnderWay);
                }
            }
            JobFact::Progressed { job, progress } => {
                if let Some(before) = book.jobs.get(job) {
                    note_progress(coverage, &before.progress, progress);
                    if progress.newest.is_some_and(|newest| newest > Ticks::from(durable.wall)) {
                        coverage.note(Sometimes::ClockBackOverOccurrence);
                    }
                }
            }
            JobFact::CollectionPut(_) | JobFact::CollectionDeleted { .. } => {}
        },
        _ => {}
    }
}

fn note_fired(coverage: &mut Coverage, durable: &Durable<'_>, before: &Job, expected: Ticks) {
    let spec = &before.definition.spec;
    let late = before.progress.due.is_some_and(|due| durable.wall.since(due) > GRACE);
    if late && spec.missed == Missed::All {
        coverage.note(Sometimes::MissedAll);
    }
    if before.progress.next.is_some_and(|planned| expected > planned) {
        coverage.note(Sometimes::MissedLatest);
    }
    if spec.overlap == Overlap::Queue && durable.book.live(before) > 0 {
        coverage.note(Sometimes::OverlapQueued);
    }
    if spec.timing.zone.is_some() {
        let ms = expected.ceil().0;
        if ms == FORWARD_MS {
            coverage.note(Sometimes::FiredInGap);
        }
        if (BACK_MS - HOUR_MS..BACK_MS + HOUR_MS).contains(&ms) {
            coverage.note(Sometimes::FiredInRepeat);
        }
    }
}

fn note_progress(coverage: &mut Coverage, was: &JobProgress, is: &JobProgress) {
    if is.missed > was.missed {
        coverage.note(Sometimes::MissedSkipped);
    }
    if is.skipped > was.skipped {
        coverage.note(Sometimes::OverlapSkipped);
    }
    if is.held && !was.held {
        coverage.note(Sometimes::CollectionHeld);
    }
    if was.held && is.state == JobState::Enabled {
        coverage.note(Sometimes::CollectionReleased);
    }
}
