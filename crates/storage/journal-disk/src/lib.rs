//! The journal on a local disk: one log for all partitions, one writer, one sync for all that wait.
//!
//! Read from the bytes up: [`format`] is what is on disk, [`log`] writes and recovers it without threads over a
//! [`disk`], and [`DiskJournal`] puts a writer thread and a keeper thread around it, or [`Hands`] that somebody moves.

pub mod disk;
pub mod format;
pub mod index;
pub mod limits;
pub mod log;
pub mod reader;
pub mod segment;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod simdisk;
pub mod snapshots;
pub mod space;

mod disk_journal;
mod manual_writer;
mod queue;
mod segment_preparer;
mod writer;

pub use disk_journal::DiskJournal;
pub use manual_writer::ManualWriter;
pub use settings::{FatalError, OnFatal, Settings, Sync};
