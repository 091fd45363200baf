//! Which instance owns what, and the way to the others.

use std::sync::Arc;

use cluster::{Directory, Roles};
use engine::{Control, Engine};
use types::PartitionId;
use view::Ids;

use crate::auth::peer::PeerSecret;
use crate::forward::peer_client::PeerClient;
use crate::readiness::End;

/// This instance among its peers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub engine: Engine,
    pub control: Control,
    pub ids: Arc<Ids>,
    pub directory: Directory,
    pub peers: Arc<dyn PeerClient>,
    /// Authenticates instances to each other.
    pub peer: Option<PeerSecret>,
    /// Authenticates what this instance asks of itself, and of its peers where there are peers.
    pub inner: PeerSecret,
    pub roles: Roles,
    pub partitions: u16,
    pub end: End,
}

impl Cluster {
    /// The partitions that this instance owns, stopped ones among them.
    pub(crate) fn owned_partitions(&self) -> Vec<PartitionId> {
        self.engine.partitions().into_iter().map(|info| info.id).collect()
    }
}
