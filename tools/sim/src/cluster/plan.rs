//! A plan for several instances: everything that will happen to them, as data, drawn from a seed.

use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::plan::Fates;

/// How long the part with faults lasts, in ms.
const LENGTH_MS: u64 = 40_000;

/// 2026-03-01 00:00 UTC.
pub const WALL_MS: i64 = 1_772_323_200_000;

/// What happens in one simulation of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Decides what the deeds leave open.
    pub seed: u64,
    pub partitions: u16,
    /// Instances of the region that is active at the beginning.
    pub instances: u8,
    /// Instances of its pair; none when there is no pair.
    pub paired: u8,
    pub snapshot_after_bytes: u64,
    /// Whether the mirror of an inbox may lag that of the events that mention its requests, and that of the events
    /// that of a snapshot.
    pub uneven_mirrors: bool,
    pub weather: Weather,
    pub fates: Fates,
    pub wall_ms: i64,
    pub deeds: Vec<Timed>,
}

/// How often, in a thousand, something goes wrong on the way to NATS, and how long ways are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Weather {
    pub request_lost: u16,
    pub answer_lost: u16,
    /// The answer comes after the sender has given up.
    pub answer_late: u16,
    /// The message is stored seconds after the sender has given up.
    pub stored_late: u16,
    /// A replica that has not everything answers.
    pub stale: u16,
    /// A beat is lost.
    pub beat_lost: u16,
    /// The longest way, in ms.
    pub way_ms: u64,
    /// The longest that somebody sees the register late, in ms.
    pub sight_ms: u64,
    /// The longest that a mirror lags, in ms.
    pub mirror_ms: u64,
    /// The longest until somebody who follows a stream learns of a message, in ms.
    #[serde(default)]
    pub told_ms: u64,
}

/// Something that happens at a time, in ms since the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    pub at: u64,
    pub deed: Deed,
}

/// One thing that happens. A `slot` is a machine: instances come and go on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deed {
    /// A client hands in request `n`, wherever somebody answers, until it is acknowledged.
    Request {
        n: u32,
        workflow: u8,
    },
    /// A client hands in request `n` once more, whatever became of it.
    Again {
        n: u32,
    },
    /// A job comes to be: every so many seconds, so many times.
    Job {
        n: u8,
        every_s: u8,
        count: u32,
    },
    Kill {
        slot: u8,
        down_ms: u64,
    },
    /// Every instance of every region is killed at once.
    KillAll {
        down_ms: u64,
    },
    /// An instance lets go of what it holds, says that it leaves, and comes back later.
    Leave {
        slot: u8,
        down_ms: u64,
    },
    /// A process is stopped and goes on later, without knowing.
    Freeze {
        slot: u8,
        for_ms: u64,
    },
    /// Nothing gets from an instance to NATS or back.
    Cut {
        slot: u8,
        for_ms: u64,
    },
    Slow {
        slot: u8,
        way_ms: u64,
        for_ms: u64,
    },
    SetClock {
        slot: u8,
        by_ms: i64,
    },
    Snapshot {
        slot: u8,
    },
    /// A server dies: the streams that it leads have no leader for a while.
    LeaderGone {
        region: u8,
        server: u8,
        for_ms: u64,
    },
    /// Some replica of some stream loses or changes something that was stored.
    Injure {
        region: u8,
        draw: u64,
    },
    /// All streams of a region are full.
    Fill {
        region: u8,
        for_ms: u64,
    },
    /// Nothing gets from one region to the other.
    CutLink {
        for_ms: u64,
    },
    /// The pair becomes active, after everything has reached it.
    Switch,
    /// The active region is lost with all its instances; the pair becomes active with what it has. The lost one
    /// comes back later.
    Lose {
        back_ms: u64,
    },
    /// The pair becomes active with what it has while the other goes on, cut off, until it learns of it.
    Usurp {
        for_ms: u64,
    },
}

impl Plan {
    pub fn draw(seed: u64) -> Plan {
        let mut dice = Dice::new(seed, "cluster");
        let instances = dice.pick(&[2, 3, 3]);
        let paired = if dice.one_in(3) { dice.pick(&[1, 2]) } else { 0 };
        let mut deeds = work(&mut dice);
        deeds.extend(faults(&mut dice, instances + paired));
        deeds.extend(troubles(&mut dice, paired > 0));
        if paired > 0 {
            deeds.extend(regions(&mut dice));
        }
        deeds.sort_by_key(|timed| timed.at);
        Plan {
            seed,
            partitions: dice.pick(&[2, 2, 3, 4]),
            instances,
            paired,
            snapshot_after_bytes: dice.pick(&[1 << 10, 4 << 10, 1 << 20]),
            uneven_mirrors: Dice::new(seed, "mirrors").one_in(2),
            weather: weather(&mut dice),
            fates: fates(&mut dice),
            wall_ms: WALL_MS,
            deeds,
        }
    }

    pub fn slots(&self) -> u8 {
        self.instances + self.paired
    }

    /// The region of a slot.
    pub fn region_of(&self, slot: u8) -> usize {
        usize::from(slot >= self.instances)
    }

    pub fn regions(&self) -> usize {
        if self.paired > 0 { 2 } else { 1 }
    }

    /// The plan in a line.
    pub fn summary(&self) -> String {
        let Plan { seed, partitions, instances, paired, deeds, .. } = self;
        format!(
            "cluster seed {seed}: {partitions} partitions, {instances}+{paired} instances, {} deeds",
            deeds.len()
        )
    }
}

