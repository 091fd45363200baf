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
mod render;
mod schema;
mod source;
mod template;
mod yaml;

pub use action::{Action, HttpAction, Service};
pub use context::{Ending, ExpressionContext};
pub use definition::{Accept, AcceptProblem, BodyProblem, Definition, Taken};
pub use describe::{Description, StepDescription};
pub use inline::{InlineError, inline_files};
pub use judge::ResponseVerdict;
pub use message::{MessageAction, RenderedMessage};
pub use parse::RESERVED_ROUTES;
pub use render::{RenderError, RenderedAction, RenderedCall};
pub use schema::SchemaProblem;
pub use source::Source;
pub use types::problem::{Problem, Problems, did_you_mean};
