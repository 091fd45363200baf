//! A store in NATS itself: a bucket of objects, as every client of NATS reads it.
//!
//! Everything that decides is asked of the stream's leader: a replica that lags behind would show an older manifest as
//! the newest, so nothing is read directly and names are listed from the leader's subjects.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::object_store::{InfoErrorKind, ObjectStore};
use async_nats::jetstream::stream::{Config, DiscardPolicy, LastRawMessageErrorKind, StorageType, Stream};
use async_nats::jetstream::{self, object_store};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use tokio::io::AsyncReadExt;

use crate::store::{Store, StoreError};
use journal_nats::layout::{EDIT, MADE_SO, TRIES_MAX};
use journal_nats::{OpenError, WireError, ask_again};

/// The longest that an object may take to be stored: 64 MiB at half a megabyte a second.
const PUT_PATIENCE: Duration = Duration::from_secs(120);

/// The longest that the next part of an object may take: a replica that has lost one never sends it, and the next try
/// may meet another replica.
const PART_PATIENCE: Duration = Duration::from_secs(10);

/// Objects in a bucket of NATS.
#[derive(Clone)]
pub struct Bucket {
    name: String,
    objects: ObjectStore,
    stream: Stream,
    /// Parts that belonged to no object when it was last looked.
    // A lock: taken out and put back, never held.
    strays: Arc<Mutex<BTreeSet<String>>>,
}

impl Bucket {
    /// Opens the bucket, or makes it with so many replicas. One that is there and keeps objects on fewer servers, or in
    /// memory, is refused: without its snapshots the journal is not whole.
    pub async fn open(
        context: &jetstream::Context,
        name: &str,
        replicas: usize,
    ) -> Result<Bucket, OpenError> {
        let stream_name = format!("OBJ_{name}");
        let config = Config {
            name: stream_name.clone(),
            subjects: vec![format!("$O.{name}.C.>"), format!("$O.{name}.M.>")],
            storage: StorageType::File,
            num_replicas: replicas,
            discard: DiscardPolicy::New,
            allow_rollup: true,
            allow_direct: false,
            ..Config::default()
        };
        let found_or_made = ask_again(TRIES_MAX, || {
            let making = context.get_or_create_stream(config.clone());
            OpenError::made(&stream_name, making, |error| OpenError::of_making(&stream_name, error))
        });
        let stream = found_or_made.await??;
        check(&stream.cached_info().config, replicas)?;
        let objects = context.get_object_store(name).await;
        let objects = objects.map_err(|error| WireError(format!("opening the bucket {name}: {error}")))?;
        Ok(Bucket { name: name.to_owned(), objects, stream, strays: Arc::default() })
    }

    /// The subject of what is said about an object.
    fn meta(&self, name: &str) -> String {
        self.meta_of(&URL_SAFE.encode(name))
    }

    fn meta_of(&self, encoded: &str) -> String {
        format!("$O.{}.M.{encoded}", self.name)
    }

