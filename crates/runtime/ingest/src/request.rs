//! A request, by the stages that it passes.

use bytes::Bytes;
use types::{BodyHash, Key, PartitionId, RunId, Timestamp};
use view::WaitingClient;
use workflow::Definition;

use crate::identity::Identity;

/// The workflow version that a request is for.
#[derive(Clone, Copy)]
pub struct WorkflowVersion<'a> {
    pub definition: &'a Definition,
    pub version: u32,
}

/// A request as it was sent: nothing of it is checked.
#[derive(Debug, Clone, Default)]
pub struct IncomingRequest {
    pub body: Bytes,
    pub path_id: Option<RunId>,
    /// From the `Idempotency-Key` header.
    pub header_id: Option<RunId>,
    pub trace: Option<String>,
    pub sender: Sender,
}

/// Who sends a request, and with it whether its id may be unknown to this instance and still be in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sender {
    /// A client: only the owner of the partition can say whether the id is in use.
    #[default]
    Client,
    /// This installation: it assigns the ids of its requests, and submits them again until they are durable. If another
    /// instance owns the partition, the request is appended to the inbox from here, and the owner drops it if it knows the
    /// id. An id that the body names may have been used by anyone: such a request goes to the owner all the same.
    Internal,
}

/// Where a request can be accepted.
pub enum Location<'a> {
    /// At this instance.
    Here(LocatedRequest<'a>),
    /// Only at the owner of its partition.
    There(RemoteRequest),
}

/// A request that fits its workflow, with its id, key and partition. Its client counts as waiting until it is dropped.
pub struct LocatedRequest<'a> {
    pub(crate) workflow: WorkflowVersion<'a>,
    pub(crate) request: IdentifiedRequest,
    pub(crate) client: WaitingClient<'a>,
}

/// A request with its id, its key, and the partition that the key leads to.
pub(crate) struct IdentifiedRequest {
    pub identity: Identity,
    pub partition: PartitionId,
    pub is_owned: bool,
    pub body: Bytes,
    pub trace: Option<String>,
}

/// A request whose id only another instance can check: the owner of its partition.
#[derive(Debug)]
pub struct RemoteRequest {
    pub partition: PartitionId,
    /// The id that was generated here, if the request names none.
    pub generated_id: Option<RunId>,
    pub incoming: IncomingRequest,
}

/// A request that has reserved its id, with its record for the journal.
pub(crate) struct ReservedRequest {
    pub id: RunId,
    pub key: Key,
    pub partition: PartitionId,
    pub at: Timestamp,
    pub body_hash: BodyHash,
    pub record: Bytes,
    pub reservation: Reservation,
}

/// How the id of a request is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reservation {
    /// By this request.
    First,
    /// By an equal request that is being appended to the journal at this moment.
    InFlight,
    /// Not at all: another instance owns the partition, and checks the id when it takes the request.
    Remote,
    /// An equal request is durable, or has ended.
    Exists { partition: PartitionId },
}

/// A request that is on stable storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurableRequest {
    pub id: RunId,
    pub key: Key,
    pub partition: PartitionId,
    /// When this request was checked; of a repeated one, not when the first was accepted.
    pub at: Timestamp,
    /// False when the same request was accepted before.
    pub new: bool,
}
