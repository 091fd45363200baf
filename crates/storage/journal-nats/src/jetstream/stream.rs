//! Streams: what they hold, and how they are created, changed and deleted. A configuration is a JSON object, so that
//! fields that this version does not know survive a change.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{JetStream, JetStreamError};
use crate::limits::CHANGE_RESPONSE_MAX;
use crate::wire::Storage;

/// A stream as its leader describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamInfo {
    pub config: Map<String, Value>,
    /// The first sequence as the server reports it; see [`StreamInfo::first_or_next`].
    pub first: u64,
    pub last: u64,
    pub messages: u64,
    pub bytes: u64,
    /// When the newest message was stored, as the server writes it.
    pub newest: String,
    /// Of a mirror: by how many messages it lags, as far as it knows.
    pub mirror_lag: Option<u64>,
    /// How many messages each subject has, if subjects were asked for.
    pub subjects: BTreeMap<String, u64>,
}

impl StreamInfo {
    pub fn is_mirror(&self) -> bool {
        self.config.get("mirror").is_some_and(|mirror| !mirror.is_null())
    }

    /// Whether it is a mirror of the stream with this name in this domain; without a domain, in any.
    pub fn is_mirror_of(&self, stream: &str, domain: Option<&str>) -> bool {
        let Some(mirror) = self.config.get("mirror") else { return false };
        let api = mirror.get("external").and_then(|external| external.get("api")).and_then(Value::as_str);
        let is_in = |api: &str| domain.is_none_or(|domain| api == format!("$JS.{domain}.API"));
        mirror.get("name").and_then(Value::as_str) == Some(stream) && api.is_some_and(is_in)
    }

    pub fn config_subjects(&self) -> Vec<String> {
        let subjects = self.config.get("subjects").and_then(Value::as_array);
        subjects.into_iter().flatten().filter_map(|subject| subject.as_str().map(str::to_owned)).collect()
    }

    /// The first sequence, or the next one to be assigned if the stream is empty.
    pub fn first_or_next(&self) -> u64 {
        if self.messages == 0 { self.last + 1 } else { self.first }
    }
}

impl JetStream {
    pub async fn info(&self, stream: &str) -> Result<StreamInfo, JetStreamError> {
        let page: InfoResponse = self.ask(&format!("STREAM.INFO.{stream}"), &json!({})).await?;
        Ok(page.into())
    }

    /// None if the stream does not exist.
    pub async fn info_if_exists(&self, stream: &str) -> Result<Option<StreamInfo>, JetStreamError> {
        match self.info(stream).await {
            Err(JetStreamError::Missing { .. }) => Ok(None),
            info => info.map(Some),
        }
    }

    /// With the number of messages on each subject that matches the filter.
    pub async fn info_with_subjects(&self, stream: &str, filter: &str) -> Result<StreamInfo, JetStreamError> {
        let mut subjects = BTreeMap::new();
        loop {
            let question = json!({ "subjects_filter": filter, "offset": subjects.len() });
            let mut page: InfoResponse = self.ask(&format!("STREAM.INFO.{stream}"), &question).await?;
            let found = page.state.subjects.take().unwrap_or_default();
            let is_last = found.is_empty();
            subjects.extend(found);
            if is_last || subjects.len() >= page.total {
                return Ok(StreamInfo { subjects, ..page.into() });
            }
        }
    }

    /// The names of all streams.
    pub async fn stream_names(&self) -> Result<Vec<String>, JetStreamError> {
        let mut names = Vec::new();
        loop {
            let page: NamesResponse = self.ask("STREAM.NAMES", &json!({ "offset": names.len() })).await?;
            let found = page.streams.unwrap_or_default();
            let is_last = found.is_empty();
            names.extend(found);
            if is_last || names.len() >= page.total {
                return Ok(names);
            }
        }
    }

    /// Creates a stream. Succeeds if one with the same configuration exists.
    pub async fn create(&self, config: &Map<String, Value>) -> Result<StreamInfo, JetStreamError> {
        self.create_within(self.change_max(), config).await
    }

    /// Creates a stream with a time limit of its own: of several instances that create a stream at once, the server
    /// responds to the last one only, and the others had better look again soon.
    pub(crate) async fn create_within(
        &self,
        limit: Duration,
        config: &impl Serialize,
    ) -> Result<StreamInfo, JetStreamError> {
        let config = to_object(config)?;
        let request = format!("STREAM.CREATE.{}", name_of(&config));
        let created: InfoResponse = self.ask_within(limit, &request, &config).await?;
        Ok(created.into())
    }

    /// Creates a stream unless one with this name exists, whatever its configuration.
    pub async fn create_if_missing(&self, config: &Map<String, Value>) -> Result<(), JetStreamError> {
        match self.info(name_of(config)).await {
            Err(JetStreamError::Missing { .. }) => self.create(config).await.map(drop),
            found => found.map(drop),
        }
    }

