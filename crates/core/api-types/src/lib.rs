//! The JSON of the API: what clients send and what they get back, for the server and every client of it.

// Derived code names this crate by its name, also in here.
extern crate self as api_types;

mod bulk;
mod call;
mod cluster;
mod message;
mod overview;
mod partition;
mod problem;
mod queue;
mod region;
mod run;
mod schema;
mod settings;
mod time;
mod workflow;

pub use api_types_derive::ApiSchema;
pub use bulk::{
    BulkAction, BulkCount, BulkFailed, BulkFailure, BulkList, BulkPreview, BulkRequest, BulkSample,
    BulkSelect, BulkSkipped, BulkState, BulkView,
};
pub use call::{CallView, HeaderView, HttpView, SentMessageView, SentView};
pub use cluster::{ClusterView, HoldingView, InstanceView};
pub use message::{ReceivedMessage, ReceivedProperties, SentMessage, SentProperties};
pub use overview::{
    BacklogView, FiringView, FiringsView, LatencyView, OverviewView, PartitionCounts, RatesView, RegionBrief,
    SeriesView,
};
pub use partition::{ByHandView, Limits, PartitionView, ServiceRequest, ServiceView};
pub use problem::{FieldError, Problem};
pub use queue::{
    CountsView, DeadView, FilterView, MessagePage, MessageView, Moved, NamePage, QueueView, TopicView,
};
pub use region::{
    CheckView, DrillRequest, DrillView, LeasesView, MirrorView, PromoteRequest, PromotedView, RegionView,
    SideView, StreamTailView, TailRequestView, TailView,
};
pub use run::{
    AcceptedRun, BatchAnswer, DecisionRequest, MomentView, RunDetail, RunPage, RunSummary, StepView,
};
pub use schema::{ApiObject, ApiSchema, Components, ObjectSchema, nullable, words};
pub use settings::{SettingView, SettingsView, TokenView};
pub use time::Time;
pub use types::DecisionKind;
pub use workflow::{AppliedView, StepOutline, WorkflowList, WorkflowView};
