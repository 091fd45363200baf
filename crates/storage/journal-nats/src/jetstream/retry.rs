//! Repeating a request, with pauses that grow.

use std::time::Duration;

use crate::limits::{PAUSE_FIRST, PAUSE_MAX};

/// The pauses between the attempts of one operation.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    attempts: u32,
}

impl Backoff {
    pub(crate) fn new() -> Backoff {
        Backoff { next: PAUSE_FIRST, attempts: 0 }
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(PAUSE_MAX);
        self.attempts += 1;
    }

    /// Whether the operation has failed for so long that it should be logged: every eighth attempt.
    pub(crate) fn should_log(&self) -> bool {
        self.attempts >= 8 && self.attempts.is_multiple_of(8)
    }
}

/// Repeats an operation until it succeeds, at most `attempts` times; returns the last error.
pub async fn retry<T, E, F>(attempts: u32, mut operation: impl FnMut() -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut backoff = Backoff::new();
    for _ in 1..attempts {
        if let Ok(done) = operation().await {
            return Ok(done);
        }
        backoff.wait().await;
    }
    operation().await
}
