//! The HTTP edge: requests, queries and commands in, answers and problems out.

pub mod access;
mod api;
mod azure;
mod body;
mod bus;
mod carry;
mod concern;
mod desk;
mod entrance;
mod errand;
mod error;
mod etag;
mod gather;
mod holds;
mod jobs;
pub mod limits;
mod listing;
mod lookup;
mod merge;
mod openapi;
mod own_route;
mod passage;
mod patience;
mod peer;
mod queues;
mod region;
mod routes;
mod serve;
mod show;

pub use access::{Access, Right, Role, SharedKey, Token};
pub use api::{Api, Parts};
pub use bus::MESSAGE_TYPE;
pub use passage::{FORWARDED, NoPassage, PassError, Passage, Passing};
pub use peer::{PEER, PeerSecret};
pub use region::{Asked, RegionDesk, RegionRefusal, StandingBy};
pub use serve::{Server, serve};
