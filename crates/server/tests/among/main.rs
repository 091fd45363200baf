//! Several instances over one journal: whichever is asked, the answer is the same.

#![allow(clippy::unwrap_used)]

mod batches;
mod bulk;
mod calls;
#[path = "../it/client.rs"]
mod client;
mod lists;
mod missing;
mod overviews;
mod routes;
mod sources;
mod world;
