//! Instances and what they hold, as the API shows them.

use serde::{Deserialize, Serialize};

use crate::ApiSchema;
use crate::schema::InstanceRole;

/// The instances of an installation, as one of them sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Cluster")]
pub struct ClusterView {
    /// The instance that answers; absent when it is alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// Whether it has seen the others yet.
    pub known: bool,
    /// Whether this region runs anything; a standby's instances hold nothing.
    pub active: bool,
    pub instances: Vec<InstanceView>,
    pub partitions: Vec<HoldingView>,
}

/// An instance that lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Instance")]
pub struct InstanceView {
    pub id: String,
    /// Where the others reach it.
    pub address: String,
    /// ingest, engine, rest
    #[schema(like = Vec<InstanceRole>)]
    pub roles: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<u32>,
    /// The version of its program; older ones do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Who holds a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Holding")]
pub struct HoldingView {
    /// Its number, or `control`.
    pub partition: String,
    /// The id of an instance that lives; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    pub epoch: u64,
}
