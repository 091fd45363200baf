//! One batch: what a turn of the loop decided, held back until it is durable.

use kernel::{Event, Rejection, Run};
use tokio::sync::oneshot;
use words::Timestamp;

/// What a command came to.
pub(crate) type Answer = Result<(), Rejection>;

pub(crate) struct Batch {
    pub now: Timestamp,
    pub inputs: usize,
    pub events: Vec<Event>,
    /// Runs that ended and have nothing left to do.
    pub retired: Vec<Run>,
    pub replies: Vec<(oneshot::Sender<Answer>, Answer)>,
}

impl Batch {
    pub fn new(now: Timestamp) -> Batch {
        Batch { now, inputs: 0, events: Vec::new(), retired: Vec::new(), replies: Vec::new() }
    }
}
