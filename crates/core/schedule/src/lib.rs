//! The documents of jobs and collections: what clients write, what is stored of it, what they read back.

pub mod action;
mod authentication;
mod collection;
mod cron;
mod crontab;
mod date;
mod duration;
mod filter;
mod history;
mod job;
mod limits;
mod merge;
mod plan;
mod preview;
mod problem;
mod region;
mod resource;
mod saying;
mod shape;
mod shapes;
pub mod spelling;
pub mod timing;
mod view;
mod zone;

pub use action::{Action, ActionCall, ActionTarget};
pub use authentication::{Authentication, CertificateFacts, Secret};
pub use collection::{
    CollectionDocument, CollectionPatch, CollectionProperties, FrontEnd, MaxRecurrence, Quota, Sku,
    read_collection, read_collection_patch,
};
pub use crontab::{CronLine, CrontabOptions, read_crontab};
pub use date::{Date, Moment};
pub use duration::Duration;
pub use filter::{parse_history_filter, parse_job_filter};
pub use history::{HistoryRecord, HistoryView, history_id, parse_history_id};
pub use job::{JobDocument, JobPatch, read_job, read_job_patch};
pub use limits::Limits;
pub use preview::{Preview, read_preview};
pub use problem::{Problem, Problems};
pub use region::{SCHEDULER_REGIONS, display_name};
pub use resource::{
    COLLECTION_TYPE, HISTORY_TYPE, JOB_TYPE, Resource, ResourceIdentity, ResourcePage, Scope, identity,
};
pub use saying::When;
pub use shapes::{action_members, secret_members};
pub use spelling::{ActionName, ActionType, CollectionState, HistoryStatus, Plan, QuotaFrequency};
pub use view::{Dialect, JobStatus, JobView};
