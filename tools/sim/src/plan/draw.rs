//! Drawing a plan from a seed: each kind of fault is on in about half of all plans, so that some plans have few
//! kinds of which each can do its worst.

use super::{Deed, Fates, Limits, Plan, Timed, jobs, queues};
use crate::dice::Dice;

/// How long the part with faults lasts, in ms.
pub(super) const LENGTH_MS: u64 = 60_000;

/// 2026-03-01 00:00 UTC.
const WALL_MS: i64 = 1_772_323_200_000;

/// The workflows that requests are for.
const WORKFLOWS: u64 = 3;

impl Plan {
    pub fn draw(seed: u64) -> Plan {
        let mut dice = Dice::new(seed, "plan");
        let mut deeds = requests(&mut dice);
        deeds.extend(disturbances(&mut dice));
        deeds.extend(faults(&mut dice));
        if let Some(fill) = deeds.iter().find(|timed| matches!(timed.deed, Deed::Fill { .. })) {
            deeds.extend(crowd(fill.at, &mut dice));
        }
        let mut job_dice = Dice::new(seed, "jobs");
        let wall_ms = jobs::draw_wall_ms(&mut job_dice, WALL_MS);
        deeds.extend(jobs::draw(&mut job_dice, wall_ms));
        deeds.extend(queues::draw(&mut Dice::new(seed, "queues")));
        deeds.sort_by_key(|timed| timed.at);
        Plan { seed, limits: limits(&mut dice), fates: fates(&mut dice), wall_ms, deeds }
    }
}

fn limits(dice: &mut Dice) -> Limits {
    Limits {
        partitions: dice.pick(&[1, 2, 2, 3]),
        segment_bytes: dice.pick(&[32 << 10, 64 << 10, 256 << 10]),
        reserve_bytes: dice.pick(&[0, 8 << 10, 64 << 10]),
        snapshot_after_bytes: dice.pick(&[2 << 10, 8 << 10, 1 << 20]),
        calls_max: dice.pick(&[2, 8, 64]),
        live_runs_max: dice.pick(&[4, 16, 1000]),
        unfinished_max: dice.pick(&[6, 1000, 1000]),
        disk_ms: dice.pick(&[0, 1, 5, 40]),
    }
}

fn fates(dice: &mut Dice) -> Fates {
    let mut rate = |most: u64| if dice.one_in(2) { dice.between(1, most) as u16 } else { 0 };
    Fates {
        refused: rate(80),
        transient: rate(300),
        busy: rate(100),
        answer_lost: rate(150),
        request_lost: rate(150),
        late: rate(120),
        twice: rate(120),
        undo_refused: rate(150),
        way_ms: dice.pick(&[2, 20, 400]),
    }
}

fn requests(dice: &mut Dice) -> Vec<Timed> {
    let count = dice.between(3, 14) as u32;
    // In some plans all come at once.
    let burst = dice.one_in(4).then(|| dice.below(LENGTH_MS));
    let mut deeds = Vec::new();
    for n in 0..count {
        let at = burst.unwrap_or_else(|| dice.below(LENGTH_MS));
        deeds.push(Timed { at, deed: Deed::Submit { n, workflow: dice.below(WORKFLOWS) as u8 } });
        if dice.one_in(4) {
            deeds.push(Timed { at: at + dice.below(5000), deed: Deed::Again { n } });
        }
        if dice.one_in(8) {
            deeds.push(Timed { at: at + dice.below(3000), deed: Deed::Impostor { n } });
        }
        if dice.one_in(6) {
            deeds.push(Timed { at: at + dice.below(3000), deed: Deed::Cancel { n } });
        }
    }
    deeds
}

/// Many come while the disk fills up.
fn crowd(at: u64, dice: &mut Dice) -> Vec<Timed> {
    let comes = |n| Timed {
        at: at + dice.below(3000),
        deed: Deed::Submit { n, workflow: dice.below(WORKFLOWS) as u8 },
    };
    (100..100 + 8).map(comes).collect()
}

fn disturbances(dice: &mut Dice) -> Vec<Timed> {
    let mut deeds = Vec::new();
    for _ in 0..dice.below(4) {
        let draw = dice.next();
        deeds.push(timed(dice, Deed::Decide { draw }));
    }
    for _ in 0..dice.below(4) {
        deeds.push(timed(dice, Deed::Snapshot));
    }
    if dice.one_in(3) {
        let for_ms = dice.between(100, 20_000);
        deeds.push(timed(dice, Deed::Outage { for_ms }));
    }
    deeds
}

fn faults(dice: &mut Dice) -> Vec<Timed> {
    let mut deeds = Vec::new();
    let mut several = |dice: &mut Dice, most: u64, make: &dyn Fn(&mut Dice) -> Deed| {
        if dice.one_in(2) {
            for _ in 0..dice.between(1, most) {
                let deed = make(dice);
                deeds.push(timed(dice, deed));
            }
        }
    };
    several(dice, 4, &|dice| Deed::Kill { down_ms: down_ms(dice) });
    several(dice, 4, &|dice| Deed::PowerCut { down_ms: down_ms(dice) });
    several(dice, 4, &|dice| Deed::DieAfter {
        operations: dice.below(60),
        power: dice.one_in(2),
        nested: dice.pick(&[0, 0, 1, 3, 5]),
        down_ms: down_ms(dice),
    });
    several(dice, 2, &|dice| Deed::FailSync { after: dice.below(20) });
    several(dice, 2, &|dice| Deed::SlowDisk { ms: dice.pick(&[50, 500, 5000]), for_ms: dice.below(10_000) });
    several(dice, 2, &|dice| Deed::Fill {
        free_bytes: dice.pick(&[0, 4 << 10, 40 << 10, 200 << 10]),
        for_ms: dice.below(20_000),
    });
    several(dice, 3, &|dice| Deed::SetClock {
        by_ms: dice.pick(&[-7_200_000, -60_000, -1000, 1000, 60_000, 7_200_000, 172_800_000]),
    });
    several(dice, 2, &|dice| Deed::Pause { ms: dice.pick(&[100, 5000, 120_000]) });
    deeds
}

fn down_ms(dice: &mut Dice) -> u64 {
    dice.pick(&[0, 1, 100, 3000, 3000, 60_000, 7_200_000])
}

fn timed(dice: &mut Dice, deed: Deed) -> Timed {
    Timed { at: dice.below(LENGTH_MS), deed }
}
