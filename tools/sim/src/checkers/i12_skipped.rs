//! I12: no occurrence is left out, except by a policy that says so and is counted. Every change of what a job has
//! planned must follow from its rule, as an oracle of its own reads it.

mod oracle;

use kernel::job::{Job, JobProgress, Occurrence};
use kernel::{Event, Fired, JobFact};
use types::{JobState, Missed, Overlap, Span, Ticks, Timestamp};

use super::{Checker, Violations};
use crate::observation::DurableEvent;
use oracle::Oracle;

/// What is later than this was missed.
const GRACE: Span = Span::from_secs(60);

pub struct Skipped;

impl Checker for Skipped {
    fn id(&self) -> &'static str {
        "I12"
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let judged = match durable.event {
            Event::Fired(fired) => check_fired(durable, fired),
            Event::Job(fact) => match &**fact {
                JobFact::Put(job) => check_put(durable, job),
                JobFact::Progressed { job, progress } => match durable.job_model.jobs.get(job) {
                    Some(before) => check_progress(durable, before, progress),
                    None => Err("a job that is not there stands".to_owned()),
                },
                JobFact::Deleted { .. } | JobFact::CollectionPut(_) | JobFact::CollectionDeleted { .. } => {
                    Ok(())
                }
            },
            _ => Ok(()),
        };
        if let Err(what) = judged {
            violations.add_violation(what);
        }
    }
}

fn check_fired(durable: &DurableEvent<'_>, fired: &Fired) -> Result<(), String> {
    let id = &fired.request.id;
    let before = durable.job_model.jobs.get(&fired.job).ok_or_else(|| format!("{id} is of no job"))?;
    let occurrence = Occurrence::of_request(&fired.request).ok_or_else(|| format!("{id} is none"))?;
    let (was, is) = (&before.progress, &fired.progress);
    require(is.fired == was.fired + 1, || format!("{id} is the {}th after {}", is.fired, was.fired))?;
    require((is.skipped, is.missed) == (was.skipped, was.missed), || {
        format!("{id} was fired and one was left out")
    })?;
    if occurrence.by_hand {
        let same = (is.next, is.due, is.counted, is.newest) == (was.next, was.due, was.counted, was.newest);
        return require(same, || format!("{id} by hand changed what is planned"));
    }
    require(was.state == JobState::Enabled, || format!("{id} of a job that is {}", was.state))?;
    let wall = fired.request.accepted_at;
    let chosen = chosen(before, wall).ok_or_else(|| format!("{id} should not have been fired"))?;
    require(occurrence.expected == chosen, || format!("{id} was fired, {} is its turn", chosen.0))?;
    require(is.counted == was.counted + 1, || format!("{id} was counted as {}", is.counted))?;
    planned(id.as_str(), is, Oracle::of(before).following(chosen, wall, is.counted))
}

/// The occurrence whose turn it is, as the policy for missed ones has it.
fn chosen(job: &Job, wall: Timestamp) -> Option<Ticks> {
    let planned = job.progress.next?;
    match job.definition.spec.missed {
        Missed::Latest if is_missed(job, wall) => Some(Oracle::of(job).newest(planned, wall)),
        Missed::Skip if is_missed(job, wall) => None,
        Missed::Latest | Missed::Skip | Missed::All => Some(planned),
    }
}

fn is_missed(job: &Job, wall: Timestamp) -> bool {
    job.progress.due.is_some_and(|due| wall.since(due) > GRACE)
}

fn check_put(durable: &DurableEvent<'_>, job: &Job) -> Result<(), String> {
    let (name, is) = (&job.definition.name, &job.progress);
    let before = durable.job_model.jobs.get(&job.definition.at);
    let same_timing = before.is_some_and(|before| {
        before.definition.spec.timing == job.definition.spec.timing && !before.progress.state.is_final()
    });
    let counted = before.filter(|_| same_timing).map_or(0, |before| before.progress.counted);
    require(is.counted == counted, || format!("{name} was edited and counts {}", is.counted))?;
    let kept = |progress: &JobProgress| (progress.fired, progress.skipped, progress.missed, progress.newest);
    let was = before.map_or((0, 0, 0, None), |before| kept(&before.progress));
    require(kept(is) == was, || format!("{name} was edited and its counts changed"))?;
    if !job.definition.spec.enabled || !collection_enabled(durable, job) {
        return rests(name, is);
    }
    if let Some(before) = before.filter(|before| same_timing && before.progress.state == JobState::Enabled) {
        let was = &before.progress;
        return require((is.next, is.due) == (was.next, was.due), || format!("{name} was planned again"));
    }
    planned(name, is, Oracle::of(job).first(job.definition.changed_at))
}

fn check_progress(durable: &DurableEvent<'_>, before: &Job, is: &JobProgress) -> Result<(), String> {
    let (name, was, wall) = (&before.definition.name, &before.progress, durable.wall);
    let spec = &before.definition.spec;
    require(is.counted == was.counted && is.fired == was.fired, || format!("{name} counts without firing"))?;
    let more = (is.skipped - was.skipped, is.missed - was.missed);
    if was.state == JobState::Enabled && is.state == JobState::Disabled {
        require(!collection_enabled(durable, before), || format!("{name} rests, its collection does not"))?;
        return rests(name, is);
    }
    if was.state == JobState::Disabled && is.state == JobState::Enabled {
        require(was.held && collection_enabled(durable, before), || format!("{name} woke up by itself"))?;
        return planned(name, is, Oracle::of(before).first(wall));
    }
    match more {
        (0, 0) => require(is.next == was.next, || {
            format!("{name} had {:?} planned, has {:?}, and nothing was counted", was.next, is.next)
        }),
        (1, 0) => {
            let live = durable.job_model.live(before);
            let chosen = chosen(before, wall).ok_or_else(|| format!("{name} had nothing planned"))?;
            require(spec.overlap == Overlap::Skip && live > 0, || {
                format!("{name} left out {}, {live} are under way", chosen.0)
            })?;
            require(chosen.ceil() <= wall, || format!("{name} left out {} before its time", chosen.0))?;
            planned(name, is, Oracle::of(before).following(chosen, wall, is.counted))
        }
        (0, 1) => {
            require(spec.missed == Missed::Skip && is_missed(before, wall), || {
                format!("{name} left out {:?} as missed at {}", was.next, wall.0)
            })?;
            planned(name, is, Oracle::of(before).after_missed(wall, GRACE))
        }
        _ => Err(format!("{name} left out {more:?} at once")),
    }
}

fn collection_enabled(durable: &DurableEvent<'_>, job: &Job) -> bool {
    let uid = job.definition.at.collection;
    durable.job_model.collections.values().any(|collection| collection.uid == uid && collection.spec.enabled)
}

fn rests(name: &str, is: &JobProgress) -> Result<(), String> {
    let rests = is.state == JobState::Disabled && is.next.is_none() && is.due.is_none();
    require(rests, || format!("{name} is disabled and has {:?} planned", is.next))
}

fn planned(name: &str, is: &JobProgress, expected: Option<Ticks>) -> Result<(), String> {
    require(is.next == expected, || {
        let ms = |at: Option<Ticks>| at.map(|at| at.0);
        format!("{name} has {:?} planned, its rule has {:?}", ms(is.next), ms(expected))
    })?;
    let in_time = is.next.is_none_or(|next| is.due.is_some_and(|due| due >= next.ceil()));
    require(in_time, || format!("{name} is due at {:?} for {:?}", is.due, is.next))
}

fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
