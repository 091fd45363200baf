//! The streams of an installation: made when they are missing, refused when they are not what the journal needs.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use words::PartitionId;

use crate::client::{Answer, CREATE_MAX, Client, PREFIX};
use crate::names;
use crate::nats_journal::Installation;
use crate::open::OpenError;
use crate::pause::Pauses;
use crate::wire::WireError;

/// Streams that are made at once. Each elects a leader.
const AT_ONCE: usize = 8;
/// How often a stream is asked for, with what lies between some half a minute at most.
const TRIES_MAX: u32 = 20;
/// How long the inbox knows what it has stored.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
/// Where the number of partitions is written, which never changes.
const PARTITIONS: &str = "sortie.partitions";
const NAME_IN_USE: u16 = 10058;
const NOT_FOUND: u16 = 10059;

/// Makes all streams, or checks those that are there. Mirrors and streams that were fenced pass: a region that is not
/// active has those.
pub async fn ensure(client: &Client, installation: &Installation, replicas: usize) -> Result<(), OpenError> {
    let wanted = configs(installation, replicas);
    stream::iter(wanted)
        .map(|config| ensure_stream(client, config))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

/// The streams of an installation as they must be, in the words of the API: what a mirror becomes when it is promoted.
pub fn stream_configs(installation: &Installation, replicas: usize) -> Vec<serde_json::Value> {
    let each = configs(installation, replicas).into_iter();
    each.map(|config| serde_json::to_value(config).expect("a configuration can always be written")).collect()
}

/// What a stream is configured to be, in the words of the API.
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

/// The streams of an installation as they must be.
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

#[derive(Debug, Deserialize)]
struct Made {
    config: Config,
}

/// What is there already, else what was made.
async fn ensure_stream(client: &Client, wanted: Config) -> Result<(), OpenError> {
    let mut pauses = Pauses::new();
    let mut unanswered = WireError(String::new());
    for _ in 0..TRIES_MAX {
        match find_or_make(client, &wanted).await {
            Ok(Ok(found)) => return check(&wanted, &found),
            Ok(Err(refused)) => return Err(refused),
            Err(error) => unanswered = error,
        }
        pauses.wait().await;
    }
    Err(OpenError::Unanswered(unanswered))
}

async fn find_or_make(client: &Client, wanted: &Config) -> Result<Result<Config, OpenError>, WireError> {
    let name = &wanted.name;
    let what = format!("STREAM.INFO.{name}");
    match client.ask::<Made>(PREFIX, &what, &(), CREATE_MAX).await? {
        Answer::Done(found) => return Ok(Ok(found.config)),
        Answer::Refused { error } if error.err_code == NOT_FOUND => {}
        Answer::Refused { error } => return Err(WireError(format!("{what}: {}", error.description))),
    }
    let what = format!("STREAM.CREATE.{name}");
    match client.ask::<Made>(PREFIX, &what, wanted, CREATE_MAX).await? {
        Answer::Done(made) => Ok(Ok(made.config)),
        // Somebody else made it meanwhile; the next look finds it.
        Answer::Refused { error } if error.err_code == NAME_IN_USE || error.code == 503 => {
            Err(WireError(format!("{what}: {}", error.description)))
        }
        Answer::Refused { error } => {
            let why = format!("{} ({})", error.description, error.err_code);
            Ok(Err(OpenError::Refused { stream: name.clone(), why }))
        }
    }
}

/// Servers drop what they do not know and take what they were told long ago: only what they say now counts.
fn check(wanted: &Config, found: &Config) -> Result<(), OpenError> {
    let differs = |field, found: String, asked: String, fix: &str| {
        let stream = wanted.name.clone();
        Err(OpenError::Stream { stream, field, found, asked, fix: fix.to_owned() })
    };
    let edit = "change it with `nats stream edit`, after a look at why it differs";
    let numbers = [
        ("max_age", found.max_age as i128, wanted.max_age as i128),
        ("max_msgs", found.max_msgs.into(), wanted.max_msgs.into()),
        ("max_msgs_per_subject", found.max_msgs_per_subject.into(), wanted.max_msgs_per_subject.into()),
        ("num_replicas", found.num_replicas as i128, wanted.num_replicas as i128),
    ];
    for (field, found, asked) in numbers {
        if found != asked {
            return differs(field, found.to_string(), asked.to_string(), edit);
        }
    }
    let texts =
        [("storage", &found.storage, &wanted.storage), ("retention", &found.retention, &wanted.retention)];
    for (field, found, asked) in texts {
        if found != asked {
            return differs(
                field,
                found.clone(),
                asked.clone(),
                "it cannot be changed: restore into a new installation",
            );
        }
    }
    if let Some(mode) = found.persist_mode.as_ref().filter(|mode| *mode != "default") {
        return differs("persist_mode", mode.clone(), "default".to_owned(), edit);
    }
    let made_with = found.metadata.get(PARTITIONS);
    let asked = wanted.metadata.get(PARTITIONS);
    if let (Some(made_with), Some(asked)) = (made_with, asked)
        && made_with != asked
    {
        let fix = "the number of partitions is fixed when an installation is made";
        return differs("partitions", made_with.clone(), asked.clone(), fix);
    }
    if found.mirror.is_some() { Ok(()) } else { check_writable(wanted, found) }
}

/// What a mirror does not have.
fn check_writable(wanted: &Config, found: &Config) -> Result<(), OpenError> {
    let differs = |field, found: String, asked: String| {
        let stream = wanted.name.clone();
        let fix = "change it with `nats stream edit`, after a look at why it differs".to_owned();
        Err(OpenError::Stream { stream, field, found, asked, fix })
    };
    let fenced: Vec<_> = wanted.subjects.iter().map(|subject| format!("fenced.{subject}")).collect();
    if found.subjects != wanted.subjects && found.subjects != fenced {
        return differs("subjects", found.subjects.join(", "), wanted.subjects.join(", "));
    }
    if found.discard != wanted.discard {
        return differs("discard", found.discard.clone(), wanted.discard.clone());
    }
    let flags = [
        ("deny_delete", found.deny_delete, wanted.deny_delete),
        ("deny_purge", found.deny_purge, wanted.deny_purge),
        ("allow_direct", found.allow_direct, wanted.allow_direct),
    ];
    for (field, found, asked) in flags {
        if found != asked {
            return differs(field, found.to_string(), asked.to_string());
        }
    }
    if found.max_bytes != wanted.max_bytes {
        return differs("max_bytes", found.max_bytes.to_string(), wanted.max_bytes.to_string());
    }
    if found.max_msg_size != wanted.max_msg_size {
        return differs("max_msg_size", found.max_msg_size.to_string(), wanted.max_msg_size.to_string());
    }
    if found.duplicate_window < wanted.duplicate_window {
        return differs(
            "duplicate_window",
            found.duplicate_window.to_string(),
            wanted.duplicate_window.to_string(),
        );
    }
    Ok(())
}
