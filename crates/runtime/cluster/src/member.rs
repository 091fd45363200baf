//! An instance as the others know it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of one life of an instance: a process that starts again is another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceId(pub String);

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An instance that lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub id: InstanceId,
    /// Where its API is reached by the others, like `http://10.0.0.5:7070`.
    pub address: String,
    pub roles: Roles,
    /// Its fixed place among the instances, when assignment goes by ordinals.
    pub ordinal: Option<u32>,
    /// The version of its program; older ones do not tell it.
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
