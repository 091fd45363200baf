//! How much room is left, as the servers last reported it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use journal::Room;

use crate::inbox::Inbox;
use crate::jetstream::JetStreamError;
use crate::wire::{Storage, Wire};

/// New requests are refused if less than a fifth of the storage is free: the rest is for completing and undoing runs, and for
/// snapshots, without which nothing can be trimmed.
const RESERVE_PART: u64 = 5;
/// And if less than a twentieth of the total room of the inboxes is free.
const INBOX_RESERVE_PART: u64 = 20;

pub(crate) struct Rooms {
    /// The bytes that were stored since the last report.
    stored: AtomicU64,
    // A lock: held for moments, never across an await.
    seen: Mutex<Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    storage: Storage,
    inboxes_left: bool,
}

impl Rooms {
    pub(crate) fn new() -> Rooms {
        let seen = Seen { storage: Storage::default(), inboxes_left: true };
        Rooms { stored: AtomicU64::new(0), seen: Mutex::new(seen) }
    }

    pub(crate) fn stored(&self, bytes: u64) {
        self.stored.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn room(&self) -> Room {
        let Seen { storage, inboxes_left } = *self.seen.lock().expect("no holder of the lock panics");
        let used_bytes = storage.used_bytes.saturating_add(self.stored.load(Ordering::Relaxed));
        let free_bytes = storage.bytes_max.map_or(u64::MAX, |max| max.saturating_sub(used_bytes));
        let storage_left = storage.bytes_max.is_none_or(|max| is_left(used_bytes, max, RESERVE_PART));
        Room { free_bytes, used_bytes, accepts: storage_left && inboxes_left }
    }

    /// Reads the use of storage, and the size of the inboxes if it is limited.
    pub(crate) async fn look<W: Wire>(
        &self,
        wire: &W,
        inboxes: &[Arc<Inbox>],
        inbox_bytes_max: Option<u64>,
    ) -> Result<(), JetStreamError> {
        // Bytes that are stored meanwhile may be in the report or not: they count until the next one.
        let before = self.stored.load(Ordering::Relaxed);
        let storage = wire.storage().await?;
        let (mut used, mut max) = (0u64, 0u64);
        if let Some(inbox_bytes_max) = inbox_bytes_max {
            for inbox in inboxes {
                let bounds = wire.bounds(inbox.stream()).await?;
                inbox.see(wire, &bounds).await;
                used += bounds.bytes;
                max = max.saturating_add(inbox_bytes_max);
            }
        }
        let inboxes_left = inbox_bytes_max.is_none() || is_left(used, max, INBOX_RESERVE_PART);
        self.see(Seen { storage, inboxes_left }, before);
        Ok(())
    }

    fn see(&self, seen: Seen, counted: u64) {
        let known = std::mem::replace(&mut *self.seen.lock().expect("no holder of the lock panics"), seen);
        // The report may be the same as before; the bytes since then are dropped only when it has changed.
        if known.storage != seen.storage || seen.storage.bytes_max.is_none() {
            self.stored.fetch_sub(counted, Ordering::Relaxed);
        }
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

    #[test]
    fn requests_are_refused_when_the_reserve_is_reached_and_taken_again_above_it() {
        let rooms = Rooms::new();
        let seen =
            |used_bytes| Seen { storage: Storage { used_bytes, bytes_max: Some(1000) }, inboxes_left: true };
        rooms.see(seen(700), 0);
        assert!(rooms.room().accepts);
        rooms.stored(100);
        let room = rooms.room();
        assert!(!room.accepts, "what was stored since the servers were asked counts");
        assert_eq!((room.free_bytes, room.used_bytes), (200, 800));
        rooms.see(seen(700), 100);
        assert!(!rooms.room().accepts, "an answer of before it says nothing about it");
        rooms.see(seen(500), 100);
        assert!(rooms.room().accepts);
        assert_eq!(rooms.room().free_bytes, 500);
    }
}
