//! The runtime: one loop per partition that decides, commits, evolves and acts; and the control partition
//! that contains the workflows and named documents.

pub mod archive;
mod catalog;
mod control;
mod engine;
pub mod jobs;
pub mod limits;
mod metrics;
mod owned_partitions;
mod partition;
pub mod queues;
mod recovery;

pub use catalog::{Catalog, CatalogEntry, Catalogs};
pub use control::{
    Applied, ApplyError, Control, ControlError, DeleteError, DocumentSet, Documents, ExpectedVersion,
    KeepError, StoredDocument,
};
pub use engine::{CommandError, Engine, PartitionInfo, Settings};
pub use metrics::{EngineMetrics, EngineReading};
pub use order::{CallContext, CallOrder, CallSubject, Effects, idempotency_key};
pub use recovery::{RecoveryError, SnapshotStore};
