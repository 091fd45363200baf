//! What a bucket says, pieced together from news that come twice, late or not at all.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long the revision of a key that is gone is remembered, so that old news do not bring it back.
const GONE_KEPT: Duration = Duration::from_secs(120);

/// One word about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct News<T> {
    pub(super) key: String,
    pub(super) revision: u64,
    /// `None` when the key is gone.
    pub(super) value: Option<T>,
}

#[derive(Debug)]
pub(super) struct Table<T> {
    entries: BTreeMap<String, Entry<T>>,
    lifetime: Duration,
    /// Whether keys are written again and again while they live.
    kept_alive: bool,
}

#[derive(Debug)]
struct Entry<T> {
    revision: u64,
    value: Option<T>,
    /// Left out by the last reading, although nobody has said that it is gone.
    left_out: bool,
    /// When, by the clock of this machine alone, its revision was first seen.
    at: Instant,
}

impl<T> Entry<T> {
    fn shown(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| !self.left_out)
    }
}

impl<T: Clone> Table<T> {
    /// A table of keys that live for `lifetime` and are written again before that.
    pub(super) fn of_the_living(lifetime: Duration) -> Table<T> {
        Table { entries: BTreeMap::new(), lifetime, kept_alive: true }
    }

    /// A table of keys that stay; news may be late by `lifetime`.
    pub(super) fn of_what_stays(lifetime: Duration) -> Table<T> {
        Table { entries: BTreeMap::new(), lifetime, kept_alive: false }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = (&String, &T)> {
        self.entries.iter().filter_map(|(key, entry)| Some((key, entry.shown()?)))
    }

    /// Takes one word from the watcher; whether it was new.
    pub(super) fn hear(&mut self, news: News<T>, now: Instant) -> bool {
        let News { key, revision, value } = news;
        if self.entries.get(&key).is_some_and(|entry| entry.revision >= revision) {
            return false;
        }
        self.entries.insert(key, Entry { revision, value, left_out: false, at: now });
        true
    }

    /// Compares with a whole reading, which may come from a lagging replica. Returns whether something was new that
    /// the watcher should have said.
    pub(super) fn compare(&mut self, reading: Vec<News<T>>, now: Instant) -> bool {
        let lifetime = self.lifetime;
        let silent = |entry: &Entry<T>, factor: u32| now - entry.at > lifetime * factor;
        for (key, entry) in &mut self.entries {
            let read = reading.iter().any(|news| news.key == *key);
            // The word that it ran out was missed; or whoever was asked is stuck, and so is all that it says. What stays
            // is back with the next one who has it: a replica may have been cut short.
            let stuck = self.kept_alive && (entry.left_out || silent(entry, 2));
            entry.left_out = stuck || (!read && silent(entry, 1));
        }
        // Revisions start over when a bucket is created again, and then the old ones mean nothing.
        let recreated = |entry: &Entry<T>, news: &News<T>| news.revision < entry.revision && silent(entry, 2);
        let started_over =
            reading.iter().filter(|news| self.entries.get(&news.key).is_some_and(|e| recreated(e, news)));
        let started_over: Vec<String> = started_over.map(|news| news.key.clone()).collect();
        self.entries.retain(|key, entry| {
            !started_over.contains(key) && (entry.shown().is_some() || now - entry.at < GONE_KEPT)
        });
        // All of them are heard: nothing ends at the first that is new.
        reading.into_iter().filter(|news| self.hear(news.clone(), now)).count() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBER_TTL: Duration = Duration::from_secs(6);
    const SECOND: Duration = Duration::from_secs(1);

    fn news(key: &str, revision: u64, value: Option<u32>) -> News<u32> {
        News { key: key.to_owned(), revision, value }
    }

    fn shown(table: &Table<u32>) -> Vec<(&str, u32)> {
        table.values().map(|(key, value)| (key.as_str(), *value)).collect()
    }

    #[test]
    fn late_news_change_nothing() {
        let (mut table, now) = (Table::of_the_living(MEMBER_TTL), Instant::now());
        assert!(table.hear(news("a", 5, Some(5)), now));
        assert!(!table.hear(news("a", 4, Some(4)), now));
        assert!(table.hear(news("a", 6, None), now));
        assert!(!table.compare(vec![news("a", 5, Some(5))], now + SECOND));
        assert_eq!(shown(&table), []);
    }

    #[test]
    fn a_read_reveals_what_the_watch_missed() {
        let (mut table, now) = (Table::of_what_stays(MEMBER_TTL), Instant::now());
        assert!(table.compare(vec![news("a", 1, Some(1)), news("b", 2, Some(2))], now));
        assert!(!table.compare(vec![news("a", 1, Some(1)), news("b", 2, Some(2))], now + 60 * SECOND));
        assert_eq!(shown(&table), [("a", 1), ("b", 2)]);
    }

    #[test]
    fn a_lagging_replica_does_not_hide_an_instance_that_just_joined() {
        let (mut table, now) = (Table::of_the_living(MEMBER_TTL), Instant::now());
        table.hear(news("a", 1, Some(1)), now);
        table.compare(Vec::new(), now + 5 * SECOND);
        assert_eq!(shown(&table), [("a", 1)]);
        table.compare(Vec::new(), now + 7 * SECOND);
        assert_eq!(shown(&table), []);
    }

    #[test]
    fn one_that_is_silent_for_too_long_is_gone_even_when_it_is_still_read() {
        let (mut table, now) = (Table::of_the_living(MEMBER_TTL), Instant::now());
        table.hear(news("a", 1, Some(1)), now);
        table.compare(vec![news("a", 1, Some(1))], now + 13 * SECOND);
        assert_eq!(shown(&table), []);
    }

    #[test]
    fn what_one_reading_leaves_out_is_back_with_the_next() {
        let (mut table, now) = (Table::of_what_stays(MEMBER_TTL), Instant::now());
        let whole = || vec![news("a", 1, Some(1)), news("b", 2, Some(2))];
        table.compare(whole(), now);
        table.compare(vec![news("a", 1, Some(1))], now + 7 * SECOND);
        assert_eq!(shown(&table), [("a", 1)]);
        assert!(!table.compare(whole(), now + 10 * SECOND), "that is nothing new");
        assert_eq!(shown(&table), [("a", 1), ("b", 2)]);
        // Who has to say again and again that it lives is not brought back by what is old.
        let mut living = Table::of_the_living(MEMBER_TTL);
        living.compare(whole(), now);
        living.compare(Vec::new(), now + 7 * SECOND);
        living.compare(whole(), now + 8 * SECOND);
        assert_eq!(shown(&living), []);
        living.compare(vec![news("a", 3, Some(3))], now + 9 * SECOND);
        assert_eq!(shown(&living), [("a", 3)]);
    }

    #[test]
    fn a_bucket_that_was_recreated_is_believed_after_a_while() {
        let (mut table, now) = (Table::of_what_stays(MEMBER_TTL), Instant::now());
        table.hear(news("a", 900, Some(1)), now);
        table.compare(vec![news("a", 3, Some(2))], now + SECOND);
        assert_eq!(shown(&table), [("a", 1)]);
        table.compare(vec![news("a", 3, Some(2))], now + 13 * SECOND);
        assert_eq!(shown(&table), [("a", 2)]);
    }
}