    pub async fn update(&self, config: &Map<String, Value>) -> Result<(), JetStreamError> {
        self.change(&format!("STREAM.UPDATE.{}", name_of(config)), config).await
    }

    /// Deletes a stream, if it exists.
    pub async fn delete(&self, stream: &str) -> Result<(), JetStreamError> {
        match self.change(&format!("STREAM.DELETE.{stream}"), &json!({})).await {
            Ok(()) | Err(JetStreamError::Missing { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes the messages below a sequence.
    pub async fn purge_below(&self, stream: &str, sequence: u64) -> Result<(), JetStreamError> {
        // Sequence 0 would delete everything.
        let request = format!("STREAM.PURGE.{stream}");
        let _: IgnoredAny = self.ask(&request, &json!({ "seq": sequence.max(1) })).await?;
        Ok(())
    }

    /// Deletes the messages on a subject.
    pub async fn purge_subject(&self, stream: &str, subject: &str) -> Result<(), JetStreamError> {
        self.change(&format!("STREAM.PURGE.{stream}"), &json!({ "filter": subject })).await
    }

    /// What the account has stored on all servers, and how much it may store.
    pub(crate) async fn account_storage(&self) -> Result<Storage, JetStreamError> {
        let account: AccountResponse = self.ask("INFO", &json!({})).await?;
        let bytes_max = u64::try_from(account.limits.max_storage).ok().filter(|max| *max > 0);
        Ok(Storage { used_bytes: account.storage, bytes_max })
    }

    async fn change(&self, request: &str, body: &impl Serialize) -> Result<(), JetStreamError> {
        let _: IgnoredAny = self.ask_within(self.change_max(), request, body).await?;
        Ok(())
    }

    fn change_max(&self) -> Duration {
        self.response_max.max(CHANGE_RESPONSE_MAX)
    }
}

/// The name in a configuration.
pub fn name_of(config: &Map<String, Value>) -> &str {
    config.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn to_object(config: &impl Serialize) -> Result<Map<String, Value>, JetStreamError> {
    match serde_json::to_value(config) {
        Ok(Value::Object(config)) => Ok(config),
        Ok(other) => Err(JetStreamError::invalid("STREAM.CREATE", other)),
        Err(error) => Err(JetStreamError::invalid("STREAM.CREATE", error)),
    }
}

#[derive(Deserialize)]
struct InfoResponse {
    config: Map<String, Value>,
    state: StateResponse,
    mirror: Option<MirrorResponse>,
    /// The number of subjects that match the filter.
    #[serde(default)]
    total: usize,
}

#[derive(Deserialize)]
struct StateResponse {
    messages: u64,
    bytes: u64,
    first_seq: u64,
    last_seq: u64,
    #[serde(default)]
    last_ts: String,
    subjects: Option<BTreeMap<String, u64>>,
}

#[derive(Deserialize)]
struct MirrorResponse {
    #[serde(default)]
    lag: u64,
}

impl From<InfoResponse> for StreamInfo {
    fn from(response: InfoResponse) -> StreamInfo {
        let StateResponse { messages, bytes, first_seq, last_seq, last_ts, subjects } = response.state;
        StreamInfo {
            config: response.config,
            first: first_seq,
            last: last_seq,
            messages,
            bytes,
            newest: last_ts,
            mirror_lag: response.mirror.map(|mirror| mirror.lag),
            subjects: subjects.unwrap_or_default(),
        }
    }
}

#[derive(Deserialize)]
struct NamesResponse {
    #[serde(default)]
    total: usize,
    streams: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct AccountResponse {
    storage: u64,
    limits: AccountLimits,
}

#[derive(Deserialize)]
struct AccountLimits {
    max_storage: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mirror_of_our_stream_is_ours() {
        let mirrors = |config: Value| {
            let state = json!({ "messages": 0, "bytes": 0, "first_seq": 0, "last_seq": 0 });
            let info: InfoResponse =
                serde_json::from_value(json!({ "config": config, "state": state })).unwrap();
            StreamInfo::from(info).is_mirror_of("S", Some("east"))
        };
        let external = |api: &str| json!({ "api": api, "deliver": "" });
        assert!(mirrors(json!({ "mirror": { "name": "S", "external": external("$JS.east.API") } })));
        let north = json!({ "mirror": { "name": "S", "external": external("$JS.north.API") } });
        assert!(!mirrors(north), "of another region");
        assert!(!mirrors(json!({ "mirror": { "name": "S" } })), "of its own region");
        let other = json!({ "mirror": { "name": "T", "external": external("$JS.east.API") } });
        assert!(!mirrors(other), "of another stream");
        assert!(!mirrors(json!({ "subjects": ["s"] })), "a stream of its own");
    }
}
