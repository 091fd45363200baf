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
    Answer, Client, Identity, InvalidIdentity, Request, Resolver, Resolving, Settings, SystemResolver,
};
pub use egress::{Cidr, Egress};
pub use fault::{Fault, Stage};
pub use headers::{TraceParent, call_headers};
pub use job::{
    JobCall, JobCaller, JobOrders, JobSettings, Part, StartError, StartRequest, Starter, Starting,
};
pub use perform::Performer;
pub use post::{Place, Post, PostError, Posting};
pub use send::Sender;
pub use service::{
    Attempt, BreakerState, Counts, Override, Permit, ServicePool, ServiceSettings, Snapshot, Verdict,
};
pub use shown::{Shown, ShownCall, ShownMessage};
pub use sort::{Sorted, sort};
pub use url::Url;
