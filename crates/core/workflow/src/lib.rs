//! Workflow definitions: read, checked, compiled; and the requests and verdicts that come of them.

mod action;
mod context;
mod definition;
mod describe;
pub mod document;
mod expression;
mod inline;
pub mod json;
mod judge;
pub mod limits;
mod message;
mod parse;
mod problem;
mod render;
mod schema;
mod source;
mod template;
mod yaml;

pub use action::{Action, HttpAction, Service};
pub use context::{Context, Ending};
pub use definition::{Accept, AcceptProblem, BodyProblem, Definition, Taken};
pub use describe::{Description, StepDescription};
pub use inline::{InlineError, inline_files};
pub use judge::Verdict;
pub use message::{MessageAction, SendTo, Sending, Transport};
pub use problem::{Problem, Problems, did_you_mean};
pub use render::{RenderError, Rendered, Request};
pub use schema::SchemaProblem;
pub use source::{Source, Stream};
