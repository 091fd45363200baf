//! The journal on a local disk: one log for all partitions, one writer, one sync for all waiting requests.
//!
//! Read from the bytes up: [`format`] is the layout on disk, [`log`] writes and recovers it without threads over a
//! [`disk`], and [`DiskJournal`] adds a writer thread and a segment preparer thread, or a [`ManualWriter`].

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
