//! Power cuts, kills and failed syncs at any operation, also while recovering.

use super::model::{Model, Random, SLOTS, check, open, random_group, settings, snapshot_at};
use crate::log::Log;
use crate::simdisk::SimDisk;
use crate::snapshots::Snapshots;

const SEEDS: u64 = 400;

// guards: 1
#[test]
fn everything_acknowledged_survives_crashes() {
    let mut seen = Seen::default();
    for seed in seeds() {
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Life::new(seed).live(&mut seen)));
        if let Err(panic) = outcome {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
    assert!(seen.dead_openings > SEEDS / 4, "crashes while recovering: {seen:?}");
    assert!(seen.failed_groups > SEEDS, "groups whose outcome was open: {seen:?}");
    assert!(seen.kept_unacknowledged > SEEDS / 10, "unacknowledged groups that survived: {seen:?}");
    assert!(seen.lost_unacknowledged > SEEDS / 10, "unacknowledged groups that did not: {seen:?}");
    assert!(seen.removed_segments > SEEDS / 10, "segments that trimming removed: {seen:?}");
}

/// All seeds, or the one in `SEED`.
fn seeds() -> std::ops::Range<u64> {
    let one = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    one.map_or(0..SEEDS, |seed: u64| seed..seed + 1)
}

/// What must have happened for the test to mean anything.
#[derive(Debug, Default)]
struct Seen {
    dead_openings: u64,
    failed_groups: u64,
    kept_unacknowledged: u64,
    lost_unacknowledged: u64,
    removed_segments: u64,
}

struct Life {
    random: Random,
    disk: SimDisk,
    acked: Model,
    tried: Model,
}

impl Life {
    fn new(seed: u64) -> Life {
        let empty = vec![super::model::Held::default(); usize::from(SLOTS)];
        Life { random: Random(seed), disk: SimDisk::new(seed), acked: empty.clone(), tried: empty }
    }

    fn live(&mut self, seen: &mut Seen) {
        let settings = settings(24 << 10 << self.random.below(3));
        for _ in 0..16 {
            if self.random.one_in(3) {
                self.disk.die_after(self.random.below(24));
            } else {
                self.disk.die_after(20 + self.random.below(200));
            }
            match open(&self.disk, &settings) {
                Ok(mut log) => self.work(&mut log, seen),
                Err(error) => {
                    assert!(self.disk.is_dead(), "the log does not open: {error}");
                    seen.dead_openings += 1;
                }
            }
            if self.random.one_in(3) {
                self.disk.kill();
            } else {
                self.disk.power_cut();
            }
        }
        let log = open(&self.disk, &settings).expect("the disk lives");
        check(&log, &self.acked, &self.tried);
    }

    fn work(&mut self, log: &mut Log, seen: &mut Seen) {
        if self.disk.is_dead() {
            return;
        }
        let Some(found) = self.recovered(log) else { return };
        if self.acked != self.tried {
            seen.kept_unacknowledged += u64::from(found != self.acked);
            seen.lost_unacknowledged += u64::from(found != self.tried);
        }
        // A reader may rely on what it has read.
        self.acked = found.clone();
        self.tried = found;
        if self.random.one_in(4) {
            self.disk.fail_sync_after(self.random.below(20));
        }
        for _ in 0..self.random.below(40) {
            if self.step(log, seen).is_none() {
                return;
            }
        }
        if self.random.one_in(2) {
            // Acknowledged records do not depend on whether the close succeeds.
            let _ = log.close();
        }
    }

    /// Opening the snapshots may fail with the disk as well.
    fn recovered(&self, log: &Log) -> Option<Model> {
        let alive = Snapshots::open(log).is_ok() && !self.disk.is_dead();
        if !alive {
            return None;
        }
        self.disk.pause_death();
        let found = check(log, &self.acked, &self.tried);
        self.disk.resume_death();
        Some(found)
    }

    /// Does one operation; none once the log or the disk has failed.
    fn step(&mut self, log: &mut Log, seen: &mut Seen) -> Option<()> {
        match self.random.below(12) {
            0 => log.mark().ok(),
            1 => {
                let before = log.segments.len();
                let tended = log.tend().ok();
                seen.removed_segments += (before - log.segments.len()) as u64;
                tended
            }
            2 => self.put_snapshot(log),
            _ => {
                let (requests, after, expected) = random_group(&mut self.random, &self.acked);
                self.tried = after;
                let mut answers = Vec::new();
                if log.write_group(&requests, &mut answers).is_err() {
                    seen.failed_groups += 1;
                    return None;
                }
                assert_eq!(answers, expected);
                self.acked = self.tried.clone();
                Some(())
            }
        }
    }

    fn put_snapshot(&mut self, log: &Log) -> Option<()> {
        let slot = self.random.below(u64::from(SLOTS)) as u16;
        let snapshots = Snapshots::open(log).ok()?;
        let through = self.acked[usize::from(slot)].events.len() as u64;
        self.tried[usize::from(slot)].snapshot = Some(through);
        snapshots.put(slot, &snapshot_at(slot, through)).ok()?;
        self.acked[usize::from(slot)].snapshot = Some(through);
        Some(())
    }
}
