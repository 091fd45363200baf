//! I5: of a completed run every step is in effect, unless a person said otherwise.

use kernel::{DoneBy, Run, StepState};
use types::RunStatus;

use super::{Audit, Checker, Violations};

pub struct Completed;

impl Checker for Completed {
    fn id(&self) -> &'static str {
        "I5"
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        let completed = |run: &&Run| run.status() == RunStatus::Completed;
        for run in audit.history.runs().filter(completed) {
            for (index, plan, step) in run.each_step() {
                let by_person = matches!(step.state, StepState::Done(DoneBy::Skipped | DoneBy::Hand));
                if !audit.ledger.in_effect(&run.request.id, index) && !by_person {
                    violations
                        .add_violation(format!("{} completed without step {}", run.request.id, plan.name));
                }
            }
        }
    }
}
