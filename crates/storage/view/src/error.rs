//! Errors of the view, by the reaction that they require.

use std::io;
use std::path::{Path, PathBuf};

use types::PartitionId;

/// Why a partition of the view could not serve a read or a write.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// Bytes on disk are not what was written. Stop the partition, keep the bytes, call an operator.
    #[error("the view of partition {partition} is damaged in {}: {detail}", file.display())]
    Damaged { partition: PartitionId, file: PathBuf, detail: String },

    /// The disk has no room for more tables. Nothing was written and nothing is lost: try again later.
    #[error(
        "the disk has no room for the view of partition {partition}: {free_bytes} of {needed_bytes} bytes"
    )]
    Full { partition: PartitionId, free_bytes: u64, needed_bytes: u64 },

    /// The disk failed. After a failed flush or sync the process must stop and recover: see [`crate::OnFailure`].
    #[error("{attempt} for the view of partition {partition} failed: {detail}")]
    Io { partition: PartitionId, attempt: &'static str, kind: io::ErrorKind, detail: String },

    /// The partition is not open here, or the view was closed.
    #[error("the view of partition {partition} is not open")]
    Closed { partition: PartitionId },
}

/// Why a view could not be opened at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has locked the directory.
    #[error("the view in {} is in use by another process", dir.display())]
    InUse { dir: PathBuf },

    #[error("opening the view in {} failed", dir.display())]
    Io { dir: PathBuf, source: io::Error },
}

/// Why a page could not be listed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ListError {
    /// This view did not create the cursor for this query.
    #[error("the cursor does not belong to this query")]
    BadCursor,

    #[error(transparent)]
    View(#[from] Error),
}

impl Error {
    pub(crate) fn damaged(partition: PartitionId, file: &Path, detail: impl Into<String>) -> Error {
        Error::Damaged { partition, file: file.to_owned(), detail: detail.into() }
    }

    pub(crate) fn io(partition: PartitionId, attempt: &'static str, error: &io::Error) -> Error {
        Error::Io { partition, attempt, kind: error.kind(), detail: error.to_string() }
    }

    /// Classifies an error of the tree under `dir`: a file that ends early, is missing or fails a check is damage.
    pub(crate) fn of_tree(
        partition: PartitionId,
        dir: &Path,
        attempt: &'static str,
        error: lsm_tree::Error,
    ) -> Error {
        match error {
            lsm_tree::Error::Io(error) if !is_damage(error.kind()) => Error::io(partition, attempt, &error),
            lsm_tree::Error::Io(error) => Error::damaged(partition, dir, format!("{attempt}: {error}")),
            error => Error::damaged(partition, dir, format!("{attempt}: {error:?}")),
        }
    }
}

fn is_damage(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound | io::ErrorKind::InvalidData)
}
