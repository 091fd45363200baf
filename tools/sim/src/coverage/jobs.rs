//! Situations that durable events of jobs show.

use kernel::job::{Job, JobProgress, Occurrence};
use kernel::{Event, JobFact};
use types::{JobState, Missed, Overlap, Span, Ticks};

use crate::coverage::{Coverage, Situation};
use crate::observation::DurableEvent;
use crate::plan::jobs::{BACK_MS, FORWARD_MS};

const GRACE: Span = Span::from_secs(60);
const HOUR_MS: i64 = 3_600_000;

pub fn note(coverage: &mut Coverage, durable: &DurableEvent<'_>) {
    let job_model = durable.job_model;
    match durable.event {
        Event::Fired(fired) => {
            let Some(before) = job_model.jobs.get(&fired.job) else { return };
            let Some(occurrence) = Occurrence::of_request(&fired.request) else { return };
            if occurrence.by_hand {
                return coverage.note(Situation::JobByHand);
            }
            note_fired(coverage, durable, before, occurrence.expected);
        }
        Event::Job(fact) => match &**fact {
            JobFact::Put(job) => {
                if job_model.jobs.get(&job.definition.at).is_some_and(|before| job_model.live(before) > 0) {
                    coverage.note(Situation::JobEditedUnderWay);
                }
            }
            JobFact::Deleted { job } => {
                if job_model.jobs.get(job).is_some_and(|before| job_model.live(before) > 0) {
                    coverage.note(Situation::JobDeletedUnderWay);
                }
            }
            JobFact::Progressed { job, progress } => {
                if let Some(before) = job_model.jobs.get(job) {
                    note_progress(coverage, &before.progress, progress);
                    if progress.newest.is_some_and(|newest| newest > Ticks::from(durable.wall)) {
                        coverage.note(Situation::ClockBackOverOccurrence);
                    }
                }
            }
            JobFact::CollectionPut(_) | JobFact::CollectionDeleted { .. } => {}
        },
        _ => {}
    }
}

fn note_fired(coverage: &mut Coverage, durable: &DurableEvent<'_>, before: &Job, expected: Ticks) {
    let spec = &before.definition.spec;
    let late = before.progress.due.is_some_and(|due| durable.wall.since(due) > GRACE);
    if late && spec.missed == Missed::All {
        coverage.note(Situation::MissedAll);
    }
    if before.progress.next.is_some_and(|planned| expected > planned) {
        coverage.note(Situation::MissedLatest);
    }
    if spec.overlap == Overlap::Queue && durable.job_model.live(before) > 0 {
        coverage.note(Situation::OverlapQueued);
    }
    if spec.timing.zone.is_some() {
        let ms = expected.ceil().0;
        if ms == FORWARD_MS {
            coverage.note(Situation::FiredInGap);
        }
        if (BACK_MS - HOUR_MS..BACK_MS + HOUR_MS).contains(&ms) {
            coverage.note(Situation::FiredInRepeat);
        }
    }
}

fn note_progress(coverage: &mut Coverage, was: &JobProgress, is: &JobProgress) {
    if is.missed > was.missed {
        coverage.note(Situation::MissedSkipped);
    }
    if is.skipped > was.skipped {
        coverage.note(Situation::OverlapSkipped);
    }
    if is.held && !was.held {
        coverage.note(Situation::CollectionHeld);
    }
    if was.held && is.state == JobState::Enabled {
        coverage.note(Situation::CollectionReleased);
    }
}
