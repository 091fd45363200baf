//! Growing backoffs for partitions that cannot be acquired, or are lost again.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use types::PartitionId;

/// After so long without a failure, the backoff starts small again.
const FORGET_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Backoffs {
    until: BTreeMap<PartitionId, Instant>,
    /// When the last failure was, and the backoff after it.
    failures: BTreeMap<PartitionId, (Instant, Duration)>,
}

impl Backoffs {
    /// An acquisition failed, or the partition was lost after it. A success in between does not reset the backoff: this
    /// slows down two instances that keep claiming a partition from each other.
    pub(crate) fn lengthen(
        &mut self,
        partition: PartitionId,
        now: Instant,
        first: Duration,
        max: Duration,
    ) -> Duration {
        let last = self.failures.get(&partition).filter(|(at, pause)| now < *at + *pause + FORGET_AFTER);
        let pause = last.map_or(first, |(_, pause)| (*pause * 2).min(max));
        self.failures.insert(partition, (now, pause));
        self.until.insert(partition, now + pause);
        pause
    }

    /// Nothing failed, but acting before that time is pointless.
    pub(crate) fn delay(&mut self, partition: PartitionId, until: Instant) {
        let entry = self.until.entry(partition).or_insert(until);
        *entry = until.max(*entry);
    }

    pub(crate) fn until(&self) -> &BTreeMap<PartitionId, Instant> {
        &self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit_and_are_forgotten() {
        let mut backoffs = Backoffs::default();
        let (first, max) = (Duration::from_secs(1), Duration::from_secs(30));
        let mut now = Instant::now();
        let mut seen = Vec::new();
        for _ in 0..7 {
            let pause = backoffs.lengthen(PartitionId(0), now, first, max);
            seen.push(pause.as_secs());
            now += pause;
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 30, 30]);
        now += FORGET_AFTER;
        assert_eq!(backoffs.lengthen(PartitionId(0), now, first, max), first);
    }
}
