//! What snapshots ask of a store of objects, and no more: a directory, a bucket in NATS, a cloud's.

use std::time::Duration;

use bytes::Bytes;

/// An object could not be put, read, listed or deleted now; asking again may help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{attempt} {name}: {detail}")]
pub struct StoreError {
    pub attempt: &'static str,
    pub name: String,
    pub detail: String,
}

impl StoreError {
    pub fn new(attempt: &'static str, name: &str, error: impl std::fmt::Display) -> StoreError {
        StoreError { attempt, name: name.to_owned(), detail: error.to_string() }
    }
}

/// Objects by name. Names are made of letters, digits, `-`, `_` and `.`, in parts that `/` separates.
pub trait Store: Send + Sync + 'static {
    /// Stores an object, all of it or nothing: it is durable when this returns. One of the same name is replaced.
    fn put(&self, name: &str, bytes: Bytes) -> impl Future<Output = Result<(), StoreError>> + Send;

    fn get(&self, name: &str) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;

    /// The names of all objects that begin with `prefix`, which ends with `/`. What was put before is among them.
    fn list(&self, prefix: &str) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Deletes an object; one that is not there is as good.
    fn delete(&self, name: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Deletes what was begun, or nearly deleted, longer ago than this, and is not an object: its writer has died.
    fn sweep(&self, age: Duration) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = age;
        async { Ok(()) }
    }
}
