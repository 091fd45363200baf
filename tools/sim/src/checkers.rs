//! The checkers: one promise each, in a file of its own, with the number that failures print.

mod c1_cancel;
mod i01_acked;
mod i02_dense;
mod i03_phantom;
mod i04_effect;
mod i05_completed;
mod i06_undone;
mod i07_parked;
mod i08_end;
mod i09_gate;
mod i10_checkpoint;
mod i11_once;
mod i12_skipped;
mod i13_history;
mod i15_edits;
mod i16_admission;
mod i17_bounds;
mod i21_replay;
mod i21_rows;
mod l1_ends;
mod o1_overlap;
mod p5_order;
mod q01_answers;
mod q02_ends;
mod q03_holder;
mod q04_poison;
mod q05_sessions;
mod q06_filters;
mod q07_ids;
mod q08_times;
mod q09_bodies;
mod q10_held;

use std::collections::BTreeMap;

use kernel::queue::{MessageNo, Queues};
use kernel::{Run, State};
use types::{PartitionId, RunId};

use crate::history::History;
use crate::job_model::JobModel;
use crate::observation::{DurableEvent, Observation};
use crate::plan::Limits;
use crate::queue_model::QueueModel;
use crate::services::Ledger;

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The checker, as reliability.md numbers them.
    pub id: &'static str,
    pub what: String,
}

/// Where checkers put what they find.
pub struct Violations<'a> {
    pub id: &'static str,
    pub found: &'a mut Vec<Violation>,
}

impl Violations<'_> {
    pub fn add_violation(&mut self, what: String) {
        self.found.push(Violation { id: self.id, what });
    }
}

/// What is known when everything has come to rest.
pub struct Audit<'a> {
    pub history: &'a History,
    pub ledger: &'a Ledger,
    /// The state of every partition, as the engine reports it.
    pub states: &'a BTreeMap<PartitionId, State>,
    /// What the view has of every run that was ever acknowledged and has ended.
    pub archived: &'a BTreeMap<RunId, types::RunStatus>,
    /// The jobs as the history makes them, and as the view has them.
    pub job_model: &'a JobModel,
    pub rows: &'a JobModel,
    /// The messages as the history makes them, the queues as the engine reports them, and what the rows of all messages
    /// that ever were are compared by.
    pub queue_model: &'a QueueModel,
    pub queues: &'a BTreeMap<PartitionId, Queues>,
    pub message_rows: &'a BTreeMap<(PartitionId, MessageNo), u64>,
}

impl Audit<'_> {
    /// A run wherever it is.
    pub fn run(&self, id: &RunId) -> Option<&Run> {
        self.history.run(id)
    }
}

/// Checks one promise by what is observed.
pub trait Checker: Send {
    fn id(&self) -> &'static str;
    /// Something was observed.
    fn observe(&mut self, _observation: &Observation, _violations: &mut Violations<'_>) {}
    /// An event became durable.
    fn observe_event(&mut self, _durable: &DurableEvent<'_>, _violations: &mut Violations<'_>) {}
    /// Everything has come to rest.
    fn audit(&self, _audit: &Audit<'_>, _violations: &mut Violations<'_>) {}
}

/// All of them.
pub struct Checkers {
    all: Vec<Box<dyn Checker>>,
    pub found: Vec<Violation>,
}

impl Checkers {
    pub fn new(limits: &Limits) -> Checkers {
        let all: Vec<Box<dyn Checker>> = vec![
            Box::<i01_acked::Acked>::default(),
            Box::<i02_dense::Dense>::default(),
            Box::<i03_phantom::Phantom>::default(),
            Box::<i04_effect::OneEffect>::default(),
            Box::new(i05_completed::Completed),
            Box::new(i06_undone::Undone),
            Box::new(i07_parked::Parked),
            Box::<i08_end::AfterTheEnd>::default(),
            Box::<i09_gate::Gate>::default(),
            Box::<i10_checkpoint::Checkpoint>::default(),
            Box::<i11_once::Once>::default(),
            Box::new(i12_skipped::Skipped),
            Box::<i13_history::Complete>::default(),
            Box::<i15_edits::Edits>::default(),
            Box::new(i16_admission::Admission::new(limits.unfinished_max)),
            Box::new(i17_bounds::Bounds::new(limits.live_runs_max)),
            Box::new(i21_replay::Replay),
            Box::new(i21_rows::Rows),
            Box::<o1_overlap::NoOverlap>::default(),
            Box::new(p5_order::Order),
            Box::<c1_cancel::Cancel>::default(),
            Box::<l1_ends::Ends>::default(),
            Box::<q01_answers::Answers>::default(),
            Box::<q02_ends::Ends>::default(),
            Box::<q03_holder::OneHolder>::default(),
            Box::<q04_poison::Poison>::default(),
            Box::new(q05_sessions::Sessions),
            Box::new(q06_filters::Filters),
            Box::new(q07_ids::OneOfAnId),
            Box::new(q08_times::Times),
            Box::<q09_bodies::Bodies>::default(),
            Box::new(q10_held::HeldMessages),
        ];
        Checkers { all, found: Vec::new() }
    }

    /// The checkers of what the owners of a cluster's partitions do.
    pub fn of_owners() -> Checkers {
        let all: Vec<Box<dyn Checker>> = vec![
            Box::<i08_end::AfterTheEnd>::default(),
            Box::<i11_once::Once>::default(),
            Box::<o1_overlap::NoOverlap>::default(),
        ];
        Checkers { all, found: Vec::new() }
    }

    /// The checkers of what any instance of a cluster does, also a stale owner that does not know it yet.
    pub fn of_anybody() -> Checkers {
        let all: Vec<Box<dyn Checker>> =
            vec![Box::<i09_gate::Gate>::default(), Box::<i13_history::Complete>::default()];
        Checkers { all, found: Vec::new() }
    }

    pub fn observe(&mut self, observation: &Observation) {
        for checker in &mut self.all {
            let mut violations = Violations { id: checker.id(), found: &mut self.found };
            checker.observe(observation, &mut violations);
        }
    }

    pub fn observe_event(&mut self, durable: &DurableEvent<'_>) {
        for checker in &mut self.all {
            let mut violations = Violations { id: checker.id(), found: &mut self.found };
            checker.observe_event(durable, &mut violations);
        }
    }

    pub fn audit(&mut self, audit: &Audit<'_>) {
        for checker in &self.all {
            let mut violations = Violations { id: checker.id(), found: &mut self.found };
            checker.audit(audit, &mut violations);
        }
    }
}
