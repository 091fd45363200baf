//! The HTTP edge: requests, queries and commands in, answers and problems out.
//!
//! A request passes the listener, the router with its table of routes, and access control; then it is answered here or
//! forwarded to the instance that owns what it is about.

mod api;
mod auth;
mod azure;
mod body;
mod bulk;
mod bus;
mod error;
mod etag;
mod forward;
mod ingest_routes;
mod jobs;
pub mod limits;
mod listener;
mod openapi;
mod overview;
mod own_route;
mod pages;
mod queues;
mod readiness;
mod region;
mod router;
mod routes;
mod runs;
mod services;

pub use api::{Api, Calls, Parts};
pub use auth::access::{Access, Right, Role, SharedKey, Token};
pub use auth::peer::{PEER, PeerSecret};
pub use bus::{MESSAGE_KIND, MESSAGE_TYPE, kind_word};
pub use error::{CODES, Code};
pub use forward::peer_client::{FORWARDED, NoPeers, PeerClient, PeerError, PeerReply};
pub use ingest_routes::{IDEMPOTENCY_KEY, VERSION as WORKFLOW_VERSION};
pub use listener::{Server, serve};
pub use pages::{Ask, Asking, Pages, PagesAnswer};
pub use region::{Force, RegionControl, RegionRefusal, RegionReply, StandingBy};
pub use services::SHELF as SERVICES_SHELF;
