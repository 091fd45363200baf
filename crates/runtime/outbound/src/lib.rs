//! What goes out: calls users' services and sends messages under limits, and says what each answer means.

pub mod client;
pub mod egress;
pub mod fault;
pub mod headers;
pub mod job;
pub mod limits;
mod mask;
pub mod outcome;
mod perform;
mod post;
mod send;
pub mod service;
mod shown;
pub mod sign_in;
pub mod sort;
pub mod url;

pub use client::{
    Client, ClientIdentity, InvalidIdentity, OutboundRequest, Resolver, Resolving, ServiceResponse, Settings,
    SystemResolver,
};
pub use egress::{Cidr, Egress};
pub use fault::{Fault, Stage};
pub use headers::{TraceParent, call_headers};
pub use job::{
    ActionPart, JobCall, JobCaller, JobOrders, JobSettings, StartError, StartRequest, Starter, Starting,
};
pub use perform::Performer;
pub use post::{Post, PostError, PostTarget, Posting};
pub use send::Sender;
pub use service::{
    AttemptKind, BreakerState, CallVerdict, Counts, Override, Permit, ServicePool, ServiceSettings, Snapshot,
};
pub use shown::{CallPreview, HttpPreview, MessagePreview};
pub use sort::{Sorted, sort};
pub use url::Url;
