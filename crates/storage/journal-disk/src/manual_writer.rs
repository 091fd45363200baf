//! The journal without threads: the caller triggers the work of the writer and the segment preparer.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::{IDLE_BEFORE_MARK, SPACE_LOOK};
use crate::log::{Log, LogResult};
use crate::queue::{QueuedRequests, RequestQueue, Wakeup};
use crate::settings::{FatalError, OnFatal, Settings};
use crate::writer;

/// The writer of a journal that was opened without threads. Between two steps anything else can happen.
pub struct ManualWriter {
    log: Log,
    queue: Arc<RequestQueue>,
    on_fatal: OnFatal,
    waiting: QueuedRequests,
    answers: Vec<LogResult>,
}

impl ManualWriter {
    pub(crate) fn new(log: Log, queue: Arc<RequestQueue>, settings: &Settings) -> ManualWriter {
        let on_fatal = settings.on_fatal.clone();
        ManualWriter { log, queue, on_fatal, waiting: QueuedRequests::default(), answers: Vec::new() }
    }

    /// Waits until there is something to do; false when the queue is closed and empty.
    pub async fn wait(&self) -> bool {
        let patience = match self.log.wants_mark() {
            true => Some(IDLE_BEFORE_MARK),
            false => self.log.space().is_full().then_some(SPACE_LOOK),
        };
        let woken = self.queue.arrival();
        match patience {
            None => woken.await,
            Some(patience) => tokio::time::timeout(patience, woken).await.unwrap_or(()),
        }
        !self.queue.is_closed()
    }

    /// Does what the writer does for a group: maintains segments and space, then writes the waiting requests, or a
    /// mark when none wait.
    pub fn turn(&mut self) {
        if let Err(error) = self.work() {
            self.queue.close();
            self.on_fatal.run(&error);
        }
    }

    fn work(&mut self) -> Result<(), FatalError> {
        if let Err(error) = self.log.tend() {
            tracing::warn!(%error, "maintaining segments or space failed");
        }
        match self.queue.wait(Some(Duration::ZERO)) {
            Wakeup::Requests => {
                self.queue.take(&mut self.waiting);
                let served = writer::serve(&mut self.log, &mut self.waiting, &mut self.answers, |_| {});
                self.queue.release(&mut self.waiting);
                served
            }
            Wakeup::Idle => self.log.mark(),
            Wakeup::Closed => Ok(()),
        }
    }
}
