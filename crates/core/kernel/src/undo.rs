//! The order of undos: newest first, which means what depends on a step is undone before it.

use types::{Plan, StepIndex};

use crate::{Run, StepState};

/// Every step that comes after this one, directly or through others.
pub(crate) fn dependents(plan: &Plan, step: StepIndex) -> Vec<StepIndex> {
    let mut found = vec![false; plan.steps.len()];
    let mut open = vec![step];
    while let Some(earlier) = open.pop() {
        for (index, later) in plan.steps.iter().enumerate() {
            if !found[index] && later.after.contains(&earlier) {
                found[index] = true;
                open.push(StepIndex(index as u16));
            }
        }
    }
    let indexes = found.iter().enumerate().filter(|(_, found)| **found);
    indexes.map(|(index, _)| StepIndex(index as u16)).collect()
}

impl Run {
    /// Whether the step needs an undo that has not begun: it was attempted, whatever came of it, also when it
    /// waits to be called again.
    pub(crate) fn needs_undo(&self, index: StepIndex) -> bool {
        let step = self.step(index);
        let has_undo = self.plan.steps[usize::from(index.0)].undo.is_some();
        let resting = matches!(step.state, StepState::Waiting | StepState::Done(_) | StepState::Failed(_));
        has_undo && step.attempted && resting
    }

    /// Whether all that depends on the step is out of its way.
    pub(crate) fn may_undo(&self, index: StepIndex) -> bool {
        dependents(&self.plan, index).into_iter().all(|later| match self.step(later).state {
            StepState::Undone(_) => true,
            StepState::Waiting | StepState::Done(_) | StepState::Failed(_) => !self.needs_undo(later),
            StepState::Running(_)
            | StepState::Retrying { .. }
            | StepState::Undoing(_)
            | StepState::UndoRetrying { .. }
            | StepState::UndoFailed { .. } => false,
        })
    }
}
