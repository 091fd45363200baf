//! The writer thread: takes the waiting requests, has the log write them as groups, and answers.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use journal::AppendError;

use crate::limits::{IDLE_BEFORE_MARK, LINGER_FROM_REQUESTS, LINGER_PER_REQUEST};
use crate::log::{self, Log, LogResult};
use crate::queue::{QueuedRequests, RequestQueue, Wakeup};
use crate::segment_preparer::{SegmentJob, SegmentPreparer};
use crate::settings::{FatalError, OnFatal, Settings};

/// Starts the writer; it ends when the queue is closed and empty, or on a fatal error.
pub fn start(log: Log, queue: Arc<RequestQueue>, settings: &Settings) -> io::Result<JoinHandle<()>> {
    let preparer = SegmentPreparer::start(Arc::clone(log.disk()), Arc::clone(log.space()))?;
    let writer = Writer {
        log,
        preparer,
        linger_max: settings.linger_max,
        last_group: 0,
        on_fatal: settings.on_fatal.clone(),
        answers: Vec::new(),
    };
    std::thread::Builder::new().name("journal-writer".to_owned()).spawn(move || {
        let closing = Closing(queue);
        writer.run(&closing.0);
    })
}

/// However the writer ends, no caller waits for ever.
struct Closing(Arc<RequestQueue>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
        self.0.take(&mut QueuedRequests::default());
    }
}

struct Writer {
    log: Log,
    preparer: SegmentPreparer,
    linger_max: Duration,
    /// The number of requests in the last group.
    last_group: usize,
    on_fatal: OnFatal,
    answers: Vec<LogResult>,
}

impl Writer {
    fn run(mut self, queue: &RequestQueue) {
        if let Err(error) = self.write_until_closed(queue) {
            // Close first, so that no request is acknowledged while the process ends.
            queue.close();
            self.on_fatal.run(&error);
        }
        drop(self.preparer.jobs);
        if self.preparer.thread.join().is_err() {
            tracing::error!("the preparer of the journal panicked");
        }
    }

    fn write_until_closed(&mut self, queue: &RequestQueue) -> Result<(), FatalError> {
        let mut waiting = QueuedRequests::default();
        loop {
            self.tend();
            let patience = self.log.wants_mark().then_some(IDLE_BEFORE_MARK);
            match queue.wait(patience) {
                Wakeup::Requests => {
                    self.linger(queue.len());
                    queue.take(&mut waiting);
                    self.last_group = waiting.requests.len();
                    let served = self.serve(&mut waiting);
                    queue.release(&mut waiting);
                    served?;
                }
                Wakeup::Idle => self.log.mark()?,
                Wakeup::Closed => return self.log.close(),
            }
        }
    }

    /// Waits for more when the last group suggests that many are about to arrive: one sync then covers more of them,
    /// and this thread is not woken meanwhile. A single request never waits.
    fn linger(&self, waiting: usize) {
        if let Some(linger) = linger(self.last_group, waiting, self.linger_max) {
            std::thread::sleep(linger);
        }
    }

    fn serve(&mut self, waiting: &mut QueuedRequests) -> Result<(), FatalError> {
        serve(&mut self.log, waiting, &mut self.answers, |log| {
            if let Ok(spare) = self.preparer.spares.recv() {
                log.take_spare(spare);
            }
        })
    }

    /// Keeps the preparer busy, and receives the segments that it has prepared.
    fn tend(&mut self) {
        while let Ok(spare) = self.preparer.spares.try_recv() {
            self.log.take_spare(spare);
        }
        let prepare = self.log.plan_spare().map(SegmentJob::Prepare);
        let remove = self.log.take_removable().into_iter().map(SegmentJob::Remove);
        for job in prepare.into_iter().chain(remove) {
            self.preparer.jobs.send(job).expect("the preparer lives as long as the writer");
        }
    }
}

/// Writes the waiting requests as groups and answers them. `before` is called before a group that needs a
/// segment that is still being prepared.
pub(crate) fn serve(
    log: &mut Log,
    waiting: &mut QueuedRequests,
    answers: &mut Vec<LogResult>,
    mut before: impl FnMut(&mut Log),
) -> Result<(), FatalError> {
    let mut waiters = waiting.waiters.drain(..);
    let mut rest = waiting.requests.as_slice();
    let mut result = Ok(());
    while !rest.is_empty() && result.is_ok() {
        let (group, later) = rest.split_at(log::group_length(rest));
        rest = later;
        if log.waits_for_spare(group) {
            before(log);
        }
        result = log.write_group(group, answers);
        if result.is_err() {
            let unknown = |slot| AppendError::Unknown { partition: log.index().partition(slot) };
            *answers = group.iter().map(|request| Err(unknown(request.slot))).collect();
        }
        for (answer, waiter) in answers.drain(..).zip(&mut waiters) {
            // The caller may no longer wait for the outcome.
            let _ = waiter.send(answer);
        }
    }
    drop(waiters);
    waiting.requests.clear();
    result
}

/// How long to wait for more, when `waiting` requests have arrived and the last group had `last_group`.
fn linger(last_group: usize, waiting: usize, max: Duration) -> Option<Duration> {
    let crowd = u32::try_from(last_group).unwrap_or(u32::MAX);
    let wanted = crowd >= LINGER_FROM_REQUESTS && waiting < last_group && !max.is_zero();
    wanted.then(|| LINGER_PER_REQUEST.saturating_mul(crowd).min(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_micros(500);

    #[test]
    fn only_a_crowd_is_waited_for() {
        assert_eq!(linger(0, 1, MAX), None, "the first request");
        assert_eq!(linger(1, 1, MAX), None, "one after the other");
        assert_eq!(linger(8, 2, MAX), Some(LINGER_PER_REQUEST * 8));
        assert_eq!(linger(8, 8, MAX), None, "as many as last time are here");
        assert_eq!(linger(5_000, 2, MAX), Some(MAX));
        assert_eq!(linger(5_000, 2, Duration::ZERO), None, "switched off");
    }
}
