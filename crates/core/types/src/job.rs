//! Jobs and their collections: what the kernel needs to know of them, without the text of any call.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::schedule::Timing;
use crate::{Retry, Span};

/// The workflow that every occurrence of a job is a run of.
pub const JOB_WORKFLOW: &str = "job";

/// An id that is never used twice: of a collection or of a job, as long as it lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(pub [u8; 16]);

/// Where a job is found: its collection, and its name in lower case, because names differ by more than case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobRef {
    pub collection: Uid,
    pub name: Arc<str>,
}

/// What the kernel decides a job's occurrences by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    pub timing: Timing,
    pub retry: Retry,
    /// The retry policy of the errorAction, when there is one.
    pub alternative: Option<Retry>,
    pub missed: Missed,
    pub overlap: Overlap,
    /// What the client asked for: enabled or disabled.
    pub enabled: bool,
    /// The action signs in at its target; some plans do not offer that.
    pub authenticates: bool,
}

/// What becomes of occurrences whose time passed while nobody could fire them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Missed {
    /// The newest of them runs, late; the others are left out.
    #[default]
    Latest,
    /// All of them run, one after another, at the pace of the partition.
    All,
    Skip,
}

/// What becomes of an occurrence that is due while the one before it is still under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Overlap {
    #[default]
    Skip,
    Queue,
    Allow,
}

/// What a collection allows its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionSpec {
    pub jobs_max: u32,
    /// The shortest time between two occurrences of a job.
    pub period_min: Span,
    /// Whether its jobs' actions may sign in at their targets.
    pub authentication: bool,
    pub enabled: bool,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    Enabled,
    Disabled,
    /// The final occurrence was done.
    Completed,
    /// The final occurrence failed.
    Faulted,
}

impl JobState {
    /// Whether nothing more will ever happen by itself.
    pub fn is_final(self) -> bool {
        matches!(self, JobState::Completed | JobState::Faulted)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JobState::Enabled => "enabled",
            JobState::Disabled => "disabled",
            JobState::Completed => "completed",
            JobState::Faulted => "faulted",
        })
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As one number: a run's key has two of these, and byte by byte they would cost more than its call.
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

// People read 32 hex digits; the journal holds 16 bytes.
impl Serialize for Uid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Uid, D::Error> {
        if !deserializer.is_human_readable() {
            return <[u8; 16]>::deserialize(deserializer).map(Uid);
        }
        let text = String::deserialize(deserializer)?;
        let digits = (text.len() == 32).then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        digits.map(|id| Uid(id.to_be_bytes())).ok_or_else(|| serde::de::Error::custom("not 32 hex digits"))
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
