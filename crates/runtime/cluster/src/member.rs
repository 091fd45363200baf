//! An instance as the other instances know it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Identifies one process: a restarted instance has a new id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceId(pub String);

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An instance that is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub id: InstanceId,
    /// Where the other instances reach its API, like `http://10.0.0.5:7070`.
    pub address: String,
    pub roles: Roles,
    /// Its fixed number among the instances, if assignment goes by ordinals.
    pub ordinal: Option<u32>,
    /// Its version; older versions do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What an instance does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    pub ingest: bool,
    pub engine: bool,
    pub rest: bool,
}

impl Roles {
    pub const ALL: Roles = Roles { ingest: true, engine: true, rest: true };
}
