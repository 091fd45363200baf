//! A plan for several instances: everything that will happen to them, as data, drawn from a seed.

use serde::{Deserialize, Serialize};

use crate::plan::ServiceFaults;
use crate::rng::Rng;

/// How long the part with faults lasts, in ms.
const LENGTH_MS: u64 = 40_000;

/// 2026-03-01 00:00 UTC.
pub const WALL_MS: i64 = 1_772_323_200_000;

/// What happens in one simulation of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Decides what the operations leave open.
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
    pub network_faults: NetworkFaults,
    pub service_faults: ServiceFaults,
    pub wall_ms: i64,
    pub operations: Vec<Timed>,
}

/// Fault rates of the network to NATS, in a thousand, and its latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NetworkFaults {
    pub request_lost: u16,
    pub answer_lost: u16,
    /// The answer comes after the sender has given up.
    pub answer_late: u16,
    /// The message is stored seconds after the sender has given up.
    pub stored_late: u16,
    /// A replica that has not everything answers.
    pub stale: u16,
    /// A beat is lost.
    pub heartbeat_lost: u16,
    /// The longest way, in ms.
    pub latency_ms: u64,
    /// The longest lag of a view of the register, in ms.
    pub register_lag_ms: u64,
    /// The longest that a mirror lags, in ms.
    pub mirror_ms: u64,
    /// The longest until a follower of a stream learns of a message, in ms.
    #[serde(default)]
    pub told_ms: u64,
}

/// An operation at a time, in ms since the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    pub at: u64,
    pub operation: Operation,
}

/// One operation. A `slot` is a machine: instances come and go on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// A client submits request `n`, to any instance that answers, until it is acknowledged.
    Request {
        n: u32,
        workflow: u8,
    },
    /// A client submits request `n` once more, whatever became of it.
    Again {
        n: u32,
    },
    /// A job is created: every so many seconds, so many times.
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
    /// An instance releases its partitions, deregisters, and comes back later.
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
        latency_ms: u64,
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
    DamageReplica {
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
    SwitchRegions,
    /// The active region is lost with all its instances; the pair becomes active with what it has. The lost one
    /// comes back later.
    LoseRegion {
        back_ms: u64,
    },
    /// The pair becomes active with what it has while the other goes on, cut off, until it learns of it.
    ForcePromotion {
        for_ms: u64,
    },
}

impl NetworkFaults {
    /// All rates, for plans that are made smaller.
    pub fn rates(&mut self) -> [&mut u16; 6] {
        [
            &mut self.request_lost,
            &mut self.answer_lost,
            &mut self.answer_late,
            &mut self.stored_late,
            &mut self.stale,
            &mut self.heartbeat_lost,
        ]
    }
}

