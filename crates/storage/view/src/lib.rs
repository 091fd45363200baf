//! The view: state folded from the journal that does not fit in memory. Ended runs, ids seen,
//! jobs and their collections, messages of queues, indexes.
//!
//! One log-less LSM tree per partition, under `<dir>/p-00000/`; the journal is its write-ahead log:
//!
//! 1. The partition's owner writes ended runs ([`View::put_ended`]) and changes of jobs; nothing of it is durable yet.
//! 2. It takes a snapshot of its state at journal sequence S and calls [`View::flush`] with S. When that
//!    returns, all that was written before is on stable storage, and so is S itself ([`View::flushed_through`]).
//! 3. Only then is the journal trimmed below S.
//!
//! After a crash the owner replays the journal from its snapshot and writes the same entries again; writing an
//! entry twice is the same as writing it once. When `flushed_through` is `None` or lower than where the journal
//! begins, the tree (or its directory) was lost: the journal cannot fill the gap, so the owner must refuse to
//! serve the partition until the view is restored from a backup or an operator gives it up
//! ([`View::set_aside`]). The view itself cannot distinguish a lost tree from a new one.
//!
//! When several machines share the journal, the tables are stored with the snapshots: [`View::checkpoint`] instead of
//! [`View::flush`], and the next owner starts with [`View::discard`] and [`View::adopt`].

mod background;
mod check;
mod cursor;
mod error;
mod ids;
mod jobs;
mod keys;
mod limits;
mod list;
mod partition;
mod queues;
mod retention;
mod room;
mod run;
mod view;

pub use error::{Error, ListError, OpenError};
pub use ids::{IdEntry, IdReservation, Ids, PartitionState, WaitingClient};
pub use jobs::{CollectionRow, JobRows};
pub use limits::PAGE_ROWS_MAX;
pub use list::{ListPosition, RunPage, RunQuery};
pub use retention::Forgotten;
pub use run::{EndedRun, RunSummary};
pub use view::{OnFailure, PartitionSizes, Settings, Sizes, Staging, View};
