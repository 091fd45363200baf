//! The streams of an installation: created if they are missing, refused if their configuration is not what the journal
//! needs.

mod noted;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use types::PartitionId;

use crate::jetstream::error::{UNAVAILABLE, code};
use crate::jetstream::{JetStream, JetStreamError, name_of, retry};
use crate::limits::{CREATE_ATTEMPTS_MAX, CREATE_RESPONSE_MAX};
use crate::names::{self, FENCED};
use crate::nats_journal::Installation;
use crate::open::OpenError;

pub use noted::note_snapshots;

/// Streams that are created concurrently. Each elects a leader.
const AT_ONCE: usize = 8;
/// How long an inbox recognizes a message that it has stored.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
/// The metadata field with the number of partitions, which never changes.
const PARTITIONS: &str = "sortie.partitions";
/// No suitable servers; insufficient resources; insufficient storage.
const NO_STORAGE: [u16; 3] = [code::NO_SUITABLE_SERVERS, 10023, 10047];

/// Creates all streams, or checks those that exist. Mirrors and closed streams pass: a region that is not active has those.
pub async fn ensure(
    jetstream: &JetStream,
    installation: &Installation,
    replicas: usize,
) -> Result<(), OpenError> {
    let wanted = configs(installation, replicas);
    let is_inbox = |config: &Config| names::inbox_of(&installation.name, &config.name).is_some();
    stream::iter(wanted)
        .map(|config| {
            let limit = if is_inbox(&config) { Limit::Adjusted } else { Limit::Fixed };
            ensure_stream(jetstream, config, limit)
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

/// Refuses a bucket of the region's record with fewer replicas than wanted, or in memory: it was created manually, or by an
/// old version.
pub async fn check_region(
    jetstream: &JetStream,
    installation: &Installation,
    replicas: usize,
) -> Result<(), OpenError> {
    let name = format!("KV_{}", names::region_bucket(&installation.name));
    let Some(found) = find_config(jetstream, &name).await? else { return Ok(()) };
    let found = parse(&name, &found)?;
    let wanted = config(name, String::new(), replicas);
    check_kept(&wanted, &found)
}

/// Refuses another number of partitions than the installation was created with. A standby has it in its mirror; with
/// another number it would look for requests in the wrong partitions once it is promoted. Before the mirror exists, the
/// number is unknown.
pub async fn check_partitions(jetstream: &JetStream, installation: &Installation) -> Result<(), OpenError> {
    let wanted = events_config(installation, PartitionId::CONTROL, 1);
    let found = find_config(jetstream, &wanted.name).await?;
    let found =
        found.ok_or_else(|| JetStreamError::NotReady(format!("{} is not mirrored yet", wanted.name)))?;
    check_made_with(&wanted, &parse(&wanted.name, &found)?)
}

/// Whether a stream with this name exists.
pub(crate) async fn exists(jetstream: &JetStream, stream: &str) -> Result<bool, OpenError> {
    Ok(find_config(jetstream, stream).await?.is_some())
}

/// The configuration of a stream, if it exists. Retried, because a stream has no leader while servers start.
async fn find_config(jetstream: &JetStream, stream: &str) -> Result<Option<Map<String, Value>>, OpenError> {
    Ok(retry(CREATE_ATTEMPTS_MAX, || find(jetstream, stream)).await?)
}

/// The configurations of an installation's streams, as JSON of the API: what mirrors become when they are promoted.
pub fn stream_configs(installation: &Installation, replicas: usize) -> Vec<serde_json::Value> {
    let each = configs(installation, replicas).into_iter();
    each.map(|config| serde_json::to_value(config).expect("a configuration can always be written")).collect()
}

/// The configuration of a stream, as the API writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Config {
    name: String,
    #[serde(default)]
    subjects: Vec<String>,
    retention: String,
    storage: String,
    discard: String,
    num_replicas: usize,
    max_age: u64,
    max_msgs: i64,
    max_bytes: i64,
    max_msgs_per_subject: i64,
    max_msg_size: i64,
    #[serde(default)]
    duplicate_window: u64,
    #[serde(default)]
    deny_delete: bool,
    #[serde(default)]
    deny_purge: bool,
    #[serde(default)]
    allow_direct: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persist_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mirror: Option<serde_json::Value>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

/// The configurations of an installation's streams.
fn configs(installation: &Installation, replicas: usize) -> Vec<Config> {
    let each = installation.all_partitions();
    each.flat_map(|partition| {
        [inbox_config(installation, partition, replicas), events_config(installation, partition, replicas)]
    })
    .collect()
}

fn inbox_config(installation: &Installation, partition: PartitionId, replicas: usize) -> Config {
    let name = &installation.name;
    let mut config =
        config(names::inbox_stream(name, partition), names::inbox_subject(name, partition), replicas);
    config.duplicate_window = DUPLICATE_WINDOW.as_nanos() as u64;
    config.max_bytes =
        installation.inbox_bytes_max.map_or(-1, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    config
}

fn events_config(installation: &Installation, partition: PartitionId, replicas: usize) -> Config {
    let name = &installation.name;
    let mut config =
        config(names::events_stream(name, partition), names::events_subject(name, partition), replicas);
    if partition == PartitionId::CONTROL {
        config.metadata.insert(PARTITIONS.to_owned(), installation.partitions.to_string());
    }
    config
}

fn config(name: String, subject: String, replicas: usize) -> Config {
    Config {
        name,
        subjects: vec![subject],
        retention: "limits".to_owned(),
        storage: "file".to_owned(),
        discard: "new".to_owned(),
        num_replicas: replicas,
        max_age: 0,
        max_msgs: -1,
        max_bytes: -1,
        max_msgs_per_subject: -1,
        max_msg_size: -1,
        duplicate_window: DUPLICATE_WINDOW.as_nanos() as u64,
        deny_delete: true,
        deny_purge: false,
        allow_direct: true,
        persist_mode: None,
        mirror: None,
        metadata: BTreeMap::new(),
    }
}

/// What is done about a stream with another `max_bytes` than wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// It is refused: it was changed from outside.
    Fixed,
    /// It is changed: the setting may have changed since the stream was created.
    Adjusted,
}

/// Finds the stream and checks it, or creates it.
async fn ensure_stream(jetstream: &JetStream, wanted: Config, limit: Limit) -> Result<(), OpenError> {
    retry(CREATE_ATTEMPTS_MAX, || find_or_make(jetstream, &wanted, limit)).await?
}

async fn find_or_make(
    jetstream: &JetStream,
    wanted: &Config,
    limit: Limit,
) -> Result<Result<(), OpenError>, JetStreamError> {
    let name = &wanted.name;
    if let Some(found) = find(jetstream, name).await? {
        let config = parse(name, &found)?;
        if let Err(refused) = check(wanted, &config, limit) {
            return Ok(Err(refused));
        }
        // A mirror has no limit, and a closed stream is about to become a mirror.
        let is_open = config.mirror.is_none() && is_opened_as(&config.subjects, &wanted.subjects);
        if is_open && config.max_bytes != wanted.max_bytes {
            set_limit(jetstream, wanted, found).await?;
        }
        return Ok(Ok(()));
    }
    match jetstream.create_within(CREATE_RESPONSE_MAX, wanted).await {
        Ok(created) => Ok(check(wanted, &parse(name, &created.config)?, Limit::Fixed)),
        Err(JetStreamError::Refused { status, code, description, .. })
            if status != UNAVAILABLE && code != code::STREAM_NAME_IN_USE =>
        {
            let mut why = format!("{description} ({code})");
            if NO_STORAGE.contains(&code) && wanted.max_bytes > 0 {
                why = format!(
                    "{why}; it may hold {} bytes: lower inbox_bytes_max, or raise max_file_store of the servers",
                    wanted.max_bytes
                );
            }
            Ok(Err(OpenError::Refused { stream: name.clone(), why }))
        }
        // The servers are starting, or another instance has just created the stream: the next attempt finds it.
        Err(error) => Err(error),
    }
}

/// The configuration of a stream that any client may have created; creates it if it does not exist.
pub async fn find_or_create(
    jetstream: &JetStream,
    wanted: &Map<String, Value>,
) -> Result<Map<String, Value>, OpenError> {
    let name = name_of(wanted);
    let attempt = async || -> Result<Result<Map<String, Value>, OpenError>, JetStreamError> {
        if let Some(found) = find(jetstream, name).await? {
            return Ok(Ok(found));
        }
        match jetstream.create_within(CREATE_RESPONSE_MAX, wanted).await {
            Ok(created) => Ok(Ok(created.config)),
            Err(error) => permanent(name, error).map(Err),
        }
    };
    retry(CREATE_ATTEMPTS_MAX, attempt).await?
}

/// Like [`find_or_create`], and changes the fields of the stream that are not as wanted. A mirror stays as it is: a change
/// would cut it off from its origin.
pub async fn create_or_update(jetstream: &JetStream, wanted: &Map<String, Value>) -> Result<(), OpenError> {
    let name = name_of(wanted);
    let mut found = find_or_create(jetstream, wanted).await?;
    let is_mirror = found.get("mirror").is_some_and(|mirror| !mirror.is_null());
    if is_mirror || wanted.iter().all(|(field, value)| found.get(field) == Some(value)) {
        return Ok(());
    }
    found.extend(wanted.clone());
    let attempt = async || -> Result<Result<(), OpenError>, JetStreamError> {
        match jetstream.update(&found).await {
            Ok(()) => Ok(Ok(())),
            Err(error) => permanent(name, error).map(Err),
        }
    };
    retry(CREATE_ATTEMPTS_MAX, attempt).await?
}

/// A permanent refusal; the error itself if another attempt may succeed.
fn permanent(stream: &str, error: JetStreamError) -> Result<OpenError, JetStreamError> {
    match error {
        JetStreamError::Refused { status, code, description, .. }
            if status != UNAVAILABLE
                && ![code::STREAM_NAME_IN_USE, code::NO_SUITABLE_SERVERS].contains(&code) =>
        {
            Ok(OpenError::Refused { stream: stream.to_owned(), why: format!("{description} ({code})") })
        }
        error => Err(error),
    }
}

/// The configuration of a stream, or none if it does not exist.
async fn find(jetstream: &JetStream, name: &str) -> Result<Option<Map<String, Value>>, JetStreamError> {
    Ok(jetstream.info_if_exists(name).await?.map(|found| found.config))
}

fn parse(name: &str, config: &Map<String, Value>) -> Result<Config, JetStreamError> {
    let parsed = serde_json::from_value(Value::Object(config.clone()));
    parsed.map_err(|error| JetStreamError::invalid(&format!("configuration of {name}"), error))
}

/// Changes `max_bytes` of a stream, and nothing else. Messages beyond the limit are refused; those that exist stay. If the
/// servers have no room for the limit, the instance starts nevertheless: requests are also refused by the total size of
/// the inboxes.
async fn set_limit(
    jetstream: &JetStream,
    wanted: &Config,
    mut config: Map<String, Value>,
) -> Result<(), JetStreamError> {
    let (name, bytes_max) = (&wanted.name, wanted.max_bytes);
    config.insert("max_bytes".to_owned(), bytes_max.into());
    match jetstream.update(&config).await {
        Ok(()) => tracing::info!(stream = name, bytes_max, "changed max_bytes of an inbox stream"),
        Err(JetStreamError::Refused { status, description: why, .. }) if status != UNAVAILABLE => {
            tracing::warn!(
                stream = name,
                bytes_max,
                why,
                "NATS refused to change max_bytes of an inbox stream"
            );
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

pub const EDIT: &str = "change it with `nats stream edit`, after a look at why it differs";
pub const MADE_SO: &str = "it cannot be changed: restore into a new installation";

fn differs(
    wanted: &Config,
    field: &'static str,
    found: impl ToString,
    asked: impl ToString,
    fix: &str,
) -> Result<(), OpenError> {
    let (stream, found, asked) = (wanted.name.clone(), found.to_string(), asked.to_string());
    Err(OpenError::Stream { stream, field, found, asked, fix: fix.to_owned() })
}

/// Servers drop fields that they do not know: only the configuration that they report counts.
fn check(wanted: &Config, found: &Config, limit: Limit) -> Result<(), OpenError> {
    let numbers = [
        ("max_age", found.max_age as i128, wanted.max_age as i128),
        ("max_msgs", found.max_msgs.into(), wanted.max_msgs.into()),
        ("max_msgs_per_subject", found.max_msgs_per_subject.into(), wanted.max_msgs_per_subject.into()),
    ];
    for (field, found, asked) in numbers {
        if found != asked {
            return differs(wanted, field, found, asked, EDIT);
        }
    }
    check_kept(wanted, found)?;
    if let Some(mode) = found.persist_mode.as_ref().filter(|mode| *mode != "default") {
        return differs(wanted, "persist_mode", mode, "default", EDIT);
    }
    check_made_with(wanted, found)?;
    if found.mirror.is_some() { Ok(()) } else { check_writable(wanted, found, limit) }
}

/// Compares the number of partitions, if the stream has it.
fn check_made_with(wanted: &Config, found: &Config) -> Result<(), OpenError> {
    let (made_with, asked) = (found.metadata.get(PARTITIONS), wanted.metadata.get(PARTITIONS));
    match (made_with, asked) {
        (Some(made_with), Some(asked)) if made_with != asked => {
            let fix = "the number of partitions is fixed when an installation is created";
            differs(wanted, "partitions", made_with, asked, fix)
        }
        _ => Ok(()),
    }
}

/// Compares replicas, storage and retention.
fn check_kept(wanted: &Config, found: &Config) -> Result<(), OpenError> {
    if found.num_replicas != wanted.num_replicas {
        return differs(wanted, "num_replicas", found.num_replicas, wanted.num_replicas, EDIT);
    }
    let texts =
        [("storage", &found.storage, &wanted.storage), ("retention", &found.retention, &wanted.retention)];
    for (field, found, asked) in texts {
        if found != asked {
            return differs(wanted, field, found, asked, MADE_SO);
        }
    }
    Ok(())
}

/// Whether a stream is open under the right subject: the original one, or one that a promotion has opened.
fn is_opened_as(found: &[String], wanted: &[String]) -> bool {
    let ([found], [wanted]) = (found, wanted) else { return false };
    names::opened_at(wanted, found).is_some()
}

/// Compares what a mirror does not have.
fn check_writable(wanted: &Config, found: &Config, limit: Limit) -> Result<(), OpenError> {
    let unfenced = |subject: &String| subject.strip_prefix(FENCED).unwrap_or(subject).to_owned();
    let subjects: Vec<String> = found.subjects.iter().map(unfenced).collect();
    if !is_opened_as(&subjects, &wanted.subjects) {
        return differs(wanted, "subjects", found.subjects.join(", "), wanted.subjects.join(", "), EDIT);
    }
    if found.discard != wanted.discard {
        return differs(wanted, "discard", &found.discard, &wanted.discard, EDIT);
    }
    let flags = [
        ("deny_delete", found.deny_delete, wanted.deny_delete),
        ("deny_purge", found.deny_purge, wanted.deny_purge),
        ("allow_direct", found.allow_direct, wanted.allow_direct),
    ];
    for (field, found, asked) in flags {
        if found != asked {
            return differs(wanted, field, found, asked, EDIT);
        }
    }
    if limit == Limit::Fixed && found.max_bytes != wanted.max_bytes {
        return differs(wanted, "max_bytes", found.max_bytes, wanted.max_bytes, EDIT);
    }
    if found.max_msg_size != wanted.max_msg_size {
        return differs(wanted, "max_msg_size", found.max_msg_size, wanted.max_msg_size, EDIT);
    }
    if found.duplicate_window < wanted.duplicate_window {
        return differs(wanted, "duplicate_window", found.duplicate_window, wanted.duplicate_window, EDIT);
    }
    Ok(())
}
