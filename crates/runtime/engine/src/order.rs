//! Orders: the calls that the engine wants made, and the channel for their outcomes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use kernel::job::{Occurrence, STEP};
use kernel::{Run, RunNo, StepState};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use types::plan::Notice;
use types::{Key, Outcome, RunId, RunStatus, StepName, Work};
use workflow::{Definition, Ending};

use crate::partition::PartitionMessage;

/// Carries out orders: HTTP calls in the product, a script in tests and the simulator.
pub trait Effects: Send + Sync + 'static {
    /// Starts the order and returns at once. The outcome is sent to `order.reply`.
    fn start(&self, order: CallOrder);
}

/// One attempt to make.
pub struct CallOrder {
    pub work: Work,
    pub attempt: u32,
    pub subject: CallSubject,
    pub context: CallContext,
    /// Raised when the run rolls back or the process stops: an attempt that was not sent yet need not be sent.
    pub stop: Stop,
    pub reply: Reply,
}

/// The run or occurrence that the order belongs to, with the text of its calls.
pub enum CallSubject {
    Workflow {
        definition: Arc<Definition>,
        version: u32,
    },
    /// An occurrence of a job.
    Job(Box<Occurrence>),
}

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

impl CallOrder {
    /// The key that makes the call's effect happen at most once: the same across retries, crashes and owners.
    pub fn idempotency_key(&self) -> String {
        idempotency_key(&self.subject, &self.context, self.work)
    }
}

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

/// A flag that can be awaited.
#[derive(Clone, Default)]
pub struct Stop(Arc<(AtomicBool, Notify)>);

impl Stop {
    pub fn raise(&self) {
        self.0.0.store(true, Ordering::Release);
        self.0.1.notify_waiters();
    }

    /// Returns once the flag is raised.
    pub async fn raised(&self) {
        let notified = self.0.1.notified();
        if !self.0.0.load(Ordering::Acquire) {
            notified.await;
        }
    }
}

/// Receives the outcome of an order. Dropped without one, it reports that the outcome is unknown.
pub struct Reply {
    pub(crate) to: UnboundedSender<PartitionMessage>,
    pub(crate) run: RunNo,
    pub(crate) work: Work,
    pub(crate) attempt: u32,
    pub(crate) is_sent: bool,
}

impl Reply {
    pub fn report(mut self, outcome: Outcome) {
        self.send(outcome);
    }

    /// The call was not sent: the order was stopped while it was queued.
    pub fn withdraw(mut self) {
        self.is_sent = true;
        let message = PartitionMessage::Withdrawn { run: self.run, work: self.work, attempt: self.attempt };
        // As for an outcome: a partition that has ended does not need it.
        let _ = self.to.send(message);
    }

    fn send(&mut self, outcome: Outcome) {
        self.is_sent = true;
        let message =
            PartitionMessage::Outcome { run: self.run, work: self.work, attempt: self.attempt, outcome };
        // A partition that has ended does not need the outcome: its next owner calls again with the same key.
        let _ = self.to.send(message);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_sent {
            self.send(Outcome::Unknown { reason: "the call was given up before it was answered".to_owned() });
        }
    }
}
