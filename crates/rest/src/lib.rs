//! The HTTP edge: requests, queries and commands in, answers and problems out.

pub mod access;
mod api;
mod azure;
mod body;
mod entrance;
mod error;
mod etag;
mod jobs;
pub mod limits;
mod listing;
mod openapi;
mod own_route;
mod patience;
mod routes;
mod serve;
mod show;

pub use access::{Access, Role, Token};
pub use api::{Api, Parts};
pub use serve::{Server, serve};
