//! The HTTP edge: requests, queries and commands in, answers and problems out.

pub mod access;
mod api;
mod azure;
mod body;
mod bus;
mod entrance;
mod error;
mod etag;
mod jobs;
pub mod limits;
mod listing;
mod openapi;
mod own_route;
mod patience;
mod queues;
mod region;
mod routes;
mod serve;
mod show;

pub use access::{Access, Right, Role, SharedKey, Token};
pub use api::{Api, Parts};
pub use region::{Asked, RegionDesk, RegionRefusal, StandingBy};
pub use serve::{Server, serve};
