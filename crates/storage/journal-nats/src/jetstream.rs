//! JetStream of one domain by its plain API. Questions and answers are JSON, so that the configuration of a stream goes
//! from one region to the other whole, with fields that no library knows yet.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::{Client, HeaderMap, Request, RequestErrorKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

/// Why JetStream did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JetStreamError {
    /// Nobody answered; what was asked for may have happened.
    #[error("no answer from JetStream at {prefix}: {cause}")]
    Unreachable { prefix: String, cause: String },
    #[error("no such stream")]
    Missing,
    /// Somebody else has written meanwhile.
    #[error("it was changed meanwhile")]
    Changed,
    #[error("JetStream refused: {description} ({code})")]
    Refused { code: u64, description: String },
    #[error("JetStream answered what is not understood: {0}")]
    Unclear(String),
}

/// A stream as its leader describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamInfo {
    pub config: Map<String, Value>,
    pub first: u64,
    pub last: u64,
    /// When the newest message was stored, as the server writes it.
    pub newest: String,
    /// The lag of a mirror, as far as it knows.
    pub mirror_lag: Option<u64>,
    pub subjects: BTreeMap<String, u64>,
}

impl StreamInfo {
    pub fn is_mirror(&self) -> bool {
        self.config.get("mirror").is_some_and(|mirror| !mirror.is_null())
    }

    pub fn config_subjects(&self) -> Vec<String> {
        let subjects = self.config.get("subjects").and_then(Value::as_array);
        subjects.into_iter().flatten().filter_map(|subject| subject.as_str().map(str::to_owned)).collect()
    }
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    pub sequence: u64,
    pub subject: String,
    pub headers: Bytes,
    pub data: Bytes,
    pub time: String,
}

/// JetStream of one domain, reached from here.
#[derive(Debug, Clone)]
pub struct JetStream {
    client: Client,
    /// `$JS.API`, or `$JS.<domain>.API` of another one.
    prefix: String,
    /// What stands before the subject of a bucket.
    kv: String,
    patience: Duration,
}

impl JetStream {
    /// That of the server the client is connected to.
    pub fn here(client: Client, patience: Duration) -> JetStream {
        JetStream { client, prefix: "$JS.API".to_owned(), kv: String::new(), patience }
    }

    /// One that is reached through leaf nodes.
    pub fn there(client: Client, domain: &str, patience: Duration) -> JetStream {
        let prefix = format!("$JS.{domain}.API");
        JetStream { client, kv: format!("{prefix}."), prefix, patience }
    }

    pub async fn info(&self, stream: &str) -> Result<StreamInfo, JetStreamError> {
        self.info_with(stream, &json!({})).await
    }

    /// None when there is no such stream.
    pub async fn info_if_there(&self, stream: &str) -> Result<Option<StreamInfo>, JetStreamError> {
        match self.info(stream).await {
            Err(JetStreamError::Missing) => Ok(None),
            info => info.map(Some),
        }
    }

    /// With how many messages there are on each of these subjects.
    pub async fn info_of_subjects(&self, stream: &str, filter: &str) -> Result<StreamInfo, JetStreamError> {
        self.info_with(stream, &json!({ "subjects_filter": filter })).await
    }

    async fn info_with(&self, stream: &str, question: &Value) -> Result<StreamInfo, JetStreamError> {
        let answer = self.ask(&format!("STREAM.INFO.{stream}"), question).await?;
        let answer: InfoAnswer = parse(answer)?;
        Ok(StreamInfo {
            config: answer.config,
            first: answer.state.first_seq,
            last: answer.state.last_seq,
            newest: answer.state.last_ts,
            mirror_lag: answer.mirror.map(|mirror| mirror.lag),
            subjects: answer.state.subjects.unwrap_or_default(),
        })
    }

