//! Where requests come from besides HTTP: each message of a source starts a run.

use action::Origin;
use types::QueueName;

/// A queue or stream whose messages are requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub from: Origin,
    /// Messages that are taken and not yet settled, at most.
    pub concurrency: u32,
    /// The built-in queue that keeps what can never become a run. A built-in source keeps it among its own dead
    /// letters.
    pub park: QueueName,
}
