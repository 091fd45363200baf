//! The register: where instances say that they live and what they hold. NATS in the product, a model in the simulator.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use words::{Epoch, PartitionId};

use crate::{InstanceId, Member};

/// Who says that it holds a partition. A hint, never authority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// Nobody, when the last holder has let go.
    pub holder: Option<InstanceId>,
    pub epoch: Epoch,
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
