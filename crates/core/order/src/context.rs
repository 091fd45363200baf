//! What a call may read of its run.

use bytes::Bytes;
use kernel::{Run, StepState};
use types::{Key, RunId, RunStatus, StepName, Work};
use workflow::Ending;

/// What expressions and notices may read of the run.
#[derive(Debug, Clone)]
pub struct CallContext {
    pub run_id: RunId,
    pub key: Key,
    pub request: Bytes,
    /// The output of each step, in the order of the workflow.
    pub outputs: Vec<Option<Bytes>>,
    pub trace: Option<String>,
    pub status: RunStatus,
    pub reason: Option<String>,
    pub parked_count: u32,
    /// The action (JSON) that an operator chose for this work.
    pub instead: Option<String>,
    /// For notices: the steps that are done, and those that were undone.
    pub steps_done: Vec<StepName>,
    pub steps_undone: Vec<StepName>,
}

impl CallContext {
    /// What `work` may read of its run. `reason` is an argument because an archived run no longer has
    /// its plan, and with it the names of its steps.
    pub fn of(run: &Run, work: Work, reason: Option<String>) -> CallContext {
        let instead = match work {
            Work::DoInstead(step) | Work::UndoInstead(step) => run.steps[usize::from(step.0)].instead.clone(),
            Work::Do(_) | Work::Alternative(_) | Work::Undo(_) | Work::Notice(_) => None,
        };
        CallContext {
            run_id: run.request.id.clone(),
            key: run.request.key.clone(),
            request: run.request.body.clone(),
            outputs: run.steps.iter().map(|step| step.output.clone()).collect(),
            trace: run.request.trace.clone(),
            status: run.status(),
            reason,
            parked_count: run.parked_count,
            instead,
            steps_done: steps_for_notice(run, work, |state| matches!(state, StepState::Done(_))),
            steps_undone: steps_for_notice(run, work, |state| matches!(state, StepState::Undone(_))),
        }
    }

    /// The same, as the expressions of `work` see it.
    pub fn seen_by(&self, work: Work) -> workflow::ExpressionContext<'_> {
        let ending = matches!(work, Work::Notice(_)).then_some(Ending {
            status: self.status,
            reason: self.reason.as_deref(),
            steps_done: &self.steps_done,
            steps_undone: &self.steps_undone,
        });
        workflow::ExpressionContext {
            run: &self.run_id,
            key: &self.key,
            request: &self.request,
            outputs: &self.outputs,
            ending,
        }
    }
}

fn steps_for_notice(run: &Run, work: Work, chosen: fn(&StepState) -> bool) -> Vec<StepName> {
    let Work::Notice(_) = work else { return Vec::new() };
    let steps = run.each_step().filter(|(_, _, step)| chosen(&step.state));
    steps.map(|(_, plan, _)| plan.name.clone()).collect()
}
