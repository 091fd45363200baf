//! A snapshot store in NATS: a bucket of objects.
//!
//! Everything that decides is asked of the stream's leader: a lagging replica would present an older manifest as the
//! newest. So direct reads are off, and names are listed from the leader's subjects.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bytes::{Bytes, BytesMut};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt;

use crate::store::{Store, StoreError};
use journal_nats::OpenError;
use journal_nats::jetstream::{JetStream, JetStreamError, Objects, StoredMessage};
use journal_nats::layout::{self, EDIT, MADE_SO};

/// How long a request about objects may take; listings are longer than other responses.
const RESPONSE_MAX: Duration = Duration::from_secs(5);

/// How long storing an object may take: 64 MiB at half a megabyte a second.
const PUT_MAX: Duration = Duration::from_secs(120);

/// How long the next chunk of an object may take. A replica that has lost a chunk never sends it, and the next attempt may
/// reach another replica.
const CHUNK_MAX: Duration = Duration::from_secs(10);

/// A bucket of objects in NATS. Cheap to clone.
#[derive(Clone)]
pub struct Bucket {
    name: String,
    jetstream: JetStream,
    objects: Objects,
    /// Versions of objects whose chunks belonged to no object at the last sweep.
    // A lock: taken out and put back, never held.
    strays: Arc<Mutex<BTreeSet<String>>>,
}

/// What is stored about an object, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct Meta {
    /// The version of the object, which names its chunks.
    #[serde(default)]
    nuid: String,
    #[serde(default)]
    size: usize,
    #[serde(default)]
    deleted: bool,
}

impl Bucket {
    /// Opens the bucket; creates it with this number of replicas if it does not exist. A bucket with another number of
    /// replicas, or in memory, is refused: without its snapshots the journal is incomplete.
    pub async fn open(jetstream: &JetStream, name: &str, replicas: usize) -> Result<Bucket, OpenError> {
        let jetstream = jetstream.clone().with_response_max(RESPONSE_MAX);
        let config = json!({
            "name": format!("OBJ_{name}"),
            "subjects": [format!("$O.{name}.C.>"), format!("$O.{name}.M.>")],
            "retention": "limits",
            "storage": "file",
            "num_replicas": replicas,
            "discard": "new",
            "max_msgs": -1,
            "max_bytes": -1,
            "max_msgs_per_subject": -1,
            "max_consumers": -1,
            "max_msg_size": -1,
            "allow_rollup_hdrs": true,
            "allow_direct": false,
        });
        let config = config.as_object().cloned().unwrap_or_default();
        let found = layout::find_or_create(&jetstream, &config).await?;
        check(&found, replicas)?;
        let objects = jetstream.objects(name).await?;
        Ok(Bucket { name: name.to_owned(), jetstream, objects, strays: Arc::default() })
    }

    fn stream(&self) -> String {
        format!("OBJ_{}", self.name)
    }

    /// The subject of what is stored about an object.
    fn meta_subject(&self, name: &str) -> String {
        self.encoded_meta_subject(&URL_SAFE.encode(name))
    }

    fn encoded_meta_subject(&self, encoded: &str) -> String {
        format!("$O.{}.M.{encoded}", self.name)
    }

    /// The subject of the chunks of a version of an object.
    fn chunk_subject(&self, nuid: &str) -> String {
        format!("$O.{}.C.{nuid}", self.name)
    }

