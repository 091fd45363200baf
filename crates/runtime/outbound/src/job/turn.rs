//! A plain bound on the calls in flight to one origin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Gives turns, first come first served per origin.
pub(super) struct Turns {
    calls_per_origin: usize,
    // A lock, not messages: held for a look-up. Origins without calls are forgotten: jobs may name any number.
    origins: Mutex<Origins>,
}

#[derive(Default)]
struct Origins {
    semaphores: HashMap<String, Weak<Semaphore>>,
    /// How many may be there before those without calls are looked for.
    sweep_at: usize,
}

impl Turns {
    pub(super) fn new(calls_per_origin: usize) -> Turns {
        let calls_per_origin = calls_per_origin.clamp(1, Semaphore::MAX_PERMITS);
        Turns { calls_per_origin, origins: Mutex::default() }
    }

    /// Waits for a turn, which ends when it is dropped. Dropping the future leaves the queue.
    pub(super) async fn take(&self, origin: &str) -> OwnedSemaphorePermit {
        self.semaphore(origin).acquire_owned().await.expect("the semaphore is never closed")
    }

    fn semaphore(&self, origin: &str) -> Arc<Semaphore> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = origins.semaphores.get(origin).and_then(Weak::upgrade) {
            return semaphore;
        }
        if origins.semaphores.len() >= origins.sweep_at {
            origins.semaphores.retain(|_, semaphore| semaphore.strong_count() > 0);
            origins.sweep_at = 2 * origins.semaphores.len() + 64;
        }
        let semaphore = Arc::new(Semaphore::new(self.calls_per_origin));
        origins.semaphores.insert(origin.to_owned(), Arc::downgrade(&semaphore));
        semaphore
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn origins_without_calls_are_forgotten() {
        let turns = Turns::new(1);
        let kept = turns.take("kept").await;
        for number in 0..10_000 {
            drop(turns.take(&number.to_string()).await);
        }
        let count = turns.origins.lock().unwrap().semaphores.len();
        assert!(count <= 66, "{count}");
        assert_eq!(turns.semaphore("kept").available_permits(), 0);
        drop(kept);
        assert_eq!(turns.semaphore("kept").available_permits(), 1);
    }
}