    /// The names of all streams.
    pub async fn names(&self) -> Result<Vec<String>, JetStreamError> {
        let mut names = Vec::new();
        loop {
            let answer = self.ask("STREAM.NAMES", &json!({ "offset": names.len() })).await?;
            let page: NamesAnswer = parse(answer)?;
            let found = page.streams.unwrap_or_default();
            let last = found.is_empty();
            names.extend(found);
            if last || names.len() >= page.total {
                return Ok(names);
            }
        }
    }

    pub async fn create(&self, config: &Map<String, Value>) -> Result<(), JetStreamError> {
        self.change(&format!("STREAM.CREATE.{}", name_of(config)), config).await
    }

    pub async fn update(&self, config: &Map<String, Value>) -> Result<(), JetStreamError> {
        self.change(&format!("STREAM.UPDATE.{}", name_of(config)), config).await
    }

    /// Deletes a stream; one that is not there is deleted already.
    pub async fn delete(&self, stream: &str) -> Result<(), JetStreamError> {
        match self.change(&format!("STREAM.DELETE.{stream}"), &json!({})).await {
            Ok(()) | Err(JetStreamError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Forgets what is below a sequence, or what is on a subject.
    pub async fn purge(&self, stream: &str, what: &Value) -> Result<(), JetStreamError> {
        self.change(&format!("STREAM.PURGE.{stream}"), what).await
    }

    /// One message from the leader, or none if it has none with this sequence.
    pub async fn message(
        &self,
        stream: &str,
        sequence: u64,
    ) -> Result<Option<StoredMessage>, JetStreamError> {
        self.get(stream, &json!({ "seq": sequence })).await
    }

    /// The first message at or after this sequence.
    pub async fn message_from(
        &self,
        stream: &str,
        sequence: u64,
    ) -> Result<Option<StoredMessage>, JetStreamError> {
        self.get(stream, &json!({ "seq": sequence, "next_by_subj": ">" })).await
    }

    /// The newest value of a key, with its revision.
    pub async fn value(&self, bucket: &str, key: &str) -> Result<Option<StoredMessage>, JetStreamError> {
        let question = json!({ "last_by_subj": format!("$KV.{bucket}.{key}") });
        match self.get(&format!("KV_{bucket}"), &question).await {
            Err(JetStreamError::Missing) => Ok(None),
            found => found,
        }
    }

    async fn get(&self, stream: &str, question: &Value) -> Result<Option<StoredMessage>, JetStreamError> {
        let answer = match self.ask(&format!("STREAM.MSG.GET.{stream}"), question).await {
            Err(JetStreamError::Refused { code: NO_MESSAGE, .. }) => return Ok(None),
            answer => answer?,
        };
        let MessageAnswer { message } = parse(answer)?;
        let bytes = |text: Option<String>| match text {
            None => Ok(Bytes::new()),
            Some(text) => STANDARD.decode(text).map(Bytes::from),
        };
        let unclear = |error: base64::DecodeError| JetStreamError::Unclear(error.to_string());
        Ok(Some(StoredMessage {
            sequence: message.seq,
            subject: message.subject,
            headers: bytes(message.hdrs).map_err(unclear)?,
            data: bytes(message.data).map_err(unclear)?,
            time: message.time,
        }))
    }

    /// Writes a key and gives its revision. With `expected` only when that is its revision; 0 is that of none.
    pub async fn put(
        &self,
        bucket: &str,
        key: &str,
        value: Vec<u8>,
        expected: Option<u64>,
    ) -> Result<u64, JetStreamError> {
        let mut request = Request::new().payload(value.into());
        if let Some(expected) = expected {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Expected-Last-Subject-Sequence", expected.to_string().as_str());
            request = request.headers(headers);
        }
        let subject = format!("{}$KV.{bucket}.{key}", self.kv);
        let answer = self.send(subject, request, self.patience).await?;
        let ack: AckAnswer = parse(answer)?;
        Ok(ack.seq)
    }

    /// Stores a message and gives its sequence.
    pub async fn publish(&self, subject: String, payload: Bytes) -> Result<u64, JetStreamError> {
        let request = Request::new().payload(payload);
        let ack: AckAnswer = parse(self.send(subject, request, self.patience).await?)?;
        Ok(ack.seq)
    }

    async fn ask(&self, what: &str, question: &impl Serialize) -> Result<Value, JetStreamError> {
        self.ask_within(self.patience, what, question).await
    }

    async fn change(&self, what: &str, question: &impl Serialize) -> Result<(), JetStreamError> {
        self.ask_within(self.patience.max(CHANGE_MAX), what, question).await.map(drop)
    }

    async fn ask_within(
        &self,
        patience: Duration,
        what: &str,
        question: &impl Serialize,
    ) -> Result<Value, JetStreamError> {
        let question =
            serde_json::to_vec(question).map_err(|error| JetStreamError::Unclear(error.to_string()))?;
        let request = Request::new().payload(question.into());
        self.send(format!("{}.{what}", self.prefix), request, patience).await
    }

    async fn send(
        &self,
        subject: String,
        request: Request,
        patience: Duration,
    ) -> Result<Value, JetStreamError> {
        let unreachable = |cause: String| JetStreamError::Unreachable { prefix: self.prefix.clone(), cause };
        // Around everything: while there is no connection, even handing over the request may wait.
        let sent = timeout(patience, self.client.send_request(subject, request.timeout(None))).await;
        let answer = sent.map_err(|_| unreachable("it took too long".to_owned()))?;
        let answer = answer.map_err(|error| {
            unreachable(match error.kind() {
                RequestErrorKind::NoResponders => "nobody is there".to_owned(),
                _ => error.to_string(),
            })
        })?;
        let answer: Value = serde_json::from_slice(&answer.payload)
            .map_err(|error| JetStreamError::Unclear(error.to_string()))?;
        match answer.get("error") {
            None => Ok(answer),
            Some(error) => Err(refusal(error)),
        }
    }
}

/// A stream that is made or changed has to find its servers and a leader first.
const CHANGE_MAX: Duration = Duration::from_secs(15);
const NO_MESSAGE: u64 = 10037;

fn refusal(error: &Value) -> JetStreamError {
    let code = error.get("err_code").and_then(Value::as_u64).unwrap_or_default();
    let description = error.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    match code {
        10059 => JetStreamError::Missing,
        10071 | 10164 => JetStreamError::Changed,
        // No leader at this moment: as good as no answer.
        10008 | 10009 => JetStreamError::Unreachable { prefix: "JetStream".to_owned(), cause: description },
        code => JetStreamError::Refused { code, description },
    }
}

pub fn name_of(config: &Map<String, Value>) -> &str {
    config.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn parse<T: for<'de> Deserialize<'de>>(answer: Value) -> Result<T, JetStreamError> {
    serde_json::from_value(answer).map_err(|error| JetStreamError::Unclear(error.to_string()))
}

#[derive(Deserialize)]
struct InfoAnswer {
    config: Map<String, Value>,
    state: StateAnswer,
    mirror: Option<MirrorAnswer>,
}

#[derive(Deserialize)]
struct StateAnswer {
    first_seq: u64,
    last_seq: u64,
    #[serde(default)]
    last_ts: String,
    subjects: Option<BTreeMap<String, u64>>,
}

#[derive(Deserialize)]
struct MirrorAnswer {
    #[serde(default)]
    lag: u64,
}

#[derive(Deserialize)]
struct NamesAnswer {
    #[serde(default)]
    total: usize,
    streams: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct MessageAnswer {
    message: MessageFields,
}

#[derive(Deserialize)]
struct MessageFields {
    seq: u64,
    subject: String,
    hdrs: Option<String>,
    data: Option<String>,
    #[serde(default)]
    time: String,
}

#[derive(Deserialize)]
struct AckAnswer {
    seq: u64,
}
