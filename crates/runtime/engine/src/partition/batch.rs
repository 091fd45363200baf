//! One batch: the decisions of one turn of the loop, withheld until they are durable.

use kernel::queue::{HOLDER_BYTES, MessageFact, QueueFact};
use kernel::{Event, Fact, JobFact, Run};
use tokio::sync::oneshot;
use types::{Outcome, Timestamp};

use super::jobs::JobChanges;
use super::queues::Deliveries;
use super::{Query, QueueQuery};
use crate::engine::CommandError;
use crate::limits::{BATCH_BYTES_MAX, BATCH_INPUTS_MAX, JOB_BYTES};

/// Bytes of an event besides what a client or a service has sent: generous.
const EVENT_BYTES: usize = 200;

/// The result of a command.
pub(crate) type CommandResult = Result<(), CommandError>;

pub(crate) struct Batch {
    pub now: Timestamp,
    /// The wall clock, which schedules jobs.
    pub wall: Timestamp,
    inputs: usize,
    bytes: usize,
    pub events: Vec<Event>,
    /// Runs that ended and have nothing left to do.
    pub retired: Vec<Run>,
    pub replies: Vec<(oneshot::Sender<CommandResult>, CommandResult)>,
    /// Queries of the state: answered when the batch is durable and in the view.
    pub queries: Vec<Query>,
    pub queue_queries: Vec<QueueQuery>,
    pub jobs: JobChanges,
    pub queues: Deliveries,
}

impl Batch {
    pub fn new(now: Timestamp, wall: Timestamp) -> Batch {
        Batch {
            now,
            wall,
            inputs: 0,
            bytes: 0,
            events: Vec::new(),
            retired: Vec::new(),
            replies: Vec::new(),
            queries: Vec::new(),
            queue_queries: Vec::new(),
            jobs: JobChanges::default(),
            queues: Deliveries::default(),
        }
    }

    /// Whether the frame should be closed before it takes another input.
    pub fn is_full(&self) -> bool {
        self.inputs >= BATCH_INPUTS_MAX || self.bytes >= BATCH_BYTES_MAX
    }

    /// Counts an input, and the events that it added from index `from`.
    pub fn count(&mut self, from: usize) {
        self.inputs += 1;
        self.bytes += self.events[from..].iter().map(weight).sum::<usize>();
    }
}

/// About how many bytes an event takes in a frame.
fn weight(event: &Event) -> usize {
    let carried = match event {
        Event::Accepted(accepted) => accepted.request.body.len(),
        Event::Run { fact: Fact::Ended { outcome, .. }, .. } => match outcome {
            Outcome::Done { output, .. } => output.len(),
            Outcome::Refused { reason, .. }
            | Outcome::Transient { reason, .. }
            | Outcome::Unknown { reason } => reason.len(),
        },
        Event::Run { fact: Fact::Decided { note, .. }, .. } => note.len() + DECISION_BYTES,
        Event::Fired(fired) => fired.request.body.len(),
        Event::Job(fact) => match &**fact {
            JobFact::Put(job) => JOB_BYTES + job.definition.document.len(),
            JobFact::CollectionPut(collection) => collection.document.len(),
            JobFact::Progressed { .. } | JobFact::Deleted { .. } | JobFact::CollectionDeleted { .. } => 0,
        },
        Event::Queue(fact) => match &**fact {
            QueueFact::Sent(sent) => sent.message.weight() + sent.to.len() * HOLDER_BYTES,
            QueueFact::Message { fact: MessageFact::DeadLettered { reason, description }, .. } => {
                reason.len() + description.len()
            }
            _ => 0,
        },
        Event::Run { .. } | Event::Dropped { .. } | Event::CancelNoted { .. } => 0,
    };
    EVENT_BYTES + carried
}

/// The most bytes that the action or the output in a decision may take.
const DECISION_BYTES: usize = 128 << 10;
