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
    /// Which endings are reported to an action.
    pub notices: NoticeEvents,
    /// How often a notice is attempted before it is given up.
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
pub struct NoticeEvents {
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

/// The event that a notice reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Notice {
    Completed,
    Undone,
    Parked,
}

/// A kind of [`Work`], without its step. The names are part of the API, the CLI and idempotency keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    #[default]
    Do,
    Alternative,
    Undo,
    DoInstead,
    UndoInstead,
    Notice,
}

impl Notice {
    pub const fn name(self) -> &'static str {
        match self {
            Notice::Completed => "completed",
            Notice::Undone => "undone",
            Notice::Parked => "parked",
        }
    }
}

impl WorkKind {
    pub const ALL: [WorkKind; 6] = [
        WorkKind::Do,
        WorkKind::Alternative,
        WorkKind::Undo,
        WorkKind::DoInstead,
        WorkKind::UndoInstead,
        WorkKind::Notice,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            WorkKind::Do => "do",
            WorkKind::Alternative => "alternative",
            WorkKind::Undo => "undo",
            WorkKind::DoInstead => "do_instead",
            WorkKind::UndoInstead => "undo_instead",
            WorkKind::Notice => "notice",
        }
    }

    /// The kind with this name.
    pub fn parse(name: &str) -> Option<WorkKind> {
        WorkKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind that a person's action stands in for; itself for all others.
    pub const fn declared(self) -> WorkKind {
        match self {
            WorkKind::Do | WorkKind::DoInstead => WorkKind::Do,
            WorkKind::Alternative => WorkKind::Alternative,
            WorkKind::Undo | WorkKind::UndoInstead => WorkKind::Undo,
            WorkKind::Notice => WorkKind::Notice,
        }
    }

    /// The work of this kind for a step; a notice belongs to the whole run.
    pub fn of_step(self, step: StepIndex) -> Option<Work> {
        match self {
            WorkKind::Do => Some(Work::Do(step)),
            WorkKind::Alternative => Some(Work::Alternative(step)),
            WorkKind::Undo => Some(Work::Undo(step)),
            WorkKind::DoInstead => Some(Work::DoInstead(step)),
            WorkKind::UndoInstead => Some(Work::UndoInstead(step)),
            WorkKind::Notice => None,
        }
    }
}

impl Work {
    pub const fn kind(self) -> WorkKind {
        match self {
            Work::Do(_) => WorkKind::Do,
            Work::Alternative(_) => WorkKind::Alternative,
            Work::Undo(_) => WorkKind::Undo,
            Work::DoInstead(_) => WorkKind::DoInstead,
            Work::UndoInstead(_) => WorkKind::UndoInstead,
            Work::Notice(_) => WorkKind::Notice,
        }
    }

    /// The name of its kind.
    pub const fn name(self) -> &'static str {
        self.kind().name()
    }

    /// The step that the work belongs to; notices belong to the whole run.
    pub fn step(self) -> Option<StepIndex> {
        match self {
            Work::Do(step) | Work::Alternative(step) | Work::Undo(step) => Some(step),
            Work::DoInstead(step) | Work::UndoInstead(step) => Some(step),
            Work::Notice(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_work_has_one_name() {
        for kind in WorkKind::ALL {
            assert_eq!(WorkKind::parse(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            let of_step = kind.of_step(StepIndex(3));
            assert!(of_step.is_none_or(|work| work.kind() == kind && work.step() == Some(StepIndex(3))));
        }
        assert_eq!(WorkKind::parse("redo"), None);
    }
}
