//! Snapshot stores that every machine reaches: a bucket of objects in NATS, a shared directory, a cloud's object store.
//!
//! A snapshot is a manifest and the objects that it names. An object is never overwritten with other content and a manifest
//! is written last, so that a reader finds a whole snapshot or none. Names contain the epoch of the owner that wrote them:
//! a fenced owner can neither replace nor delete what its successor has written.

pub mod address;
pub mod bucket;
#[cfg(feature = "cloud")]
pub mod cloud;
pub mod directory;
mod files;
mod manifest;
pub mod memory;
mod patient;
mod remembered;
pub mod store;
pub mod stored;
