//! A job whose time has come: fire it, leave it out, or forget it.

use bytes::Bytes;
use types::{JobRef, JobState, Missed, Overlap, RunId, Span, Ticks, Timestamp};

use super::occurrence::Occurrence;
use super::{FINISHED_KEPT, Job, JobProgress, JobRejection};
use crate::{Request, recurrence};

/// An occurrence that is later than this was missed; within it, it is merely late and always runs.
const GRACE: Span = Span::from_secs(60);

/// An occurrence that is later than this does not overlap by its plan, but because it is being caught up.
const ON_TIME: Span = Span::from_secs(1);

/// What is to be done about a job that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    Fire(Box<Firing>),
    /// No occurrence now; the job stands like this.
    Progress(JobProgress),
    /// It is finished and was kept long enough.
    Forget,
}

/// An occurrence that becomes a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    pub job: JobRef,
    /// Where the job stands afterwards.
    pub progress: JobProgress,
    pub request: Request,
}

/// Decides about a job that wants attention. `wall` is what the clock on the wall shows, because that is what the
/// rule is about; `live` counts the job's occurrences under way.
pub fn due(job: &Job, wall: Timestamp, live: usize) -> Due {
    let (definition, progress) = (&job.definition, &job.progress);
    let Some(planned) = progress.next else { return nothing_to_come(job, wall, live) };
    let late = progress.due.map_or(Span::ZERO, |due| wall.since(due));
    let once = definition.spec.timing.recurrence.is_none();
    let missed = late > GRACE;
    let skip = match definition.spec.missed {
        Missed::Skip => true,
        Missed::Latest | Missed::All => false,
    };
    if missed && skip {
        return Due::Progress(leave_out_missed(job, wall, live));
    }
    let occurrence = if missed && definition.spec.missed == Missed::Latest {
        let before = Ticks(planned.0 - 1);
        let newest = recurrence::latest(&definition.spec.timing, progress.anchor, before, wall.into());
        newest.map_or(planned, |newest| newest.max(planned))
    } else {
        planned
    };
    if live > 0 && !once && definition.spec.overlap == Overlap::Skip {
        let mut progress = progress.clone();
        if late > ON_TIME && definition.spec.missed == Missed::All {
            // Its turn comes when the one before has ended.
            progress.due = Some(wall + GRACE);
            return Due::Progress(progress);
        }
        progress.skipped += 1;
        progress.plan(definition, following(job, occurrence, wall, progress.counted), wall);
        return Due::Progress(progress);
    }
    Due::Fire(Box::new(fire(job, occurrence, wall)))
}

/// A job ends with what is under way, and is forgotten when it was kept long enough.
fn nothing_to_come(job: &Job, wall: Timestamp, live: usize) -> Due {
    if job.progress.state != JobState::Enabled {
        return Due::Forget;
    }
    let mut progress = job.progress.clone();
    if live == 0 {
        progress.finish(progress.last_failed);
    }
    progress.due = Some(wall + FINISHED_KEPT);
    Due::Progress(progress)
}

fn fire(job: &Job, occurrence: Ticks, wall: Timestamp) -> Firing {
    let mut progress = job.progress.clone();
    progress.counted = progress.counted.saturating_add(1);
    progress.fired += 1;
    progress.newest = Some(occurrence);
    progress.plan(&job.definition, following(job, occurrence, wall, progress.counted), wall);
    let id = format!("{}.{}", job.definition.uid, occurrence.0);
    firing(job, progress, occurrence, id, wall, false)
}

/// Fires a job because a person asked for it. What is planned stays planned.
pub fn run_now(job: &Job, wall: Timestamp, live: usize) -> Result<Firing, JobRejection> {
    if job.progress.state.is_final() {
        return Err(JobRejection::Final { state: job.progress.state });
    }
    if live > 0 && job.definition.spec.overlap == Overlap::Skip {
        return Err(JobRejection::Running);
    }
    let mut progress = job.progress.clone();
    progress.fired += 1;
    let id = format!("{}.by-hand.{}", job.definition.uid, progress.fired);
    Ok(firing(job, progress, wall.into(), id, wall, true))
}

fn firing(
    job: &Job,
    progress: JobProgress,
    expected: Ticks,
    id: String,
    wall: Timestamp,
    by_hand: bool,
) -> Firing {
    let occurrence = Occurrence::of(&job.definition, expected, progress.fired, by_hand);
    let body = Bytes::from(occurrence.to_json());
    let id = RunId::new(&id).expect("hex digits, a dot and a number make an id");
    let request = Request {
        accepted_at: wall,
        workflow: super::occurrence::workflow(),
        version: job.definition.version,
        key: job.key(),
        // The id alone tells occurrences apart: nobody else can hand one in.
        body_hash: types::BodyHash(job.definition.uid.0),
        body,
        id,
        trace: None,
    };
    Firing { job: job.definition.at.clone(), progress, request }
}

/// The occurrence after one that was fired or left out.
fn following(job: &Job, occurrence: Ticks, wall: Timestamp, counted: u32) -> Option<Ticks> {
    let timing = &job.definition.spec.timing;
    let recurrence = timing.recurrence.as_ref()?;
    if recurrence.count.is_some_and(|count| counted >= count) {
        return None;
    }
    if recurrence::drifts(timing) {
        // Not before the occurrence itself, whatever the clock on the wall was set to.
        let from = occurrence.max(wall.into());
        return recurrence::next(timing, from, from);
    }
    recurrence::next(timing, job.progress.anchor, occurrence)
}

fn leave_out_missed(job: &Job, wall: Timestamp, live: usize) -> JobProgress {
    let mut progress = job.progress.clone();
    progress.missed += 1;
    let timing = &job.definition.spec.timing;
    let next = match &timing.recurrence {
        None => None,
        Some(recurrence) if recurrence::drifts(timing) => {
            Some(Ticks::from(wall)).filter(|now| recurrence.end.is_none_or(|end| *now <= end))
        }
        Some(_) => recurrence::next(timing, progress.anchor, (wall - GRACE).into()),
    };
    progress.plan(&job.definition, next, wall);
    if next.is_none() && live == 0 && progress.state == JobState::Enabled {
        let once = timing.recurrence.is_none();
        progress.finish(once || progress.last_failed);
    }
    progress
}
