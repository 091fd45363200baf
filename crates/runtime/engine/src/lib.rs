//! The runtime: one loop per partition that decides, commits, evolves and acts; and the control partition
//! that holds the workflows, and documents beside them.

pub mod archive;
mod catalog;
mod control;
mod engine;
mod holdings;
pub mod jobs;
pub mod limits;
mod metrics;
mod order;
mod partition;
pub mod queues;
mod recovery;

pub use catalog::{Catalog, Catalogs, Entry};
pub use control::{
    Applied, ApplyError, Control, ControlError, DeleteError, Document, Documents, Expected, KeepError,
    Shelves,
};
pub use engine::{CommandError, Engine, PartitionInfo, Settings};
pub use metrics::{Metrics, Reading};
pub use order::{CallContext, CallOrder, CallSubject, Effects, Reply, Stop, idempotency_key};
pub use recovery::{Kept, RecoveryError};
