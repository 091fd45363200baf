//! Ingest: says yes to a request only when it is on stable storage, and no before it would be too much.
//!
//! It knows the journal and nothing of the engine: accepting goes on while the engine stalls.

mod admission;
mod batch;
mod identity;
pub mod limits;
mod metrics;
mod submit;

pub use admission::{Admission, Refusal, RefusalReason};
pub use batch::Line;
pub use metrics::{Metrics, Reading};
pub use submit::{Elsewhere, Ingest, Offer, SubmitError, Submitted, Target};
