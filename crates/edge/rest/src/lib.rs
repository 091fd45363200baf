//! The HTTP edge: requests, queries and commands in, answers and problems out.
//!
//! The way of a request, with the type that it has at each stage:
//!
//! 1. `listener` reads the head: `Request<Payload>`, whose body is still arriving.
//! 2. `router` finds what method and path lead to: an `Endpoint`, from the table in `routes/table.rs`, the routes of
//!    workflows, or an adapter for another API (`azure`, `servicebus`).
//! 3. `auth` checks the access that the endpoint declares, before any byte of the body is read.
//! 4. `forward` finds out who answers (`ResolvedScope`): this instance, the owner of one partition or run, or all of them.
//!    A request that may have to be forwarded is read whole: a `BufferedRequest`.
//! 5. The handler beside the route's entry answers, through the handle of what the route is about: `Runs`, `Jobs`, ….
//!
//! A request for a workflow takes the ingest path instead of 4 and 5, because its body says who owns it:
//! `ingest_routes` reads the admitted body into an `ingest::IncomingRequest`; `Ingest::locate` says whether it can be
//! accepted here; then `Ingest::submit` makes it an `ingest::DurableRequest`, or it is forwarded to the owner of its
//! partition. Either way the result is an `Acceptance`.

mod api;
mod auth;
mod azure;
mod body;
mod bulk;
mod error;
mod etag;
mod forward;
mod ingest_routes;
mod jobs;
mod json_member;
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
mod servicebus;
mod services;

pub use api::{Api, Calls, Parts};
pub use auth::access::{Access, Right, Role, SharedKey, Token};
pub use auth::peer::{PEER, PeerSecret};
pub use error::{CODES, Code};
pub use forward::peer_client::{FORWARDED, NoPeers, PeerClient, PeerError, PeerReply};
pub use ingest_routes::{IDEMPOTENCY_KEY, VERSION as WORKFLOW_VERSION};
pub use listener::{Server, serve};
pub use region::{Force, RegionControl, RegionRefusal, RegionReply, StandingBy};
pub use servicebus::{MESSAGE_KIND, MESSAGE_TYPE, kind_word};
pub use services::DOCUMENTS as SERVICE_DOCUMENTS;
