//! Drawing a plan from a seed: each kind of fault is on in about half of all plans, so that some plans have few
//! kinds of which each can do its worst.

use super::{Limits, Operation, Plan, ServiceFaults, Timed, jobs, queues};
use crate::rng::Rng;

/// How long the part with faults lasts, in ms.
pub(super) const LENGTH_MS: u64 = 60_000;

/// 2026-03-01 00:00 UTC.
const WALL_MS: i64 = 1_772_323_200_000;

/// The workflows that requests are for.
const WORKFLOWS: u64 = 3;

impl Plan {
    pub fn draw(seed: u64) -> Plan {
        let mut rng = Rng::new(seed, "plan");
        let mut operations = requests(&mut rng);
        operations.extend(disturbances(&mut rng));
        operations.extend(faults(&mut rng));
        if let Some(fill) = operations.iter().find(|timed| matches!(timed.operation, Operation::Fill { .. }))
        {
            operations.extend(crowd(fill.at, &mut rng));
        }
        let mut job_dice = Rng::new(seed, "jobs");
        let wall_ms = jobs::draw_wall_ms(&mut job_dice, WALL_MS);
        operations.extend(jobs::draw(&mut job_dice, wall_ms));
        operations.extend(queues::draw(&mut Rng::new(seed, "queues")));
        operations.sort_by_key(|timed| timed.at);
        Plan { seed, limits: limits(&mut rng), service_faults: service_faults(&mut rng), wall_ms, operations }
    }
}

fn limits(rng: &mut Rng) -> Limits {
    Limits {
        partitions: rng.pick(&[1, 2, 2, 3]),
        segment_bytes: rng.pick(&[32 << 10, 64 << 10, 256 << 10]),
        reserve_bytes: rng.pick(&[0, 8 << 10, 64 << 10]),
        snapshot_after_bytes: rng.pick(&[2 << 10, 8 << 10, 1 << 20]),
        calls_max: rng.pick(&[2, 8, 64]),
        live_runs_max: rng.pick(&[4, 16, 1000]),
        unfinished_max: rng.pick(&[6, 1000, 1000]),
        disk_ms: rng.pick(&[0, 1, 5, 40]),
    }
}

fn service_faults(rng: &mut Rng) -> ServiceFaults {
    let mut rate = |most: u64| if rng.one_in(2) { rng.between(1, most) as u16 } else { 0 };
    ServiceFaults {
        refused: rate(80),
        transient: rate(300),
        busy: rate(100),
        answer_lost: rate(150),
        request_lost: rate(150),
        late: rate(120),
        twice: rate(120),
        undo_refused: rate(150),
        latency_ms: rng.pick(&[2, 20, 400]),
    }
}

fn requests(rng: &mut Rng) -> Vec<Timed> {
    let count = rng.between(3, 14) as u32;
    // In some plans all come at once.
    let burst = rng.one_in(4).then(|| rng.below(LENGTH_MS));
    let mut operations = Vec::new();
    for n in 0..count {
        let at = burst.unwrap_or_else(|| rng.below(LENGTH_MS));
        operations
            .push(Timed { at, operation: Operation::Submit { n, workflow: rng.below(WORKFLOWS) as u8 } });
        if rng.one_in(4) {
            operations.push(Timed { at: at + rng.below(5000), operation: Operation::Again { n } });
        }
        if rng.one_in(8) {
            operations.push(Timed { at: at + rng.below(3000), operation: Operation::Impostor { n } });
        }
        if rng.one_in(6) {
            operations.push(Timed { at: at + rng.below(3000), operation: Operation::Cancel { n } });
        }
    }
    operations
}

/// Many come while the disk fills up.
fn crowd(at: u64, rng: &mut Rng) -> Vec<Timed> {
    let comes = |n| Timed {
        at: at + rng.below(3000),
        operation: Operation::Submit { n, workflow: rng.below(WORKFLOWS) as u8 },
    };
    (100..100 + 8).map(comes).collect()
}

fn disturbances(rng: &mut Rng) -> Vec<Timed> {
    let mut operations = Vec::new();
    for _ in 0..rng.below(4) {
        let draw = rng.next();
        operations.push(timed(rng, Operation::Decide { draw }));
    }
    for _ in 0..rng.below(4) {
        operations.push(timed(rng, Operation::Snapshot));
    }
    if rng.one_in(3) {
        let for_ms = rng.between(100, 20_000);
        operations.push(timed(rng, Operation::Outage { for_ms }));
    }
    operations
}

fn faults(rng: &mut Rng) -> Vec<Timed> {
    let mut operations = Vec::new();
    let mut several = |rng: &mut Rng, most: u64, make: &dyn Fn(&mut Rng) -> Operation| {
        if rng.one_in(2) {
            for _ in 0..rng.between(1, most) {
                let operation = make(rng);
                operations.push(timed(rng, operation));
            }
        }
    };
    several(rng, 4, &|rng| Operation::Kill { down_ms: down_ms(rng) });
    several(rng, 4, &|rng| Operation::PowerCut { down_ms: down_ms(rng) });
    several(rng, 4, &|rng| Operation::DieAfter {
        disk_operations: rng.below(60),
        power: rng.one_in(2),
        nested: rng.pick(&[0, 0, 1, 3, 5]),
        down_ms: down_ms(rng),
    });
    several(rng, 2, &|rng| Operation::FailSync { after: rng.below(20) });
    several(rng, 2, &|rng| Operation::SlowDisk { ms: rng.pick(&[50, 500, 5000]), for_ms: rng.below(10_000) });
    several(rng, 2, &|rng| Operation::Fill {
        free_bytes: rng.pick(&[0, 4 << 10, 40 << 10, 200 << 10]),
        for_ms: rng.below(20_000),
    });
    several(rng, 3, &|rng| Operation::SetClock {
        by_ms: rng.pick(&[-7_200_000, -60_000, -1000, 1000, 60_000, 7_200_000, 172_800_000]),
    });
    several(rng, 2, &|rng| Operation::Pause { ms: rng.pick(&[100, 5000, 120_000]) });
    operations
}

fn down_ms(rng: &mut Rng) -> u64 {
    rng.pick(&[0, 1, 100, 3000, 3000, 60_000, 7_200_000])
}

fn timed(rng: &mut Rng, operation: Operation) -> Timed {
    Timed { at: rng.below(LENGTH_MS), operation }
}
