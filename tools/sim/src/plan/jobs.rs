//! Jobs in a plan: what editors do to them, and how that is drawn.

use serde::{Deserialize, Serialize};
use types::{
    Frequency, Gap, JobSpec, Missed, Overlap, Recurrence, Repeat, Retry, Rule, Schedule, Span, Ticks, Timing,
};

use super::draw::LENGTH_MS;
use super::{Operation, Timed};
use crate::rng::Rng;

/// Something that an editor does to the jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobOperation {
    /// The collection is made, held or released.
    Collection {
        enabled: bool,
    },
    Put {
        job: u8,
        spec: Box<JobSpec>,
        condition: Condition,
        change: bool,
        think_ms: u64,
    },
    Delete {
        job: u8,
        condition: Condition,
        think_ms: u64,
    },
    Run {
        job: u8,
    },
}

/// What an editor expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    Anything,
    Nothing,
    /// What it read before it thought.
    AsRead,
}

/// When the clocks of Berlin were put forward and back in 2026, in ms since 1970.
pub const FORWARD_MS: i64 = 1_774_746_000_000;
pub const BACK_MS: i64 = 1_792_890_000_000;

/// What the wall clock shows at the beginning of some plans: shortly before the clocks change.
pub fn draw_wall_ms(rng: &mut Rng, usual_ms: i64) -> i64 {
    let before_ms = rng.pick(&[30_000, 30_000, 120_000, 1_830_000]);
    match rng.below(6) {
        0 => FORWARD_MS - before_ms,
        1 => BACK_MS - before_ms,
        // Between the two times that the same hour is shown.
        2 => BACK_MS + 3_600_000 - before_ms,
        _ => usual_ms,
    }
}

/// What editors do; nothing in half of the plans.
pub fn draw(rng: &mut Rng, wall_ms: i64) -> Vec<Timed> {
    if rng.one_in(2) {
        return Vec::new();
    }
    let mut operations = vec![timed(0, JobOperation::Collection { enabled: true })];
    for job in 0..rng.pick(&[1, 1, 2, 3, 6]) {
        let at = rng.below(LENGTH_MS / 2);
        let condition = rng.pick(&[Condition::Anything, Condition::Nothing]);
        let first = spec(rng, wall_ms);
        operations.push(timed(at, put(job, first.clone(), condition, false, 0)));
        for _ in 0..rng.pick(&[0, 1, 3]) {
            let at = at + rng.below(LENGTH_MS / 2);
            edit(rng, wall_ms, job, at, &first, &mut operations);
        }
    }
    if rng.one_in(3) {
        let at = rng.below(LENGTH_MS);
        operations.push(timed(at, JobOperation::Collection { enabled: false }));
        operations.push(timed(at + rng.below(LENGTH_MS / 3), JobOperation::Collection { enabled: true }));
    }
    operations
}

/// One edit, or several by editors who do not know of each other.
fn edit(rng: &mut Rng, wall_ms: i64, job: u8, at: u64, first: &JobSpec, operations: &mut Vec<Timed>) {
    let think_ms = rng.pick(&[0, 5, 300]);
    match rng.below(8) {
        0 => operations.push(timed(at, JobOperation::Delete { job, condition: Condition::AsRead, think_ms })),
        1 => {
            operations.push(timed(at, JobOperation::Delete { job, condition: Condition::Anything, think_ms }))
        }
        2 | 3 => operations.push(timed(at, JobOperation::Run { job })),
        4 => {
            for _ in 0..3 {
                let spec = spec(rng, wall_ms);
                let at = at + rng.below(20);
                operations.push(timed(at, put(job, spec, Condition::AsRead, true, think_ms)));
            }
        }
        5 => {
            // Held, and released with what it had.
            let held = JobSpec { enabled: false, ..first.clone() };
            operations.push(timed(at, put(job, held, Condition::Anything, true, 0)));
            let at = at + rng.below(10_000);
            operations.push(timed(at, put(job, first.clone(), Condition::Anything, true, 0)));
        }
        6 => {
            // Another retry, the same times.
            let retry = Retry::Fixed { delay: Span::from_ms(150), attempts: 4 };
            let spec = JobSpec { retry, ..first.clone() };
            operations.push(timed(at, put(job, spec, Condition::AsRead, true, think_ms)));
        }
        _ => {
            let condition = rng.pick(&[Condition::Anything, Condition::Nothing, Condition::AsRead]);
            let change = rng.one_in(2);
            operations.push(timed(at, put(job, spec(rng, wall_ms), condition, change, think_ms)));
        }
    }
}