    async fn info(&self, name: &str) -> Result<Option<object_store::ObjectInfo>, StoreError> {
        match self.objects.info(name).await {
            Ok(info) => Ok((!info.deleted).then_some(info)),
            Err(error) if error.kind() == InfoErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::new("looking for", name, error)),
        }
    }

    /// The subjects below one, by what follows it, as the leader has them.
    async fn below(&self, subject: &str) -> Result<Vec<String>, StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::new("listing", subject, error);
        let subjects = self.stream.info_with_subjects(format!("{subject}>")).await;
        let subjects: Vec<(String, usize)> =
            subjects.map_err(|error| failed(&error))?.try_collect().await.map_err(|error| failed(&error))?;
        Ok(subjects.iter().filter_map(|(found, _)| found.strip_prefix(subject)).map(str::to_owned).collect())
    }

    /// The last message of a subject, as the leader has it, if there is one.
    async fn last(&self, subject: &str) -> Result<Option<StreamMessage>, StoreError> {
        match self.stream.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(StoreError::new("looking for", subject, error)),
        }
    }

    /// The parts of objects that belong to none.
    async fn strays(&self) -> Result<BTreeSet<String>, StoreError> {
        // Parts first: what is said of an object comes last.
        let mut strays: BTreeSet<_> = self.below(&self.parts("")).await?.into_iter().collect();
        let objects = self.below(&self.meta_of("")).await?;
        // Every object has parts, so that there is nothing to be looked for most of the time.
        if strays.len() <= objects.len() {
            return Ok(BTreeSet::new());
        }
        for object in objects {
            let Some(said) = self.last(&self.meta_of(&object)).await? else { continue };
            // What cannot be read may name any of them.
            let info: object_store::ObjectInfo = serde_json::from_slice(&said.payload)
                .map_err(|error| StoreError::new("reading what is said of", &object, error))?;
            strays.remove(&info.nuid);
        }
        Ok(strays)
    }

    /// The subject of the parts of an object.
    fn parts(&self, nuid: &str) -> String {
        format!("$O.{}.C.{nuid}", self.name)
    }

    async fn read(&self, name: &str, size: usize) -> Result<Bytes, StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::new("reading", name, error);
        let mut object = self.objects.get(name).await.map_err(|error| failed(&error))?;
        let mut bytes = BytesMut::with_capacity(size);
        loop {
            let read = tokio::time::timeout(PART_PATIENCE, object.read_buf(&mut bytes)).await;
            if read.map_err(|late| failed(&late))?.map_err(|error| failed(&error))? == 0 {
                return Ok(bytes.freeze());
            }
        }
    }
}

/// What is there counts, and not what was asked for.
fn check(found: &Config, replicas: usize) -> Result<(), OpenError> {
    let stream = found.name.clone();
    if found.storage != StorageType::File {
        let (found, asked) = ("memory".to_owned(), "file".to_owned());
        return Err(OpenError::Stream { stream, field: "storage", found, asked, fix: MADE_SO.to_owned() });
    }
    if found.num_replicas != replicas {
        let (found, asked) = (found.num_replicas.to_string(), replicas.to_string());
        return Err(OpenError::Stream { stream, field: "num_replicas", found, asked, fix: EDIT.to_owned() });
    }
    Ok(())
}

impl Store for Bucket {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let mut reader = bytes.as_ref();
        let put = tokio::time::timeout(PUT_PATIENCE, self.objects.put(name, &mut reader)).await;
        match put {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(StoreError::new("putting", name, error)),
            Err(late) => Err(StoreError::new("putting", name, late)),
        }
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let Some(info) = self.info(name).await? else { return Ok(None) };
        self.read(name, info.size).await.map(Some)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let decode = |encoded: String| {
            let name = URL_SAFE.decode(encoded).ok()?;
            String::from_utf8(name).ok().filter(|name| name.starts_with(prefix))
        };
        Ok(self.below(&self.meta_of("")).await?.into_iter().filter_map(decode).collect())
    }

    /// What is said about it goes first and leaves no trace, so that names do not pile up; then its parts. So whoever
    /// finds an object finds it whole; parts that stay, because this is cut short, are swept away.
    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::new("deleting", name, error);
        let info = self.info(name).await?;
        self.stream.purge().filter(self.meta(name)).await.map_err(|error| failed(&error))?;
        if let Some(info) = info {
            let parts = self.parts(&info.nuid);
            self.stream.purge().filter(parts).await.map_err(|error| failed(&error))?;
        }
        Ok(())
    }

    /// An object that is being stored has young parts. And what one leader does not know of may be known to the next, so
    /// only what belonged to nobody twice goes.
    async fn sweep(&self, age: Duration) -> Result<(), StoreError> {
        let now = self.strays().await?;
        let before =
            std::mem::replace(&mut *self.strays.lock().unwrap_or_else(PoisonError::into_inner), now.clone());
        for stray in now.into_iter().filter(|stray| before.contains(stray)) {
            let parts = self.parts(&stray);
            let Some(last) = self.last(&parts).await? else { continue };
            let stored = UNIX_EPOCH + Duration::from_secs(last.time.unix_timestamp().unsigned_abs());
            if stored.elapsed().unwrap_or_default() < age {
                continue;
            }
            tracing::info!(bucket = self.name, nuid = stray, "parts of an object that was never finished go");
            let purged = self.stream.purge().filter(parts).await;
            purged.map_err(|error| StoreError::new("sweeping", &stray, error))?;
        }
        Ok(())
    }
}
