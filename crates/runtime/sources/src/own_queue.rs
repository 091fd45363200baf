//! A built-in queue or subscription as a source.

use std::time::Duration;

use engine::CatalogEntry;
use engine::queues::{QueueAnswer, QueueCommand, QueueError, Receive, ReceiveMode, Received, partition_of};
use futures_util::future::join_all;
use kernel::queue::{QueueRef, Settle, SubQueue, Taken};
use tokio::sync::watch;
use types::Span;

use crate::SourceParts;
use crate::intake::{self, IntakeResult};

/// How long a receive waits for a message before it asks again.
const PATIENCE: Span = Span::from_secs(30);
/// How long a source waits when its queue cannot be read.
const PAUSE: Duration = Duration::from_secs(1);
/// Why a message that can never become a run is a dead letter.
const NOT_ACCEPTED: &str = "NotAccepted";

pub(crate) async fn take_all(
    parts: &SourceParts,
    entry: &CatalogEntry,
    at: QueueRef,
    concurrency: u32,
    mut stopped: watch::Receiver<bool>,
) {
    let mut warned = false;
    loop {
        let received = tokio::select! {
            biased;
            _ = stopped.changed() => return,
            received = receive(parts, &at, concurrency) => received,
        };
        let pause = match received {
            Ok(received) => {
                warned = false;
                settle_all(parts, entry, &at, &received).await
            }
            // Its owner takes the messages; that may be this instance next.
            Err(QueueError::NotHeld { .. }) => Some(PAUSE),
            Err(error) => {
                if !std::mem::replace(&mut warned, true) {
                    tracing::warn!(workflow = %entry.definition.name(), queue = %at, %error, "receiving messages failed; retrying");
                }
                Some(PAUSE)
            }
        };
        if let Some(pause) = pause {
            tokio::select! {
                biased;
                _ = stopped.changed() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

async fn receive(parts: &SourceParts, at: &QueueRef, concurrency: u32) -> Result<Vec<Received>, QueueError> {
    let receive = Receive {
        at: at.clone(),
        sub_queue: SubQueue::Main,
        session: None,
        mode: ReceiveMode::Lock { lock: None },
        max: concurrency as usize,
        patience: PATIENCE,
    };
    let partition = partition_of(&at.name, parts.partitions);
    match parts.engine.queue(partition, QueueCommand::Receive(receive)).await? {
        QueueAnswer::Received(received) => Ok(received),
        other => unreachable!("a receive is answered by messages, not {other:?}"),
    }
}

/// Starts a run with each message and settles it; the longest pause that any of them asked for.
async fn settle_all(
    parts: &SourceParts,
    entry: &CatalogEntry,
    at: &QueueRef,
    received: &[Received],
) -> Option<Duration> {
    let from = at.to_string();
    let each = received.iter().map(|one| async {
        let id = intake::run_id(entry, &from, &one.message, &mark(&one.taken));
        let verdict = intake::take(parts, entry, Some(id), &one.message).await;
        let (token, _) = one.taken.lock.expect("received by locking");
        let (how, outcome, pause) = match verdict {
            IntakeResult::Started => (Settle::Complete, "started", None),
            IntakeResult::Poison(description) => {
                (Settle::DeadLetter { reason: NOT_ACCEPTED.to_owned(), description }, "parked", None)
            }
            // It was never handled, so it does not count as delivered.
            IntakeResult::Later(pause) => (Settle::Release, "refused", Some(pause)),
        };
        parts.metrics.count(outcome);
        let partition = partition_of(&at.name, parts.partitions);
        let settle = QueueCommand::Settle { at: at.clone(), token, how };
        // A lost lock brings the message again, and it finds its run.
        if let Err(error) = parts.engine.queue(partition, settle).await {
            tracing::debug!(queue = %at, %error, "settling a message failed; the queue will deliver it again");
        }
        pause
    });
    join_all(each).await.into_iter().flatten().max()
}

/// What tells a message apart from every other that its queue has ever had, whatever ids their senders gave them. Its
/// number is never used twice, unless by a region that was promoted without having heard of it; then at another time.
fn mark(taken: &Taken) -> String {
    format!("{} {}", taken.no.0, taken.enqueued_at.0)
}