fn put(job: u8, spec: JobSpec, condition: Condition, change: bool, think_ms: u64) -> JobOperation {
    JobOperation::Put { job, spec: Box::new(spec), condition, change, think_ms }
}

fn timed(at: u64, operation: JobOperation) -> Timed {
    Timed { at, operation: Operation::Jobs(operation) }
}

fn spec(rng: &mut Rng, wall_ms: i64) -> JobSpec {
    let missed = rng.pick(&[Missed::Latest, Missed::All, Missed::Skip]);
    let mut timing = timing(rng, wall_ms);
    if let Some(recurrence) = timing.recurrence.as_mut()
        && (missed == Missed::All || rng.one_in(3))
    {
        // All that was missed in hours is much; the rule must come to an end.
        recurrence.count = Some(rng.between(1, 8) as u32);
    }
    JobSpec {
        timing,
        retry: rng.pick(&[Retry::None, Retry::Fixed { delay: Span::from_ms(400), attempts: 3 }]),
        alternative: rng.pick(&[None, Some(Retry::Fixed { delay: Span::from_ms(100), attempts: 2 })]),
        missed,
        overlap: rng.pick(&[Overlap::Skip, Overlap::Queue, Overlap::Allow]),
        enabled: !rng.one_in(12),
        authenticates: false,
    }
}

fn timing(rng: &mut Rng, wall_ms: i64) -> Timing {
    let soon = |rng: &mut Rng| Ticks((wall_ms + rng.below(LENGTH_MS) as i64) * 10_000 + rng.below(3) as i64);
    let every = |frequency, schedule| Rule::Every { frequency, interval: 1, schedule };
    let berlin = Some("Europe/Berlin".to_owned());
    let (start, rule, zone) = match rng.below(9) {
        0 => (Some(soon(rng)), None, None),
        1 => (None, None, None),
        2 | 3 => (None, Some(cron(rng.pick(&["*/5 * * * * *", "*/10 * * * * *", "*/20 * * * * *"]))), None),
        4 => (Some(soon(rng)), Some(every(Frequency::Minute, None)), None),
        5 => (None, Some(every(rng.pick(&[Frequency::Minute, Frequency::Hour]), None)), None),
        6 => (None, Some(cron("*/30 * * * * *")), berlin),
        7 => (None, Some(cron(rng.pick(&["* * * * *", "*/30 * * * *", "0 2 * * *"]))), berlin),
        _ => {
            let minutes = rng.pick(&[&[0_u8, 1][..], &[30, 59], &[0, 30]]).to_vec();
            let schedule = Schedule { hours: vec![2, 3], minutes, ..Schedule::default() };
            (Some(Ticks((wall_ms - 1000) * 10_000)), Some(every(Frequency::Day, Some(schedule))), berlin)
        }
    };
    let end = rng.one_in(4).then(|| soon(rng) + Span::from_ms(rng.pick(&[0, 0, 150_000])));
    Timing {
        start,
        recurrence: rule.map(|rule| Recurrence { rule, count: None, end }),
        zone,
        gap: rng.pick(&[Gap::End, Gap::Skip]),
        repeat: rng.pick(&[Repeat::First, Repeat::Both]),
        jitter: Span::from_ms(rng.pick(&[0, 0, 0, 700, 3000])),
    }
}

fn cron(text: &str) -> Rule {
    Rule::Cron(text.parse().expect("a valid expression"))
}
