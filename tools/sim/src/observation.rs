//! What can be observed of a simulation from outside: checkers use nothing else.

use kernel::Event;
use kernel::queue::MessageNo;
use types::{PartitionId, RunId, Seq, StepIndex, Timestamp, Uid, Work};

use crate::job_model::JobModel;
use crate::queue_model::QueueModel;

/// One observation.
#[derive(Debug, Clone, Hash)]
pub enum Observation {
    /// A client submitted a request.
    Sent { id: RunId, body: u64 },
    /// A client learned that its request is durable.
    Acked { id: RunId, body: u64, partition: PartitionId },
    /// A client learned that its cancel is granted.
    CancelGranted { id: RunId },
    /// An editor asked for something about jobs.
    EditAsked { ask: u32, wanted: EditRequest },
    /// An editor was answered.
    EditAnswered { ask: u32, verdict: EditResponse },
    /// A sender sends messages, each with what it is compared by.
    MessagesOffered { to: String, messages: Vec<(String, u64)> },
    /// A sender learned that its messages are durable; those without a number were sent before.
    MessagesTaken { to: String, partition: PartitionId, messages: Vec<(String, Option<MessageNo>)> },
    /// A consumer asks for messages that are gone when it has them.
    DeletingAsked { at: String },
    /// A consumer has a message: locked under a token until a time, or gone from its queue.
    MessageReceived { at: String, no: MessageNo, message: u64, lock: Option<(Uid, Timestamp)>, main: bool },
    /// A consumer wants to settle what it has.
    SettleAsked { token: Uid, settling: Settling },
    /// A consumer learned that it is settled; when it is renewed, until when it has it.
    Settled { at: String, no: MessageNo, token: Uid, settling: Settling, until: Option<Timestamp> },
    /// An operator wants to empty a queue.
    PurgeAsked { at: String },
    /// The journal was asked to append a frame.
    FrameOffered { partition: PartitionId, seq: Seq, hash: u64 },
    /// The journal said that a frame is durable.
    FrameKept { partition: PartitionId, seq: Seq, hash: u64 },
    /// The journal refused a frame: it is nowhere.
    FrameRefused { partition: PartitionId, seq: Seq },
    /// The journal was asked to append requests to an inbox.
    InboxOffered { partition: PartitionId, hashes: Vec<u64> },
    /// The journal said that requests are durable; the last has this number.
    InboxKept { partition: PartitionId, last: Seq, hashes: Vec<u64>, ids: Vec<RunId> },
    /// A partition was claimed by a process that starts.
    Claimed { partition: PartitionId, tail: Seq },
    /// A frame was read back.
    FrameRead { partition: PartitionId, seq: Seq, hash: u64 },
    /// A request was read back from an inbox.
    InboxRead { partition: PartitionId, seq: Seq, hash: u64, id: RunId },
    /// The inbox of a partition ends here after a start.
    InboxFound { partition: PartitionId, tail: Seq },
    /// A snapshot became durable; it covers the inbox up to a request.
    SnapshotKept { partition: PartitionId, through: Seq, inbox_through: Seq, hash: u64 },
    /// The newest snapshot was read back; none is number 0.
    SnapshotRead { partition: PartitionId, through: Seq, hash: u64 },
    /// The journal was allowed to forget what is before these.
    Trimmed { partition: PartitionId, events: Seq, inbox: Seq },
    /// The engine ordered a call.
    Ordered { run: RunId, work: Work, attempt: u32, key: String },
    /// A call reached its service.
    Reached { run: RunId, work: Work, attempt: u32, effect: bool },
    /// The process ended, and the machine perhaps with it.
    Crashed { power: bool },
    /// The process has come back.
    Started,
    /// The faults are over.
    Healed,
}

/// The piece of a service's ledger that a call belongs to.
pub type StepKey = (RunId, StepIndex);

/// An event that is durable, in the order of its partition, with the id of its run.
#[derive(Debug)]
pub struct DurableEvent<'a> {
    pub partition: PartitionId,
    pub event: &'a Event,
    /// The run that the event belongs to, when it belongs to one.
    pub run: Option<RunId>,
    /// What the wall clock showed when it was decided.
    pub wall: Timestamp,
    /// The jobs as they were before.
    pub job_model: &'a JobModel,
    /// The messages as they were before.
    pub queue_model: &'a QueueModel,
}

/// How a message is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settling {
    Complete,
    Abandon,
    DeadLetter,
    Renew,
}

/// What an editor asks for, and which version it names.
#[derive(Debug, Clone, Hash)]
pub enum EditRequest {
    Collection,
    Put { job: String, version: Option<u32>, nothing: bool },
    Delete { job: String, version: Option<u32>, nothing: bool },
    Run { job: String },
}

impl EditRequest {
    /// The job that it is about; none has an empty name.
    pub fn job(&self) -> &str {
        match self {
            EditRequest::Collection => "",
            EditRequest::Put { job, .. } | EditRequest::Delete { job, .. } | EditRequest::Run { job } => job,
        }
    }

    pub fn deletes(&self, name: &str) -> bool {
        matches!(self, EditRequest::Delete { job, .. } if job == name)
    }
}

/// The answer to an editor.
#[derive(Debug, Clone, Hash)]
pub enum EditResponse {
    Written { version: u32, created: bool },
    Deleted,
    Fired { run: RunId },
    Changed { current: u32 },
    Exists,
    NoJob,
    Other,
}

/// What bodies are compared by.
pub fn fingerprint(body: &[u8]) -> u64 {
    crate::rng::hash(&body)
}
