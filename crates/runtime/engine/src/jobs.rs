//! Jobs for callers of the engine: commands for the partition that owns a collection, and reads.

mod reader;
pub(crate) mod record;

use kernel::job::{Collection, CollectionDraft, Draft, Expect, Job, JobRejection, PutMode};
use types::{Key, PartitionId, RunId};

use crate::CommandError;

use sha2::{Digest, Sha256};

pub use reader::{JobReader, ReadJobError, UpcomingFiring};

/// A command about a collection or its jobs. `collection` is its key: the full name in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobCommand {
    PutCollection {
        draft: CollectionDraft,
        expect: Expect,
    },
    DeleteCollection {
        collection: String,
        expect: Expect,
    },
    PutJob {
        collection: String,
        draft: Box<Draft>,
        expect: Expect,
        manner: PutMode,
    },
    DeleteJob {
        collection: String,
        name: String,
        expect: Expect,
    },
    RunJob {
        collection: String,
        name: String,
    },
    /// Writes and deletes several jobs, and the collection itself if given: all of it or nothing.
    Import {
        collection: String,
        draft: Option<CollectionDraft>,
        jobs: Vec<Draft>,
        deleted: Vec<String>,
    },
}

/// The durable result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobAnswer {
    Collection { collection: Box<Collection>, created: bool },
    Job { collection: Box<Collection>, job: Box<Job>, created: bool },
    Fired { run: RunId },
    Deleted,
    Imported,
}

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    #[error(transparent)]
    Rejected(#[from] JobRejection),
    #[error("partition {partition} is stopped: {reason}")]
    Stopped { partition: PartitionId, reason: String },
    #[error("partition {partition} is not owned by this instance")]
    NotHeld { partition: PartitionId },
    #[error("partition {partition} changed owner before it answered: the outcome is unknown")]
    Unknown { partition: PartitionId },
}

impl JobError {
    pub(crate) fn of_stop(error: CommandError) -> JobError {
        match error {
            CommandError::Stopped { partition, reason } => JobError::Stopped { partition, reason },
            CommandError::NotHeld { partition } => JobError::NotHeld { partition },
            CommandError::Unknown { partition } => JobError::Unknown { partition },
            CommandError::Rejected(_) => unreachable!("sending rejects nothing"),
        }
    }
}

/// The partition of a collection. All its jobs are there too: one owner decides quota, enabling and deletion.
pub fn partition_of(collection: &str, partitions: u16) -> PartitionId {
    let hash = Sha256::digest(collection.as_bytes());
    let text: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    PartitionId::of(&Key::new(&text).expect("hex digits make a key"), partitions)
}
