//! The content of a bucket, assembled from updates that arrive twice, late or not at all.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long the revision of a deleted key is remembered, so that old updates do not restore it.
const GONE_KEPT: Duration = Duration::from_secs(120);

/// An update of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyUpdate<T> {
    pub(super) key: String,
    pub(super) revision: u64,
    /// `None` if the key was deleted or has expired.
    pub(super) value: Option<T>,
}

#[derive(Debug)]
pub(super) struct Table<T> {
    entries: BTreeMap<String, Entry<T>>,
    lifetime: Duration,
    /// Whether keys expire unless they are written again and again.
    kept_alive: bool,
}

#[derive(Debug)]
struct Entry<T> {
    revision: u64,
    value: Option<T>,
    /// Missing from the last reading, although no update has reported its deletion.
    missing: bool,
    /// When its revision was first seen, by the clock of this machine.
    at: Instant,
}

impl<T> Entry<T> {
    fn shown(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| !self.missing)
    }
}

impl<T: Clone> Table<T> {
    /// A table of keys that expire after `lifetime` and are written again before that.
    pub(super) fn of_expiring_keys(lifetime: Duration) -> Table<T> {
        Table { entries: BTreeMap::new(), lifetime, kept_alive: true }
    }

    /// A table of keys that do not expire; updates may be late by `lifetime`.
    pub(super) fn of_permanent_keys(lifetime: Duration) -> Table<T> {
        Table { entries: BTreeMap::new(), lifetime, kept_alive: false }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = (&String, &T)> {
        self.entries.iter().filter_map(|(key, entry)| Some((key, entry.shown()?)))
    }

    /// Applies an update of the watch; returns whether it was new.
    pub(super) fn update(&mut self, news: KeyUpdate<T>, now: Instant) -> bool {
        let KeyUpdate { key, revision, value } = news;
        if self.entries.get(&key).is_some_and(|entry| entry.revision >= revision) {
            return false;
        }
        self.entries.insert(key, Entry { revision, value, missing: false, at: now });
        true
    }

    /// Compares the table with a full reading, which may come from a lagging replica. Returns whether there was a change that
    /// the watch should have reported.
    pub(super) fn compare(&mut self, reading: Vec<KeyUpdate<T>>, now: Instant) -> bool {
        let lifetime = self.lifetime;
        let silent = |entry: &Entry<T>, factor: u32| now - entry.at > lifetime * factor;
        for (key, entry) in &mut self.entries {
            let read = reading.iter().any(|update| update.key == *key);
            // The expiry of the key was missed, or the replica that was read is stuck and shows old keys for ever. A
            // permanent key is back with the next reading that has it: a replica may have been incomplete.
            let stuck = self.kept_alive && (entry.missing || silent(entry, 2));
            entry.missing = stuck || (!read && silent(entry, 1));
        }
        // Revisions start over when a bucket is created again.
        let recreated =
            |entry: &Entry<T>, update: &KeyUpdate<T>| update.revision < entry.revision && silent(entry, 2);
        let recreated_keys = reading
            .iter()
            .filter(|update| self.entries.get(&update.key).is_some_and(|e| recreated(e, update)));
        let recreated_keys: Vec<String> = recreated_keys.map(|update| update.key.clone()).collect();
        self.entries.retain(|key, entry| {
            !recreated_keys.contains(key) && (entry.shown().is_some() || now - entry.at < GONE_KEPT)
        });
        // All updates are applied; the count does not stop at the first new one.
        reading.into_iter().filter(|update| self.update(update.clone(), now)).count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBER_TTL: Duration = Duration::from_secs(6);
    const SECOND: Duration = Duration::from_secs(1);

    fn news(key: &str, revision: u64, value: Option<u32>) -> KeyUpdate<u32> {
        KeyUpdate { key: key.to_owned(), revision, value }
    }

    fn shown(table: &Table<u32>) -> Vec<(&str, u32)> {
        table.values().map(|(key, value)| (key.as_str(), *value)).collect()
    }

    #[test]
    fn late_news_change_nothing() {
        let (mut table, now) = (Table::of_expiring_keys(MEMBER_TTL), Instant::now());
        assert!(table.update(news("a", 5, Some(5)), now));
        assert!(!table.update(news("a", 4, Some(4)), now));
        assert!(table.update(news("a", 6, None), now));
        assert!(!table.compare(vec![news("a", 5, Some(5))], now + SECOND));
        assert_eq!(shown(&table), []);
    }

    #[test]
    fn a_read_reveals_what_the_watch_missed() {
        let (mut table, now) = (Table::of_permanent_keys(MEMBER_TTL), Instant::now());
        assert!(table.compare(vec![news("a", 1, Some(1)), news("b", 2, Some(2))], now));
        assert!(!table.compare(vec![news("a", 1, Some(1)), news("b", 2, Some(2))], now + 60 * SECOND));
        assert_eq!(shown(&table), [("a", 1), ("b", 2)]);
    }

    #[test]
    fn a_lagging_replica_does_not_hide_an_instance_that_just_joined() {
        let (mut table, now) = (Table::of_expiring_keys(MEMBER_TTL), Instant::now());
        table.update(news("a", 1, Some(1)), now);
        table.compare(Vec::new(), now + 5 * SECOND);
        assert_eq!(shown(&table), [("a", 1)]);
        table.compare(Vec::new(), now + 7 * SECOND);
        assert_eq!(shown(&table), []);
    }

    #[test]
    fn one_that_is_silent_for_too_long_is_gone_even_when_it_is_still_read() {
        let (mut table, now) = (Table::of_expiring_keys(MEMBER_TTL), Instant::now());
        table.update(news("a", 1, Some(1)), now);
        table.compare(vec![news("a", 1, Some(1))], now + 13 * SECOND);
        assert_eq!(shown(&table), []);
    }

    #[test]
    fn what_one_reading_leaves_out_is_back_with_the_next() {
        let (mut table, now) = (Table::of_permanent_keys(MEMBER_TTL), Instant::now());
        let whole = || vec![news("a", 1, Some(1)), news("b", 2, Some(2))];
        table.compare(whole(), now);
        table.compare(vec![news("a", 1, Some(1))], now + 7 * SECOND);
        assert_eq!(shown(&table), [("a", 1)]);
        assert!(!table.compare(whole(), now + 10 * SECOND), "that is nothing new");
        assert_eq!(shown(&table), [("a", 1), ("b", 2)]);
        // A key that expires is not restored by an old reading.
        let mut living = Table::of_expiring_keys(MEMBER_TTL);
        living.compare(whole(), now);
        living.compare(Vec::new(), now + 7 * SECOND);
        living.compare(whole(), now + 8 * SECOND);
        assert_eq!(shown(&living), []);
        living.compare(vec![news("a", 3, Some(3))], now + 9 * SECOND);
        assert_eq!(shown(&living), [("a", 3)]);
    }

    #[test]
    fn a_bucket_that_was_recreated_is_believed_after_a_while() {
        let (mut table, now) = (Table::of_permanent_keys(MEMBER_TTL), Instant::now());
        table.update(news("a", 900, Some(1)), now);
        table.compare(vec![news("a", 3, Some(2))], now + SECOND);
        assert_eq!(shown(&table), [("a", 1)]);
        table.compare(vec![news("a", 3, Some(2))], now + 13 * SECOND);
        assert_eq!(shown(&table), [("a", 2)]);
    }
}
