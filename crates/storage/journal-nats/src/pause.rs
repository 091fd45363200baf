//! Pauses that grow, between tries of one thing.

use std::time::Duration;

use crate::limits::{PAUSE_FIRST, PAUSE_MAX};

/// The pauses of one thing that is tried until it succeeds.
#[derive(Debug)]
pub(crate) struct Pauses {
    next: Duration,
    tries: u32,
}

impl Pauses {
    pub(crate) fn new() -> Pauses {
        Pauses { next: PAUSE_FIRST, tries: 0 }
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(PAUSE_MAX);
        self.tries += 1;
    }

    /// Whether it has lasted so long that somebody should read of it, now and again.
    pub(crate) fn is_worth_a_word(&self) -> bool {
        self.tries >= 8 && self.tries.is_multiple_of(8)
    }
}

/// Asks so often, with pauses between, until it is answered.
pub async fn ask_again<T, E, F>(tries: u32, mut ask: impl FnMut() -> F) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut pauses = Pauses::new();
    for _ in 1..tries {
        if let Ok(answer) = ask().await {
            return Ok(answer);
        }
        pauses.wait().await;
    }
    ask().await
}
