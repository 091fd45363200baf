//! Jobs in a plan: what editors do to them, and how that is drawn.

use serde::{Deserialize, Serialize};
use types::{
    Frequency, Gap, JobSpec, Missed, Overlap, Recurrence, Repeat, Retry, Rule, Schedule, Span, Ticks, Timing,
};

use super::draw::LENGTH_MS;
use super::{Deed, Timed};
use crate::dice::Dice;

/// Something that an editor does to the jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobDeed {
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

/// What the clock on the wall shows at the beginning of some plans: shortly before the clocks change.
pub fn draw_wall_ms(dice: &mut Dice, usual_ms: i64) -> i64 {
    let before_ms = dice.pick(&[30_000, 30_000, 120_000, 1_830_000]);
    match dice.below(6) {
        0 => FORWARD_MS - before_ms,
        1 => BACK_MS - before_ms,
        // Between the two times that the same hour is shown.
        2 => BACK_MS + 3_600_000 - before_ms,
        _ => usual_ms,
    }
}

/// What editors do; nothing in half of the plans.
pub fn draw(dice: &mut Dice, wall_ms: i64) -> Vec<Timed> {
    if dice.one_in(2) {
        return Vec::new();
    }
    let mut deeds = vec![timed(0, JobDeed::Collection { enabled: true })];
    for job in 0..dice.pick(&[1, 1, 2, 3, 6]) {
        let at = dice.below(LENGTH_MS / 2);
        let condition = dice.pick(&[Condition::Anything, Condition::Nothing]);
        let first = spec(dice, wall_ms);
        deeds.push(timed(at, put(job, first.clone(), condition, false, 0)));
        for _ in 0..dice.pick(&[0, 1, 3]) {
            let at = at + dice.below(LENGTH_MS / 2);
            edit(dice, wall_ms, job, at, &first, &mut deeds);
        }
    }
    if dice.one_in(3) {
        let at = dice.below(LENGTH_MS);
        deeds.push(timed(at, JobDeed::Collection { enabled: false }));
        deeds.push(timed(at + dice.below(LENGTH_MS / 3), JobDeed::Collection { enabled: true }));
    }
    deeds
}

/// One edit, or several by editors who do not know of each other.
fn edit(dice: &mut Dice, wall_ms: i64, job: u8, at: u64, first: &JobSpec, deeds: &mut Vec<Timed>) {
    let think_ms = dice.pick(&[0, 5, 300]);
    match dice.below(8) {
        0 => deeds.push(timed(at, JobDeed::Delete { job, condition: Condition::AsRead, think_ms })),
        1 => deeds.push(timed(at, JobDeed::Delete { job, condition: Condition::Anything, think_ms })),
        2 | 3 => deeds.push(timed(at, JobDeed::Run { job })),
        4 => {
            for _ in 0..3 {
                let spec = spec(dice, wall_ms);
                let at = at + dice.below(20);
                deeds.push(timed(at, put(job, spec, Condition::AsRead, true, think_ms)));
            }
        }
        5 => {
            // Held, and released with what it had.
            let held = JobSpec { enabled: false, ..first.clone() };
            deeds.push(timed(at, put(job, held, Condition::Anything, true, 0)));
            let at = at + dice.below(10_000);
            deeds.push(timed(at, put(job, first.clone(), Condition::Anything, true, 0)));
        }
        6 => {
            // Another retry, the same times.
            let retry = Retry::Fixed { delay: Span::from_ms(150), attempts: 4 };
            let spec = JobSpec { retry, ..first.clone() };
            deeds.push(timed(at, put(job, spec, Condition::AsRead, true, think_ms)));
        }
        _ => {
            let condition = dice.pick(&[Condition::Anything, Condition::Nothing, Condition::AsRead]);
            let change = dice.one_in(2);
            deeds.push(timed(at, put(job, spec(dice, wall_ms), condition, change, think_ms)));
        }
    }
}

fn put(job: u8, spec: JobSpec, condition: Condition, change: bool, think_ms: u64) -> JobDeed {
    JobDeed::Put { job, spec: Box::new(spec), condition, change, think_ms }
}

fn timed(at: u64, deed: JobDeed) -> Timed {
    Timed { at, deed: Deed::Jobs(deed) }
}

fn spec(dice: &mut Dice, wall_ms: i64) -> JobSpec {
    let missed = dice.pick(&[Missed::Latest, Missed::All, Missed::Skip]);
    let mut timing = timing(dice, wall_ms);
    if let Some(recurrence) = timing.recurrence.as_mut()
        && (missed == Missed::All || dice.one_in(3))
    {
        // All that was missed in hours is much; the rule must come to an end.
        recurrence.count = Some(dice.between(1, 8) as u32);
    }
    JobSpec {
        timing,
        retry: dice.pick(&[Retry::None, Retry::Fixed { delay: Span::from_ms(400), attempts: 3 }]),
        alternative: dice.pick(&[None, Some(Retry::Fixed { delay: Span::from_ms(100), attempts: 2 })]),
        missed,
        overlap: dice.pick(&[Overlap::Skip, Overlap::Queue, Overlap::Allow]),
        enabled: !dice.one_in(12),
        authenticates: false,
    }
}

fn timing(dice: &mut Dice, wall_ms: i64) -> Timing {
    let soon =
        |dice: &mut Dice| Ticks((wall_ms + dice.below(LENGTH_MS) as i64) * 10_000 + dice.below(3) as i64);
    let every = |frequency, schedule| Rule::Every { frequency, interval: 1, schedule };
    let berlin = Some("Europe/Berlin".to_owned());
    let (start, rule, zone) = match dice.below(9) {
        0 => (Some(soon(dice)), None, None),
        1 => (None, None, None),
        2 | 3 => (None, Some(cron(dice.pick(&["*/5 * * * * *", "*/10 * * * * *", "*/20 * * * * *"]))), None),
        4 => (Some(soon(dice)), Some(every(Frequency::Minute, None)), None),
        5 => (None, Some(every(dice.pick(&[Frequency::Minute, Frequency::Hour]), None)), None),
        6 => (None, Some(cron("*/30 * * * * *")), berlin),
        7 => (None, Some(cron(dice.pick(&["* * * * *", "*/30 * * * *", "0 2 * * *"]))), berlin),
        _ => {
            let minutes = dice.pick(&[&[0_u8, 1][..], &[30, 59], &[0, 30]]).to_vec();
            let schedule = Schedule { hours: vec![2, 3], minutes, ..Schedule::default() };
            (Some(Ticks((wall_ms - 1000) * 10_000)), Some(every(Frequency::Day, Some(schedule))), berlin)
        }
    };
    let end = dice.one_in(4).then(|| soon(dice) + Span::from_ms(dice.pick(&[0, 0, 150_000])));
    Timing {
        start,
        recurrence: rule.map(|rule| Recurrence { rule, count: None, end }),
        zone,
        gap: dice.pick(&[Gap::End, Gap::Skip]),
        repeat: dice.pick(&[Repeat::First, Repeat::Both]),
        jitter: Span::from_ms(dice.pick(&[0, 0, 0, 700, 3000])),
    }
}

fn cron(text: &str) -> Rule {
    Rule::Cron(text.parse().expect("a valid expression"))
}
