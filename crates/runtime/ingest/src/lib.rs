//! Ingest: acknowledges a request only when it is on stable storage, and refuses it when there is too much.
//!
//! It knows the journal and nothing of the engine: it accepts requests also while the engine stalls.

mod admission;
mod batch;
mod identity;
pub mod limits;
mod metrics;
mod submit;

pub use admission::{Admission, Refusal, RefusalReason};
pub use batch::BatchLine;
pub use metrics::{IngestReading, Metrics};
pub use submit::{Admitted, Elsewhere, Ingest, Offer, SubmitError, Submitted, Target};
