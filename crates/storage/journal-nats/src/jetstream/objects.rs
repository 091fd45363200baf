//! Objects: content of any size in a bucket, as every client of NATS reads it.
//!
//! `async-nats` cuts content into chunks, computes digests and puts them together again. It is
//! not asked which objects exist: names, versions and chunks are listed with requests to the leader of the stream.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_nats::jetstream::object_store::{Object, ObjectStore};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::timeout;

use super::{JetStream, JetStreamError};

/// A bucket of objects in the domain that the client is connected to.
#[derive(Clone)]
pub struct Objects {
    bucket: String,
    store: ObjectStore,
}

/// The content of an object, in order. A chunk that no replica has never arrives: the caller limits the time.
pub struct ObjectReader(Object);

impl AsyncRead for ObjectReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl JetStream {
    /// Opens a bucket of objects that exists.
    pub async fn objects(&self, bucket: &str) -> Result<Objects, JetStreamError> {
        let context = async_nats::jetstream::new(self.nats.clone());
        let store = context.get_object_store(bucket).await;
        let store = store.map_err(|error| JetStreamError::unreachable(&format!("OBJ_{bucket}"), error))?;
        Ok(Objects { bucket: bucket.to_owned(), store })
    }
}

impl Objects {
    /// Stores an object, or replaces the one with this name. It is durable when this returns.
    pub async fn put(
        &self,
        name: &str,
        content: &mut (impl AsyncRead + Unpin),
        limit: Duration,
    ) -> Result<(), JetStreamError> {
        match timeout(limit, self.store.put(name, content)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(self.failed(name, &error)),
            Err(_) => Err(self.failed(name, &"timed out")),
        }
    }

    pub async fn get(&self, name: &str) -> Result<ObjectReader, JetStreamError> {
        let found = self.store.get(name).await;
        found.map(ObjectReader).map_err(|error| self.failed(name, &error))
    }

    fn failed(&self, name: &str, cause: &dyn std::fmt::Display) -> JetStreamError {
        JetStreamError::unreachable(&format!("object {name} of {}", self.bucket), cause)
    }
}
