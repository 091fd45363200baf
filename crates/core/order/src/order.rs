//! One attempt to make, and who makes it.

use std::sync::Arc;

use kernel::job::Occurrence;
use types::Work;
use workflow::Definition;

use crate::{CallContext, Reply, Stop, idempotency_key};

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

impl CallOrder {
    /// The key that makes the call's effect happen at most once: the same across retries, crashes and owners.
    pub fn idempotency_key(&self) -> String {
        idempotency_key(&self.subject, &self.context, self.work)
    }
}
