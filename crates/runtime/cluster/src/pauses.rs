//! Growing pauses for partitions that cannot be taken, or kept.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;
use types::PartitionId;

/// After so long without trouble, pauses begin small again.
const FORGET_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Pauses {
    until: BTreeMap<PartitionId, Instant>,
    /// When the last trouble was, and how long the pause after it.
    trouble: BTreeMap<PartitionId, (Instant, Duration)>,
}

impl Pauses {
    /// A take failed, or what was taken was lost. A success in between does not make pauses short again: two instances
    /// that take from each other are slowed down by this.
    pub(crate) fn lengthen(
        &mut self,
        partition: PartitionId,
        now: Instant,
        first: Duration,
        max: Duration,
    ) -> Duration {
        let last = self.trouble.get(&partition).filter(|(at, pause)| now < *at + *pause + FORGET_AFTER);
        let pause = last.map_or(first, |(_, pause)| (*pause * 2).min(max));
        self.trouble.insert(partition, (now, pause));
        self.until.insert(partition, now + pause);
        pause
    }

    /// Nothing went wrong, but there is no use in doing more before that.
    pub(crate) fn rest(&mut self, partition: PartitionId, until: Instant) {
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
        let mut pauses = Pauses::default();
        let (first, max) = (Duration::from_secs(1), Duration::from_secs(30));
        let mut now = Instant::now();
        let mut seen = Vec::new();
        for _ in 0..7 {
            let pause = pauses.lengthen(PartitionId(0), now, first, max);
            seen.push(pause.as_secs());
            now += pause;
        }
        assert_eq!(seen, [1, 2, 4, 8, 16, 30, 30]);
        now += FORGET_AFTER;
        assert_eq!(pauses.lengthen(PartitionId(0), now, first, max), first);
    }
}
