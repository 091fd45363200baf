//! Errors of the journal, by what the caller should do about them.

use types::{PartitionId, Seq};

/// Why a record was not appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Another owner has taken the partition: stop and drop the state.
    #[error("partition {partition} has a newer owner")]
    Fenced { partition: PartitionId },
    /// The owner's tail differs from the journal's: the owner's state is wrong, rebuild it.
    #[error("partition {partition} ends at {tail}, not where the frame expected")]
    Conflict { partition: PartitionId, tail: Seq },
    /// The record may be stored or not: read back before continuing.
    #[error("whether the record was appended to partition {partition} is not known")]
    Unknown { partition: PartitionId },
    /// The disk is full: refuse new requests until there is space.
    #[error("the journal is full")]
    Full,
    /// Damage was found in the partition: it accepts nothing until an operator has repaired it.
    #[error("partition {partition} is stopped: {detail}")]
    Damaged { partition: PartitionId, detail: String },
    /// The record is larger than a frame may be.
    #[error("a record of {bytes} bytes is larger than {bytes_max}")]
    TooLarge { bytes: usize, bytes_max: usize },
    /// The journal is closing.
    #[error("the journal is closed")]
    Closed,
}

/// Why records could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The records were trimmed: start from a snapshot.
    #[error("partition {partition} starts at {first}, {from} is gone")]
    Trimmed { partition: PartitionId, from: Seq, first: Seq },
    /// Damage was found: the records exist but are not what was written.
    #[error("partition {partition} is damaged: {detail}")]
    Damaged { partition: PartitionId, detail: String },
    /// The journal is closing.
    #[error("the journal is closed")]
    Closed,
}

/// Why a journal could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has locked the directory.
    #[error("{dir} is in use by another process{holder}; stop it or choose another data directory")]
    InUse { dir: String, holder: String },
    /// The directory was written by an incompatible version.
    #[error("{dir} holds data of format {found}, this program reads {reads}; {fix}")]
    Version { dir: String, found: String, reads: String, fix: String },
    /// The directory was created with other settings.
    #[error("{setting} is fixed at {fixed} when {dir} is created and cannot become {asked}")]
    Fixed { dir: String, setting: &'static str, fixed: String, asked: String },
    /// Damage that cannot be attributed to one partition.
    #[error("{file} is damaged: {detail}")]
    Damaged { file: String, detail: String },
    /// The operating system refused.
    #[error("{doing} {path}: {source}")]
    Io { doing: &'static str, path: String, source: std::io::Error },
}
