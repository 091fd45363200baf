//! P5: what depends on a step is undone before it.

use kernel::{Fact, Run};
use types::{Outcome, StepIndex, Work};

use super::{Audit, Checker, Violations};

pub struct Order;

impl Checker for Order {
    fn id(&self) -> &'static str {
        "P5"
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        for run in audit.history.runs() {
            for (at, moment) in run.timeline.iter().enumerate() {
                let Fact::Started { work: Work::Undo(step), .. } = moment.fact else { continue };
                for later in owed_before(run, step, at) {
                    let id = &run.request.id;
                    violations
                        .add_violation(format!("{id}: step {} is undone before step {}", step.0, later.0));
                }
            }
        }
    }
}

/// The steps directly after one that were called, have an undo and were not undone before a moment of the timeline.
fn owed_before(run: &Run, step: StepIndex, at: usize) -> Vec<StepIndex> {
    let before = &run.timeline[..at];
    let was_called = |later: StepIndex| {
        before.iter().any(
            |moment| matches!(moment.fact, Fact::Started { work: Work::Do(called), .. } if called == later),
        )
    };
    let was_undone = |later: StepIndex| {
        before.iter().any(|moment| match &moment.fact {
            Fact::Ended { work: Work::Undo(undone), outcome: Outcome::Done { .. }, .. } => *undone == later,
            // A person may have closed it.
            Fact::Decided { .. } => true,
            _ => false,
        })
    };
    let steps = run.each_step().filter(|(_, plan, _)| plan.after.contains(&step) && plan.undo.is_some());
    steps.map(|(later, _, _)| later).filter(|later| was_called(*later) && !was_undone(*later)).collect()
}
