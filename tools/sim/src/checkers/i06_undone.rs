//! I6: of an undone run no step is in effect, also after late calls have arrived.

use kernel::{Run, StepState, UndoneBy};
use types::RunStatus;

use super::{Audit, Checker, Violations};

pub struct Undone;

impl Checker for Undone {
    fn id(&self) -> &'static str {
        "I6"
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        let undone = |run: &&Run| run.status() == RunStatus::Undone;
        for run in audit.history.runs().filter(undone) {
            for (index, plan, step) in run.each_step() {
                let by_person = matches!(step.state, StepState::Undone(UndoneBy::Skipped | UndoneBy::Hand));
                let can_be_undone = plan.undo.is_some() && !by_person;
                if can_be_undone && audit.ledger.in_effect(&run.request.id, index) {
                    let id = &run.request.id;
                    violations.add_violation(format!("{id} was undone and step {} is in effect", plan.name));
                }
            }
        }
    }
}
