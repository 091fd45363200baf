//! Partitions, their sequence numbers and the epochs of their owners.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Key;

/// The number of a partition: `0..count` hold runs, [`PartitionId::CONTROL`] holds definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartitionId(pub u16);

impl PartitionId {
    /// The small partition that every instance follows: workflows, tokens, services' settings.
    pub const CONTROL: PartitionId = PartitionId(u16::MAX);

    /// The partition that a key belongs to. The function is part of the data format: it never changes.
    pub fn of(key: &Key, count: u16) -> PartitionId {
        // FNV-1a, then a finalizer, because FNV's low bits alone are weak for short keys.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in key.as_str().bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        PartitionId(((hash >> 32) % u64::from(count)) as u16)
    }
}

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == PartitionId::CONTROL { f.write_str("control") } else { write!(f, "{}", self.0) }
    }
}

/// A position in one stream of a partition (its inbox or its events). The first record has number 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first record.
    pub const ZERO: Seq = Seq(0);

    #[must_use]
    pub fn next(self) -> Seq {
        Seq(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The number of an ownership term of a partition; the journal refuses frames of a lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Epoch(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    // guards: 19
    #[test]
    fn the_partition_of_a_key_never_changes() {
        let partition = |text: &str| PartitionId::of(&Key::new(text).unwrap(), 32).0;
        assert_eq!([partition("a"), partition("b"), partition("delivery-1")], [28, 19, 18]);
    }

    #[test]
    fn keys_spread_evenly() {
        let mut counts = [0u32; 32];
        for n in 0..32_000 {
            let key = Key::new(&format!("delivery-{n}")).unwrap();
            counts[usize::from(PartitionId::of(&key, 32).0)] += 1;
        }
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
    }
}
