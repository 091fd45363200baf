//! The client of Sortie's API, typed: start runs and wait for them, decide, keep jobs, send and receive messages.
//!
//! ```no_run
//! # async fn deliver() -> Result<(), client::Error> {
//! use std::time::Duration;
//!
//! use client::Sortie;
//! use serde_json::json;
//!
//! let sortie = Sortie::connect("http://127.0.0.1:7070")?;
//! let run = sortie.start("notify", &json!({ "to": "ann" })).id("notice-7").send().await?;
//! let ended = sortie.wait(&run.id, Duration::from_secs(30)).await?;
//! println!("{} is {}", run.id, ended.summary.status);
//! # Ok(())
//! # }
//! ```
//!
//! Everything that is safe to repeat is repeated when the server is busy or cannot be reached, a few times, with
//! growing pauses: see [`Retries`]. A run and a message that are given no id get one here, so that handing them in
//! twice does nothing twice.

mod error;

mod call;
mod http;
mod tls;

mod retries;
mod sortie;

mod jobs;
mod messages;
mod queues;
mod runs;
mod workflows;

pub use api_types::{
    AppliedView, DecisionKind, DecisionRequest, FieldError, Problem, QueueView, RunDetail, RunSummary, Time,
    WorkflowView,
};
pub use call::{Answer, Call, path, query};
pub use error::Error;
pub use http::Http;
pub use messages::{Message, Outgoing, Receive};
pub use retries::Retries;
pub use runs::{RunQuery, Runs, Start};
pub use sortie::Sortie;
pub use types::{RunStatus, Span};
