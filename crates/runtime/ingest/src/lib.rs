//! Ingest: acknowledges a request only when it is on stable storage, and refuses it when there is too much.
//!
//! It knows the journal and nothing of the engine: it accepts requests also while the engine stalls.
//!
//! A request passes four stages, each with a type of its own:
//!
//! | stage | type | what is known | made by |
//! |---|---|---|---|
//! | incoming | [`IncomingRequest`] | the body, and the ids of path and header | the caller, after [`Ingest::admit`] |
//! | located | [`LocatedRequest`] | the body fits the workflow; id, key and partition | [`Ingest::locate`] |
//! | reserved | `ReservedRequest` | no other request has the id; the record for the journal | [`Ingest::submit`] |
//! | durable | [`DurableRequest`] | the record is on stable storage: acknowledged | [`Ingest::submit`] |
//!
//! A request whose partition another instance owns is found out by [`Ingest::locate`], before anything is reserved: it
//! comes back as a [`RemoteRequest`], and the caller forwards it.

mod admission;
mod batch;
mod error;
mod identity;
mod ingest;
pub mod limits;
mod locate;
mod metrics;
mod request;
mod submit;

pub use admission::{Admission, Refusal, RefusalReason};
pub use batch::{LineAnswer, LocatedBatch, RemoteLine};
pub use error::SubmitError;
pub use ingest::{Admitted, Ingest};
pub use metrics::{IngestReading, Metrics};
pub use request::{
    DurableRequest, IncomingRequest, LocatedRequest, Location, RemoteRequest, Sender, WorkflowVersion,
};
