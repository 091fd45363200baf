//! The plan of a workflow: its steps, their order and their policies, without the text of any call.
//!
//! The kernel decides by the plan alone, so that it needs no expressions and no HTTP.

use serde::{Deserialize, Serialize};

use crate::{Retry, Span, StepName};

/// The number of a step in its workflow, in the order written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepIndex(pub u16);

/// What a run of a workflow is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<PlanStep>,
    /// The run fails when it has not ended this long after it was accepted.
    pub deadline: Option<Span>,
    /// Runs with the same key go one after another.
    pub serial: bool,
    /// Which endings are told to an action.
    pub tells: Tells,
    /// How often an ending is told before it is given up.
    pub notice_retry: Retry,
}

/// One step of a plan. `after` names only steps of the same plan and makes no cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    pub name: StepName,
    pub after: Vec<StepIndex>,
    pub retry: Retry,
    /// The retry policy of the alternative, when there is one.
    pub alternative: Option<Retry>,
    /// The retry policy of the undo, when there is one.
    pub undo: Option<Retry>,
    /// Once this step is done the run only goes forward.
    pub pivot: bool,
    /// No attempt of the step begins later than this after its first.
    pub complete_by: Option<Span>,
}

/// The endings for which a workflow declares an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tells {
    pub completed: bool,
    pub undone: bool,
    pub parked: bool,
}

/// One thing that a run owes the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Work {
    /// The step's call.
    Do(StepIndex),
    /// The step's alternative, after its call has used up its retries.
    Alternative(StepIndex),
    /// The step's undo.
    Undo(StepIndex),
    /// An action that a person named in place of the step's call.
    DoInstead(StepIndex),
    /// An action that a person named in place of the step's undo.
    UndoInstead(StepIndex),
    /// Telling the workflow's action that the run has ended or is parked.
    Notice(Notice),
}

/// What a notice tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Notice {
    Completed,
    Undone,
    Parked,
}

impl Work {
    /// The step that the work belongs to; notices belong to the whole run.
    pub fn step(self) -> Option<StepIndex> {
        match self {
            Work::Do(step) | Work::Alternative(step) | Work::Undo(step) => Some(step),
            Work::DoInstead(step) | Work::UndoInstead(step) => Some(step),
            Work::Notice(_) => None,
        }
    }
}
