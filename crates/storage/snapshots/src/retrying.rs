//! Retries the requests to a store: one failed request must not cost a partition.

use std::time::Duration;

use bytes::Bytes;

use crate::store::{Store, StoreError};

/// Attempts of one request, with pauses of 0.1 s, 0.2 s, … between them: 6 s in total.
const TRIES_MAX: u32 = 7;
const PAUSE_FIRST: Duration = Duration::from_millis(100);

/// Repeats the requests to another store a few times.
pub(super) struct Retrying<S>(pub S);

impl<S: Store> Store for Retrying<S> {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let mut tries = Tries::new();
        loop {
            match self.0.put(name, bytes.clone()).await {
                Err(error) if tries.another(&error).await => {}
                answer => return answer,
            }
        }
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let mut tries = Tries::new();
        loop {
            match self.0.get(name).await {
                Err(error) if tries.another(&error).await => {}
                answer => return answer,
            }
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let mut tries = Tries::new();
        loop {
            match self.0.list(prefix).await {
                Err(error) if tries.another(&error).await => {}
                answer => return answer,
            }
        }
    }

    /// Without retries: objects that stay are deleted after the next snapshot.
    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.0.delete(name).await
    }

    /// Without retries, as above.
    async fn sweep(&self, age: Duration) -> Result<(), StoreError> {
        self.0.sweep(age).await
    }
}

struct Tries {
    left: u32,
    pause: Duration,
}

impl Tries {
    fn new() -> Tries {
        Tries { left: TRIES_MAX - 1, pause: PAUSE_FIRST }
    }

    /// Waits before the next attempt; false if there were enough.
    async fn another(&mut self, error: &StoreError) -> bool {
        if self.left == 0 {
            return false;
        }
        tracing::debug!(%error, "retrying a request to the snapshot store");
        tokio::time::sleep(self.pause).await;
        self.left -= 1;
        self.pause *= 2;
        true
    }
}