impl Plan {
    pub fn draw(seed: u64) -> Plan {
        let mut rng = Rng::new(seed, "cluster");
        let instances = rng.pick(&[2, 3, 3]);
        let paired = if rng.one_in(3) { rng.pick(&[1, 2]) } else { 0 };
        let mut operations = work(&mut rng);
        operations.extend(faults(&mut rng, instances + paired));
        operations.extend(troubles(&mut rng, paired > 0));
        if paired > 0 {
            operations.extend(regions(&mut rng));
        }
        operations.sort_by_key(|timed| timed.at);
        Plan {
            seed,
            partitions: rng.pick(&[2, 2, 3, 4]),
            instances,
            paired,
            snapshot_after_bytes: rng.pick(&[1 << 10, 4 << 10, 1 << 20]),
            uneven_mirrors: Rng::new(seed, "mirrors").one_in(2),
            network_faults: network_faults(&mut rng),
            service_faults: service_faults(&mut rng),
            wall_ms: WALL_MS,
            operations,
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
        let Plan { seed, partitions, instances, paired, operations, .. } = self;
        format!(
            "cluster seed {seed}: {partitions} partitions, {instances}+{paired} instances, {} deeds",
            operations.len()
        )
    }
}

fn network_faults(rng: &mut Rng) -> NetworkFaults {
    let mut rate = |most: u64| if rng.one_in(2) { rng.between(1, most) as u16 } else { 0 };
    let mut network_faults = NetworkFaults {
        request_lost: rate(40),
        answer_lost: rate(60),
        answer_late: rate(40),
        stored_late: rate(60),
        stale: rate(300),
        heartbeat_lost: rate(150),
        latency_ms: rng.pick(&[1, 5, 40]),
        register_lag_ms: rng.pick(&[50, 500, 3000]),
        mirror_ms: rng.pick(&[5, 200, 3000]),
        told_ms: 0,
    };
    network_faults.told_ms = 10 * network_faults.latency_ms + 50;
    network_faults
}

fn service_faults(rng: &mut Rng) -> ServiceFaults {
    let mut rate = |most: u64| if rng.one_in(2) { rng.between(1, most) as u16 } else { 0 };
    ServiceFaults {
        refused: rate(80),
        transient: rate(200),
        busy: 0,
        answer_lost: rate(150),
        request_lost: rate(100),
        late: rate(100),
        twice: rate(100),
        undo_refused: 0,
        latency_ms: rng.pick(&[2, 20, 400]),
    }
}

fn work(rng: &mut Rng) -> Vec<Timed> {
    let mut operations = Vec::new();
    for n in 0..rng.between(3, 9) as u32 {
        let at = rng.below(LENGTH_MS);
        operations.push(Timed { at, operation: Operation::Request { n, workflow: rng.below(3) as u8 } });
        if rng.one_in(3) {
            operations.push(Timed { at: at + rng.below(20_000), operation: Operation::Again { n } });
        }
    }
    for n in 0..rng.pick(&[0, 0, 1, 2]) {
        let (every_s, count) = (rng.pick(&[2, 5]), rng.between(2, 5) as u32);
        operations
            .push(Timed { at: rng.below(LENGTH_MS / 3), operation: Operation::Job { n, every_s, count } });
    }
    operations
}

fn faults(rng: &mut Rng, slots: u8) -> Vec<Timed> {
    let mut operations = Vec::new();
    let mut several = |rng: &mut Rng, most: u64, make: &dyn Fn(&mut Rng, u8) -> Operation| {
        if rng.one_in(2) {
            for _ in 0..rng.between(1, most) {
                let slot = rng.below(u64::from(slots)) as u8;
                let operation = make(rng, slot);
                operations.push(Timed { at: rng.below(LENGTH_MS), operation });
            }
        }
    };
    let down = |rng: &mut Rng| rng.pick(&[0, 500, 3000, 12_000]);
    several(rng, 3, &|rng, slot| Operation::Kill { slot, down_ms: down(rng) });
    several(rng, 2, &|rng, slot| Operation::Leave { slot, down_ms: down(rng) });
    several(rng, 3, &|rng, slot| Operation::Freeze {
        slot,
        for_ms: rng.pick(&[1000, 5000, 9000, 15_000, 30_000]),
    });
    several(rng, 2, &|rng, slot| Operation::Cut { slot, for_ms: rng.pick(&[1000, 5000, 12_000]) });
    several(rng, 2, &|rng, slot| Operation::Slow {
        slot,
        latency_ms: rng.pick(&[100, 900, 2500]),
        for_ms: rng.below(10_000),
    });
    several(rng, 2, &|rng, slot| Operation::SetClock {
        slot,
        by_ms: rng.pick(&[-60_000, -1000, 1000, 60_000]),
    });
    several(rng, 4, &|_, slot| Operation::Snapshot { slot });
    operations
}

fn troubles(rng: &mut Rng, two: bool) -> Vec<Timed> {
    let mut operations = Vec::new();
    let mut several = |rng: &mut Rng, most: u64, make: &dyn Fn(&mut Rng, u8) -> Operation| {
        if rng.one_in(2) {
            for _ in 0..rng.between(1, most) {
                let region = if two { rng.below(2) as u8 } else { 0 };
                let operation = make(rng, region);
                operations.push(Timed { at: rng.below(LENGTH_MS), operation });
            }
        }
    };
    several(rng, 3, &|rng, region| Operation::LeaderGone {
        region,
        server: rng.below(3) as u8,
        for_ms: rng.between(4000, 9000),
    });
    several(rng, 4, &|rng, region| Operation::DamageReplica { region, draw: rng.next() });
    if rng.one_in(4) {
        let operation = Operation::Fill { region: 0, for_ms: rng.below(8000) };
        operations.push(Timed { at: rng.below(LENGTH_MS), operation });
    }
    if rng.one_in(6) {
        let operation = Operation::KillAll { down_ms: rng.pick(&[0, 3000, 12_000]) };
        operations.push(Timed { at: rng.below(LENGTH_MS), operation });
    }
    operations
}

fn regions(rng: &mut Rng) -> Vec<Timed> {
    let mut operations = Vec::new();
    if rng.one_in(2) {
        let operation = Operation::CutLink { for_ms: rng.pick(&[2000, 10_000]) };
        operations.push(Timed { at: rng.below(LENGTH_MS), operation });
    }
    for _ in 0..rng.pick(&[0, 1, 1, 2]) {
        let operation = match rng.below(3) {
            0 => Operation::SwitchRegions,
            1 => Operation::LoseRegion { back_ms: rng.pick(&[3000, 15_000]) },
            _ => Operation::ForcePromotion { for_ms: rng.pick(&[3000, 15_000]) },
        };
        operations.push(Timed { at: rng.between(5000, LENGTH_MS), operation });
    }
    operations
}
