//! Who calls, and what they may do: tokens and keys of clients, and the secret that instances share.

pub mod access;
pub(crate) mod peer;
mod route;

pub(crate) use route::{Authorized, queue_path};
