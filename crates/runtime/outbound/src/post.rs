//! The queues and topics of Sortie's own, as far as actions need them.

use std::future::Future;
use std::pin::Pin;

use types::{Message, Span};

/// Takes messages for built-in queues and topics: the engine in the product, a list in tests.
pub trait Post: Send + Sync {
    /// Makes the message durable. The same id again is dropped where the queue drops duplicates.
    fn post(&self, to: PostTarget, message: Message) -> Posting<'_>;
}

/// A message being posted.
pub type Posting<'a> = Pin<Box<dyn Future<Output = Result<(), PostError>> + Send + 'a>>;

/// Where a message is posted, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostTarget {
    Queue(String),
    Topic(String),
}

/// Why a message is not known to be in its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// The same message would not be taken later either.
    #[error("{0}")]
    Refused(String),
    /// It was not taken for now.
    #[error("{reason}")]
    Later { reason: String, retry_after: Option<Span> },
    /// It may be there or not.
    #[error("{0}")]
    Unknown(String),
}
