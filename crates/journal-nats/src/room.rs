//! How much room there is, as it was when last looked at.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use journal::Room;

use crate::wire::{Storage, Wire, WireError};

/// New requests are refused when the account has less than this part of its storage left: what runs goes on with it.
const RESERVE_PART: u64 = 10;
/// And when the inboxes together have less than this part of theirs left.
const INBOX_RESERVE_PART: u64 = 20;

pub(crate) struct Rooms {
    /// What was stored since the last look.
    stored: AtomicU64,
    /// Held for moments only.
    seen: Mutex<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    storage: Storage,
    accepts: bool,
}

impl Rooms {
    pub(crate) fn new() -> Rooms {
        let seen = Seen { storage: Storage::default(), accepts: true };
        Rooms { stored: AtomicU64::new(0), seen: Mutex::new(seen) }
    }

    pub(crate) fn stored(&self, bytes: u64) {
        self.stored.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn room(&self) -> Room {
        let seen = *self.seen.lock().expect("no holder of the lock panics");
        let used_bytes = seen.storage.used_bytes + self.stored.load(Ordering::Relaxed);
        let free_bytes = seen.storage.bytes_max.map_or(u64::MAX, |max| max.saturating_sub(used_bytes));
        Room { free_bytes, used_bytes, accepts: seen.accepts }
    }

    /// Looks at the account, and at the inboxes when each may have `inbox_bytes_max`.
    pub(crate) async fn look<W: Wire>(
        &self,
        wire: &W,
        inboxes: impl Iterator<Item = &str>,
        inbox_bytes_max: Option<u64>,
    ) -> Result<(), WireError> {
        let storage = wire.storage().await?;
        let (mut used, mut max) = (0u64, 0u64);
        if let Some(inbox_bytes_max) = inbox_bytes_max {
            for stream in inboxes {
                used += wire.bounds(stream).await?.bytes;
                max = max.saturating_add(inbox_bytes_max);
            }
        }
        let storage_left = storage.bytes_max.is_none_or(|max| is_left(storage.used_bytes, max, RESERVE_PART));
        let inbox_left = inbox_bytes_max.is_none() || is_left(used, max, INBOX_RESERVE_PART);
        self.stored.store(0, Ordering::Relaxed);
        let accepts = storage_left && inbox_left;
        *self.seen.lock().expect("no holder of the lock panics") = Seen { storage, accepts };
        Ok(())
    }
}

fn is_left(used: u64, max: u64, part: u64) -> bool {
    max.saturating_sub(used) > max / part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_kept_for_what_runs() {
        assert!(is_left(0, 100, 10) && is_left(89, 100, 10));
        assert!(!is_left(90, 100, 10) && !is_left(200, 100, 10));
    }
}
