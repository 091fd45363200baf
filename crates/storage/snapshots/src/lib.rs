//! Snapshot stores that all instances reach: a bucket of objects in NATS, a shared directory, an object store in a cloud.
//!
//! A snapshot is a manifest and the objects that it names. An object is never overwritten with other content, and the
//! manifest is written last, so that a reader finds a complete snapshot or none. Names contain the epoch of the owner that
//! wrote them, so a fenced owner can neither replace nor delete what its successor has written.
//!
//! A snapshot that is stored when `put` returns survives the loss of the instance; how many servers or disks it survives
//! depends on the store. Requests are retried for a few seconds (`retrying`). A snapshot that could not be stored costs
//! nothing but room: the journal is trimmed only after a snapshot is stored. A damaged object is an error that names it.

pub mod address;
pub mod bucket;
#[cfg(feature = "cloud")]
pub mod cloud;
pub mod directory;
mod files;
mod manifest;
pub mod memory;
mod remembered;
mod retrying;
pub mod store;
pub mod stored;
