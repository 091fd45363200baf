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
// What a module makes public is a part of the API: a type is declared there, and nowhere again.
pub use bulk::*;
pub use call::*;
pub use cluster::*;
pub use message::*;
pub use overview::*;
pub use partition::*;
pub use problem::*;
pub use queue::*;
pub use region::*;
pub use run::*;
pub use schema::{ApiObject, ApiSchema, Components, ObjectSchema, nullable, words};
pub use settings::*;
pub use time::Time;
pub use types::DecisionKind;
pub use workflow::*;
