//! What other instances hold, as far as sources need them.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use types::{Message, PartitionId, QueueName, RunId, WorkflowName};

/// The way to whoever holds a partition or a queue: other instances in the product, a list in tests.
pub trait PartitionOwners: Send + Sync {
    /// Hands a request to the holder of its partition, which alone can say whether its id is taken. Answers with the id
    /// of the run when it is durable.
    fn hand_in(&self, partition: PartitionId, request: ForwardedRequest) -> Forwarding<'_, String>;

    /// Makes a message durable in a built-in queue, which is made when it is not there.
    fn park(&self, queue: QueueName, message: Message) -> Forwarding<'_, ()>;
}

/// Something on its way to a holder.
pub type Forwarding<'a, T> = Pin<Box<dyn Future<Output = Result<T, OwnerError>> + Send + 'a>>;

/// A request for another instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardedRequest {
    pub workflow: WorkflowName,
    /// The holder must know this version, or a newer one.
    pub version: u32,
    /// The id of the run, unless the body names one.
    pub id: Option<RunId>,
    pub body: Bytes,
}

/// Why a holder has not taken it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    /// It would not be taken later either.
    #[error("{0}")]
    Refused(String),
    /// It may be taken later, or may have been taken: handing it in again does nothing twice.
    #[error("{0}")]
    Later(String),
}
