//! Where a run stands, in one word.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a run as people and clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Durable in the inbox, not yet taken up.
    Accepted,
    /// Waits for an earlier run with the same key.
    Queued,
    Running,
    Undoing,
    /// Waits for a person.
    Parked,
    Completed,
    Undone,
    /// A person decided to leave it as it is.
    GivenUp,
}

impl RunStatus {
    pub const ALL: [RunStatus; 8] = [
        RunStatus::Accepted,
        RunStatus::Queued,
        RunStatus::Running,
        RunStatus::Undoing,
        RunStatus::Parked,
        RunStatus::Completed,
        RunStatus::Undone,
        RunStatus::GivenUp,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Accepted => "accepted",
            RunStatus::Queued => "queued",
            RunStatus::Running => "running",
            RunStatus::Undoing => "undoing",
            RunStatus::Parked => "parked",
            RunStatus::Completed => "completed",
            RunStatus::Undone => "undone",
            RunStatus::GivenUp => "given_up",
        }
    }

    /// Whether nothing more will happen to the run by itself or by a person.
    pub fn is_final(self) -> bool {
        matches!(self, RunStatus::Completed | RunStatus::Undone | RunStatus::GivenUp)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is not a status; lists those that are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a status; use accepted, queued, running, undoing, parked, completed, undone or given_up"
)]
pub struct UnknownStatus(String);

impl std::str::FromStr for RunStatus {
    type Err = UnknownStatus;
    fn from_str(text: &str) -> Result<RunStatus, UnknownStatus> {
        let found = RunStatus::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| UnknownStatus(text.chars().take(40).collect()))
    }
}
