//! Which partitions a reply covers. A list, or a reply that something does not exist, is correct only when the replies of
//! all instances together cover every partition.

use std::collections::BTreeSet;

use engine::Engine;
use http::{HeaderMap, HeaderName, HeaderValue};
use types::PartitionId;

/// Carries the partitions that a reply to another instance covers, like `0-7,12`.
pub(crate) const HOLDS: HeaderName = HeaderName::from_static("sortie-holds");

/// A set of partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PartitionSet(BTreeSet<PartitionId>);

impl PartitionSet {
    /// The partitions that an engine owns and runs now.
    pub(crate) fn now(engine: &Engine) -> PartitionSet {
        PartitionSet(engine.held().into_keys().collect())
    }

    /// The partitions that were owned before and still are: a reply made in between covers them.
    pub(crate) fn still(self, now: &PartitionSet) -> PartitionSet {
        PartitionSet(self.0.intersection(&now.0).copied().collect())
    }

    pub(crate) fn add(&mut self, other: &PartitionSet) {
        self.0.extend(&other.0);
    }

    /// Those of all partitions that are not in it.
    pub(crate) fn missing(&self, partitions: u16) -> Vec<PartitionId> {
        (0..partitions).map(PartitionId).filter(|id| !self.0.contains(id)).collect()
    }

    pub(crate) fn header(&self) -> HeaderValue {
        let mut text = String::new();
        let mut rest = self.0.iter().map(|id| id.0).peekable();
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if(|next| Some(*next) == last.checked_add(1)) {
                last = next;
            }
            let comma = if text.is_empty() { "" } else { "," };
            text += &if first == last { format!("{comma}{first}") } else { format!("{comma}{first}-{last}") };
        }
        HeaderValue::try_from(text).expect("digits are a header value")
    }

    /// What another instance reported; empty when it cannot be read.
    pub(crate) fn of(headers: &HeaderMap) -> PartitionSet {
        let text = headers.get(HOLDS).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse::<u16>().ok()?..=last.trim().parse::<u16>().ok()?)
        };
        PartitionSet(text.split(',').filter_map(range).flatten().map(PartitionId).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_partitions_comes_back_from_its_header() {
        let sets: [(&[u16], &str); 4] =
            [(&[], ""), (&[5], "5"), (&[0, 1, 2, 7, 9, 10], "0-2,7,9-10"), (&[65535], "65535")];
        for (numbers, text) in sets {
            let holds = PartitionSet(numbers.iter().copied().map(PartitionId).collect());
            assert_eq!(holds.header(), text);
            assert_eq!(PartitionSet::of(&HeaderMap::from_iter([(HOLDS, holds.header())])), holds);
        }
        assert_eq!(PartitionSet::of(&HeaderMap::new()), PartitionSet::default());
        assert_eq!(
            PartitionSet(BTreeSet::from([PartitionId(1)])).missing(3),
            [PartitionId(0), PartitionId(2)]
        );
    }
}
