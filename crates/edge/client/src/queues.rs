//! Queues as they are kept: make, see, delete.

use api_types::QueueView;
use serde::Serialize;

use crate::call::{Call, path};
use crate::error::Error;
use crate::sortie::{JSON, Sortie, body};

impl Sortie {
    /// Creates a queue, or replaces its settings; its messages stay. `{}` takes every default.
    pub async fn put_queue(
        &self,
        queue: &str,
        settings: &(impl Serialize + ?Sized),
    ) -> Result<QueueView, Error> {
        let call = Call::put(path("/v1/queues/{}", &[queue]), JSON, body(settings)?);
        self.send(call.repeatable()).await?.value()
    }

    /// A queue with its counts.
    pub async fn queue(&self, queue: &str) -> Result<QueueView, Error> {
        self.get(&path("/v1/queues/{}", &[queue])).await
    }

    /// Deletes a queue with all its messages.
    pub async fn delete_queue(&self, queue: &str) -> Result<(), Error> {
        self.send(Call::delete(path("/v1/queues/{}", &[queue]))).await.map(drop)
    }
}