    /// What is stored about an object, if it exists.
    async fn meta(&self, name: &str) -> Result<Option<Meta>, StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::new("looking for", name, error);
        let last = self.last(&self.meta_subject(name)).await.map_err(|error| failed(&error))?;
        let Some(last) = last else { return Ok(None) };
        let meta: Meta = serde_json::from_slice(&last.data).map_err(|error| failed(&error))?;
        Ok((!meta.deleted).then_some(meta))
    }

    /// The subjects that begin with `prefix`, without it.
    async fn subjects_below(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let found = self.jetstream.info_with_subjects(&self.stream(), &format!("{prefix}>")).await;
        let found = found.map_err(|error| StoreError::new("listing", prefix, error))?;
        Ok(found
            .subjects
            .keys()
            .filter_map(|subject| subject.strip_prefix(prefix))
            .map(str::to_owned)
            .collect())
    }

    /// The last message on a subject, if there is one.
    async fn last(&self, subject: &str) -> Result<Option<StoredMessage>, JetStreamError> {
        self.jetstream.last_message(&self.stream(), subject).await
    }

    async fn purge(&self, subject: &str) -> Result<(), JetStreamError> {
        self.jetstream.purge_subject(&self.stream(), subject).await
    }

    /// The versions whose chunks belong to no object.
    async fn strays(&self) -> Result<BTreeSet<String>, StoreError> {
        // Chunks first: what is stored about an object is written after its chunks.
        let mut strays: BTreeSet<_> =
            self.subjects_below(&self.chunk_subject("")).await?.into_iter().collect();
        let objects = self.subjects_below(&self.encoded_meta_subject("")).await?;
        // Every object has chunks, so that usually there is nothing to look for.
        if strays.len() <= objects.len() {
            return Ok(BTreeSet::new());
        }
        for object in objects {
            let failed = |error: &dyn std::fmt::Display| StoreError::new("looking for", &object, error);
            let last =
                self.last(&self.encoded_meta_subject(&object)).await.map_err(|error| failed(&error))?;
            let Some(last) = last else { continue };
            // An entry that cannot be read may name any version.
            let meta: Meta = serde_json::from_slice(&last.data).map_err(|error| failed(&error))?;
            strays.remove(&meta.nuid);
        }
        Ok(strays)
    }

    async fn read(&self, name: &str, size: usize) -> Result<Bytes, StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::new("reading", name, error);
        let mut object = self.objects.get(name).await.map_err(|error| failed(&error))?;
        let mut bytes = BytesMut::with_capacity(size);
        loop {
            let read = tokio::time::timeout(CHUNK_MAX, object.read_buf(&mut bytes)).await;
            if read.map_err(|late| failed(&late))?.map_err(|error| failed(&error))? == 0 {
                return Ok(bytes.freeze());
            }
        }
    }
}

/// The configuration that was found counts, not the one that was asked for.
fn check(found: &Map<String, Value>, replicas: usize) -> Result<(), OpenError> {
    let text = |field: &str| match found.get(field) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let wanted = [("storage", "file".to_owned(), MADE_SO), ("num_replicas", replicas.to_string(), EDIT)];
    for (field, asked, fix) in wanted {
        let found = text(field);
        if found != asked {
            return Err(OpenError::Stream { stream: text("name"), field, found, asked, fix: fix.to_owned() });
        }
    }
    Ok(())
}

impl Store for Bucket {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let put = self.objects.put(name, &mut bytes.as_ref(), PUT_MAX).await;
        put.map_err(|error| StoreError::new("putting", name, error))
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let Some(meta) = self.meta(name).await? else { return Ok(None) };
        self.read(name, meta.size).await.map(Some)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let decode = |encoded: String| {
            let name = URL_SAFE.decode(encoded).ok()?;
            String::from_utf8(name).ok().filter(|name| name.starts_with(prefix))
        };
        let objects = self.subjects_below(&self.encoded_meta_subject("")).await?;
        Ok(objects.into_iter().filter_map(decode).collect())
    }

    /// The entry of an object is deleted first, without a trace, so that names do not accumulate; then its chunks. So an
    /// object that is found is complete. Chunks that stay behind after an interruption are swept.
    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        let failed = |error: JetStreamError| StoreError::new("deleting", name, error);
        let meta = self.meta(name).await?;
        self.purge(&self.meta_subject(name)).await.map_err(failed)?;
        match meta {
            Some(meta) => self.purge(&self.chunk_subject(&meta.nuid)).await.map_err(failed),
            None => Ok(()),
        }
    }

    /// An upload in progress has young chunks. And a new leader may know of an object that the last one did not know: only
    /// versions that belonged to no object twice are deleted.
    async fn sweep(&self, age: Duration) -> Result<(), StoreError> {
        let now = self.strays().await?;
        let before =
            std::mem::replace(&mut *self.strays.lock().unwrap_or_else(PoisonError::into_inner), now.clone());
        for stray in now.into_iter().filter(|stray| before.contains(stray)) {
            let failed = |error: JetStreamError| StoreError::new("sweeping", &stray, error);
            let chunks = self.chunk_subject(&stray);
            let Some(last) = self.last(&chunks).await.map_err(failed)? else { continue };
            let stored_at = last.stored_at().unwrap_or_else(SystemTime::now);
            if stored_at.elapsed().unwrap_or_default() < age {
                continue;
            }
            tracing::info!(bucket = self.name, nuid = stray, "deleting chunks of an incomplete upload");
            self.purge(&chunks).await.map_err(failed)?;
        }
        Ok(())
    }
}
