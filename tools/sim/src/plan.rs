//! A plan: everything that will happen to a simulated installation, as data. It is drawn from a seed, can be stored,
//! replayed and made smaller.

mod draw;
pub mod jobs;
pub mod queues;

use serde::{Deserialize, Serialize};

/// Everything that happens in one simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Decides what the operations leave open: latencies, faults of calls, what happens to sectors.
    pub seed: u64,
    pub limits: Limits,
    pub service_faults: ServiceFaults,
    /// What the wall clock shows at the beginning, in ms since 1970.
    pub wall_ms: i64,
    pub operations: Vec<Timed>,
}

/// Sizes and limits, small so that they are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub partitions: u16,
    pub segment_bytes: u64,
    /// Space kept aside for work that runs.
    pub reserve_bytes: u64,
    pub snapshot_after_bytes: u64,
    pub calls_max: usize,
    pub live_runs_max: usize,
    pub unfinished_max: usize,
    /// The longest that a group waits for the disk, in ms.
    pub disk_ms: u64,
}

/// Fault rates of services, in a thousand calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServiceFaults {
    pub refused: u16,
    pub transient: u16,
    /// A transient answer that says when to come back.
    pub busy: u16,
    /// Done, but the answer is lost.
    pub answer_lost: u16,
    /// Lost on the way.
    pub request_lost: u16,
    /// The caller gives up; the call arrives minutes later.
    pub late: u16,
    /// Arrives a second time, later.
    pub twice: u16,
    /// An undo is refused.
    pub undo_refused: u16,
    /// The longest that a call waits before it leaves, and takes on the way, in ms.
    pub latency_ms: u64,
}

/// An operation at a time, in ms since the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    pub at: u64,
    pub operation: Operation,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// A client submits request `n` and repeats it until it is acknowledged.
    Submit {
        n: u32,
        workflow: u8,
    },
    /// A client repeats request `n`, whatever became of it.
    Again {
        n: u32,
    },
    /// Another client uses the id of request `n` with another body.
    Impostor {
        n: u32,
    },
    Cancel {
        n: u32,
    },
    /// A person decides on one of the parked runs.
    Decide {
        draw: u64,
    },
    /// An editor does something to the jobs.
    Jobs(jobs::JobOperation),
    /// An operation on queues or with their messages.
    Queues(queues::QueueOperation),
    /// Every partition is asked for a snapshot.
    Snapshot,
    /// The process is killed.
    Kill {
        down_ms: u64,
    },
    /// The machine loses power.
    PowerCut {
        down_ms: u64,
    },
    /// The process dies in the middle of an operation on the disk, perhaps with the machine; and again so many
    /// times while it comes back.
    DieAfter {
        disk_operations: u64,
        power: bool,
        nested: u8,
        down_ms: u64,
    },
    /// A sync fails after some that succeed.
    FailSync {
        after: u64,
    },
    SlowDisk {
        ms: u64,
        for_ms: u64,
    },
    /// The disk has room for so many bytes more, for a time.
    Fill {
        free_bytes: u64,
        for_ms: u64,
    },
    /// The wall clock is set.
    SetClock {
        by_ms: i64,
    },
    /// The process is frozen while time passes.
    Pause {
        ms: u64,
    },
    /// No service answers for a time.
    Outage {
        for_ms: u64,
    },
}

impl ServiceFaults {
    /// All rates, for plans that are made smaller.
    pub fn rates(&mut self) -> [&mut u16; 8] {
        [
            &mut self.refused,
            &mut self.transient,
            &mut self.busy,
            &mut self.answer_lost,
            &mut self.request_lost,
            &mut self.late,
            &mut self.twice,
            &mut self.undo_refused,
        ]
    }
}

impl Plan {
    /// The swarm options of the plan in one line.
    pub fn summary(&self) -> String {
        format!(
            "seed {}: {} deeds, {:?}, {:?}",
            self.seed,
            self.operations.len(),
            self.limits,
            self.service_faults
        )
    }
}
