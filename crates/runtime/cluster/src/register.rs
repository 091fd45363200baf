//! The register: where instances say that they live and what they hold. NATS in the product, a model in the simulator.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use types::{Epoch, PartitionId};

use crate::{InstanceId, Member};

/// Who says that it holds a partition. A hint, never authority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// Nobody, when the last holder has let go.
    pub holder: Option<InstanceId>,
    pub epoch: Epoch,
    /// How far the events are known to be durable. Notes of older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<High>,
}

impl Holding {
    pub fn new(holder: Option<InstanceId>, epoch: Epoch) -> Holding {
        Holding { holder, epoch, high: None }
    }

    /// Whether this one holds it, under this epoch.
    pub fn is_of(&self, holder: &InstanceId, epoch: Epoch) -> bool {
        self.holder.as_ref() == Some(holder) && self.epoch == epoch
    }

    /// This note in the place of another: how far the events were durable stays noted, whoever knows less.
    pub fn in_place_of(self, noted: Option<&Holding>) -> Holding {
        Holding { high: self.high.max(noted.and_then(|noted| noted.high)), ..self }
    }
}

/// How far the events of a partition were durable when it was noted. Whoever finds less has events that were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct High {
    /// The region's epoch in which they were claimed, 0 without regions. In another epoch they may end earlier: a
    /// region that was changed by force goes on with what it has.
    pub region: u64,
    /// The last message that was acknowledged, by its place in the stream.
    pub last: u64,
}

impl High {
    /// Where events must not end before, when they are claimed in this epoch of the region; 0 when nobody knows.
    pub fn floor(noted: Option<High>, region: u64) -> u64 {
        noted.filter(|noted| noted.region == region).map_or(0, |noted| noted.last)
    }
}

/// What an instance sees of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// False until the register was read once: nothing is decided before.
    pub known: bool,
    pub members: BTreeMap<InstanceId, Member>,
    pub holdings: BTreeMap<PartitionId, Holding>,
    /// Whether this region runs anything at all; a standby's instances hold nothing.
    pub active: bool,
}

/// The register could not be reached, or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterError(pub String);

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RegisterError {}

/// A register that all instances share.
pub trait Register: Send + Sync + 'static {
    /// Says that this instance lives for the next while.
    fn beat(&self, member: &Member) -> impl Future<Output = Result<(), RegisterError>> + Send;

    /// Says that this instance is gone, at once.
    fn leave(&self, id: &InstanceId) -> impl Future<Output = Result<(), RegisterError>> + Send;

    /// Notes who holds a partition. A note of a lower epoch than the one that is there changes nothing.
    fn note(
        &self,
        partition: PartitionId,
        holding: Holding,
    ) -> impl Future<Output = Result<(), RegisterError>> + Send;

    /// Follows what there is to be seen.
    fn watch(&self) -> watch::Receiver<Arc<Sight>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_region_had_is_not_expected_of_this_one() {
        let noted = Some(High { region: 1, last: 90 });
        assert_eq!(High::floor(noted, 1), 90);
        assert_eq!(High::floor(noted, 2), 0, "changed by force, events may end earlier for good");
        assert_eq!(High::floor(None, 1), 0, "an older version has noted nothing");
    }
}
