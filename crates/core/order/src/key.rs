//! Idempotency keys: a service that has seen a key answers as before, and does nothing twice.

use kernel::job::STEP;
use types::Work;
use types::plan::Notice;

use crate::{CallContext, CallSubject};

/// The key of a run's work, whether or not an order exists for it.
pub fn idempotency_key(subject: &CallSubject, context: &CallContext, work: Work) -> String {
    let run = &context.run_id;
    let name = |step: types::StepIndex| match subject {
        CallSubject::Workflow { definition, .. } => {
            definition.plan().steps[usize::from(step.0)].name.as_str()
        }
        CallSubject::Job(_) => STEP,
    };
    match work {
        Work::Do(step) | Work::Alternative(step) | Work::Undo(step) => {
            format!("{run}/{}/{}", name(step), work.name())
        }
        Work::DoInstead(step) | Work::UndoInstead(step) => {
            format!("{run}/{}/{}/{}", name(step), work.name().replace('_', "-"), context.parked_count)
        }
        Work::Notice(notice @ (Notice::Completed | Notice::Undone)) => {
            format!("{run}/notice/{}", notice.name())
        }
        Work::Notice(Notice::Parked) => {
            format!("{run}/notice/{}/{}", Notice::Parked.name(), context.parked_count)
        }
    }
}
