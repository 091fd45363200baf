//! The words every part of Sortie shares: ids, time, partitions, retry policies, the plan of a workflow.

pub mod id;
pub mod outcome;
pub mod partition;
pub mod plan;
pub mod retry;
pub mod status;
pub mod time;

pub use id::{BodyHash, InvalidName, Key, RunId, ServiceName, StepName, WorkflowName};
pub use outcome::Outcome;
pub use partition::{Epoch, PartitionId, Seq};
pub use plan::{Plan, PlanStep, StepIndex, Work};
pub use retry::Retry;
pub use status::RunStatus;
pub use time::{Span, Timestamp};
