//! The words every part of Sortie shares: ids, time, partitions, retry policies, the plan of a workflow.

mod azure;
pub mod cron;
pub mod decision;
pub mod id;
pub mod job;
pub mod message;
pub mod outcome;
pub mod partition;
pub mod plan;
pub mod problem;
pub mod queue;
pub mod retry;
pub mod schedule;
pub mod status;
pub mod time;

pub use azure::azure_pair;
pub use cron::Cron;
pub use decision::DecisionKind;
pub use id::{BodyHash, InvalidName, Key, QueueName, RunId, ServiceName, StepName, WorkflowName};
pub use job::{CollectionSpec, JOB_WORKFLOW, JobRef, JobSpec, JobState, Missed, Overlap, Uid};
pub use message::{Message, Property};
pub use outcome::{Outcome, OutcomeKind};
pub use partition::{Epoch, PartitionId, Seq};
pub use plan::{Notice, Plan, PlanStep, StepIndex, Work, WorkKind};
pub use problem::{At, Problem, Problems, Report, did_you_mean};
pub use queue::{Filter, QueueSpec, TopicSpec};
pub use retry::Retry;
pub use schedule::{Frequency, Gap, Monthly, Recurrence, Repeat, Rule, Schedule, Timing, WeekDay};
pub use status::RunStatus;
pub use time::{Span, Ticks, Timestamp};