fn weather(dice: &mut Dice) -> Weather {
    let mut rate = |most: u64| if dice.one_in(2) { dice.between(1, most) as u16 } else { 0 };
    let mut weather = Weather {
        request_lost: rate(40),
        answer_lost: rate(60),
        answer_late: rate(40),
        stored_late: rate(60),
        stale: rate(300),
        beat_lost: rate(150),
        way_ms: dice.pick(&[1, 5, 40]),
        sight_ms: dice.pick(&[50, 500, 3000]),
        mirror_ms: dice.pick(&[5, 200, 3000]),
        told_ms: 0,
    };
    weather.told_ms = 10 * weather.way_ms + 50;
    weather
}

fn fates(dice: &mut Dice) -> Fates {
    let mut rate = |most: u64| if dice.one_in(2) { dice.between(1, most) as u16 } else { 0 };
    Fates {
        refused: rate(80),
        transient: rate(200),
        busy: 0,
        answer_lost: rate(150),
        request_lost: rate(100),
        late: rate(100),
        twice: rate(100),
        undo_refused: 0,
        way_ms: dice.pick(&[2, 20, 400]),
    }
}

fn work(dice: &mut Dice) -> Vec<Timed> {
    let mut deeds = Vec::new();
    for n in 0..dice.between(3, 9) as u32 {
        let at = dice.below(LENGTH_MS);
        deeds.push(Timed { at, deed: Deed::Request { n, workflow: dice.below(3) as u8 } });
        if dice.one_in(3) {
            deeds.push(Timed { at: at + dice.below(20_000), deed: Deed::Again { n } });
        }
    }
    for n in 0..dice.pick(&[0, 0, 1, 2]) {
        let (every_s, count) = (dice.pick(&[2, 5]), dice.between(2, 5) as u32);
        deeds.push(Timed { at: dice.below(LENGTH_MS / 3), deed: Deed::Job { n, every_s, count } });
    }
    deeds
}

fn faults(dice: &mut Dice, slots: u8) -> Vec<Timed> {
    let mut deeds = Vec::new();
    let mut several = |dice: &mut Dice, most: u64, make: &dyn Fn(&mut Dice, u8) -> Deed| {
        if dice.one_in(2) {
            for _ in 0..dice.between(1, most) {
                let slot = dice.below(u64::from(slots)) as u8;
                let deed = make(dice, slot);
                deeds.push(Timed { at: dice.below(LENGTH_MS), deed });
            }
        }
    };
    let down = |dice: &mut Dice| dice.pick(&[0, 500, 3000, 12_000]);
    several(dice, 3, &|dice, slot| Deed::Kill { slot, down_ms: down(dice) });
    several(dice, 2, &|dice, slot| Deed::Leave { slot, down_ms: down(dice) });
    several(dice, 3, &|dice, slot| Deed::Freeze {
        slot,
        for_ms: dice.pick(&[1000, 5000, 9000, 15_000, 30_000]),
    });
    several(dice, 2, &|dice, slot| Deed::Cut { slot, for_ms: dice.pick(&[1000, 5000, 12_000]) });
    several(dice, 2, &|dice, slot| Deed::Slow {
        slot,
        way_ms: dice.pick(&[100, 900, 2500]),
        for_ms: dice.below(10_000),
    });
    several(dice, 2, &|dice, slot| Deed::SetClock {
        slot,
        by_ms: dice.pick(&[-60_000, -1000, 1000, 60_000]),
    });
    several(dice, 4, &|_, slot| Deed::Snapshot { slot });
    deeds
}

fn troubles(dice: &mut Dice, two: bool) -> Vec<Timed> {
    let mut deeds = Vec::new();
    let mut several = |dice: &mut Dice, most: u64, make: &dyn Fn(&mut Dice, u8) -> Deed| {
        if dice.one_in(2) {
            for _ in 0..dice.between(1, most) {
                let region = if two { dice.below(2) as u8 } else { 0 };
                let deed = make(dice, region);
                deeds.push(Timed { at: dice.below(LENGTH_MS), deed });
            }
        }
    };
    several(dice, 3, &|dice, region| Deed::LeaderGone {
        region,
        server: dice.below(3) as u8,
        for_ms: dice.between(4000, 9000),
    });
    several(dice, 4, &|dice, region| Deed::Injure { region, draw: dice.next() });
    if dice.one_in(4) {
        let deed = Deed::Fill { region: 0, for_ms: dice.below(8000) };
        deeds.push(Timed { at: dice.below(LENGTH_MS), deed });
    }
    if dice.one_in(6) {
        let deed = Deed::KillAll { down_ms: dice.pick(&[0, 3000, 12_000]) };
        deeds.push(Timed { at: dice.below(LENGTH_MS), deed });
    }
    deeds
}

fn regions(dice: &mut Dice) -> Vec<Timed> {
    let mut deeds = Vec::new();
    if dice.one_in(2) {
        let deed = Deed::CutLink { for_ms: dice.pick(&[2000, 10_000]) };
        deeds.push(Timed { at: dice.below(LENGTH_MS), deed });
    }
    for _ in 0..dice.pick(&[0, 1, 1, 2]) {
        let deed = match dice.below(3) {
            0 => Deed::Switch,
            1 => Deed::Lose { back_ms: dice.pick(&[3000, 15_000]) },
            _ => Deed::Usurp { for_ms: dice.pick(&[3000, 15_000]) },
        };
        deeds.push(Timed { at: dice.between(5000, LENGTH_MS), deed });
    }
    deeds
}
