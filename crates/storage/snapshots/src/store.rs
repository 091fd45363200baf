//! What snapshots need of an object store: a directory, a bucket in NATS, a bucket in a cloud.

use std::time::Duration;

use bytes::Bytes;

/// An object could not be stored, read, listed or deleted; another attempt may succeed.
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

/// Objects by name. Names consist of letters, digits, `-`, `_` and `.`, in parts separated by `/`.
pub trait Store: Send + Sync + 'static {
    /// Stores an object atomically, replacing one with the same name. It is durable when this returns.
    fn put(&self, name: &str, bytes: Bytes) -> impl Future<Output = Result<(), StoreError>> + Send;

    fn get(&self, name: &str) -> impl Future<Output = Result<Option<Bytes>, StoreError>> + Send;

    /// The names of all objects that begin with `prefix`, which ends with `/`. Objects that were stored before are listed.
    fn list(&self, prefix: &str) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Deletes an object, if it exists.
    fn delete(&self, name: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Deletes the remains of uploads and deletions that were interrupted longer ago than this.
    fn sweep(&self, age: Duration) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = age;
        async { Ok(()) }
    }
}
