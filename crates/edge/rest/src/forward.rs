//! Requests that other instances answer: who owns what a request is about, and how it gets there and back.

pub(crate) mod buffered_request;
mod gather;
mod lookup;
mod merge;
mod owner;
pub(crate) mod partition_set;
pub(crate) mod peer_client;
pub(crate) mod scope;
