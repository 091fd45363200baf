//! Messages: send them, receive them under a lock, settle them.

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::{ReceivedMessage, ReceivedProperties, SentMessage, SentProperties};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use types::Span;
use uuid::Uuid;

use crate::call::{Call, path, query};
use crate::error::Error;
use crate::sortie::{JSON, Sortie, body};

const BATCH: &str = "application/vnd.microsoft.servicebus.json";
const BASE64: &str = "base64";

/// A message, still to be sent.
#[must_use = "nothing is sent before send()"]
#[derive(Debug)]
pub struct Outgoing<'a> {
    sortie: &'a Sortie,
    to: String,
    message: SentMessage,
}

/// A wish for messages, still to be sent.
#[must_use = "nothing is received before send()"]
#[derive(Debug)]
pub struct Receive<'a> {
    sortie: &'a Sortie,
    /// Where the messages are, up to `/messages`.
    from: String,
    max: u32,
    wait: Duration,
    lock: Option<Span>,
    session: Option<String>,
}

/// A message that is yours until its lock expires. One that is dropped unsettled comes back then.
#[derive(Debug)]
pub struct Message {
    pub body: Bytes,
    /// What the broker knows of it: its id, its number, how often it was delivered.
    pub broker: ReceivedProperties,
    /// Properties of the sender's own.
    pub properties: BTreeMap<String, Value>,
    sortie: Sortie,
    lock: String,
}

impl Sortie {
    /// A message for a queue or topic: say what you like about it, and [`Outgoing::send`].
    pub fn message(&self, to: &str, body: impl AsRef<[u8]>) -> Outgoing<'_> {
        let (body, body_encoding) = match std::str::from_utf8(body.as_ref()) {
            Ok(text) => (text.to_owned(), None),
            Err(_) => (STANDARD.encode(body), Some(BASE64.to_owned())),
        };
        // One that is sent twice is dropped by its id: whoever gives none gets one.
        let id = Some(Uuid::now_v7().simple().to_string());
        let broker_properties = SentProperties { message_id: id, ..SentProperties::default() };
        let message =
            SentMessage { body, body_encoding, broker_properties, user_properties: BTreeMap::new() };
        Outgoing { sortie: self, to: to.to_owned(), message }
    }

    /// Messages of a queue: say how many and how long to wait, and [`Receive::send`].
    pub fn receive(&self, queue: &str) -> Receive<'_> {
        self.receive_at(path("/{}", &[queue]))
    }

    /// Messages of a subscription.
    pub fn receive_from(&self, topic: &str, subscription: &str) -> Receive<'_> {
        self.receive_at(path("/{}/subscriptions/{}", &[topic, subscription]))
    }

    fn receive_at(&self, from: String) -> Receive<'_> {
        Receive { sortie: self, from, max: 1, wait: Duration::ZERO, lock: None, session: None }
    }
}

impl Outgoing<'_> {
    /// Its id: a second message with it is dropped, as long as the queue remembers it.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.message.broker_properties.message_id = Some(id.into());
        self
    }

    /// What it is about, in a word.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.message.broker_properties.label = Some(label.into());
        self
    }

    /// Messages of one session are handled in order.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.message.broker_properties.session_id = Some(session.into());
        self
    }

    /// What the body is, like `application/json`.
    pub fn content_type(mut self, kind: impl Into<String>) -> Self {
        self.message.broker_properties.content_type = Some(kind.into());
        self
    }

    /// A property of your own, which a filter can ask for: a text, a number or a truth.
    pub fn property(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.message.user_properties.insert(name.into(), value.into());
        self
    }

    /// Sends it. Once this is `Ok` it is durable and will be delivered.
    pub async fn send(self) -> Result<(), Error> {
        let call = Call::post(path("/{}/messages", &[&self.to]), BATCH, body(&[self.message])?);
        self.sortie.send(call.repeatable()).await.map(drop)
    }
}

impl Receive<'_> {
    /// At most so many, up to 256; one without it.
    pub fn max(mut self, max: u32) -> Self {
        self.max = max;
        self
    }

    /// Waits so long for the first, at most five minutes; not at all without it.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// A lock of this length, 1s to 1h, instead of the queue's.
    pub fn lock(mut self, lock: Span) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Only messages of this session.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Receives them; none when none came in time.
    pub async fn send(self) -> Result<Vec<Message>, Error> {
        // Whole seconds are what the server knows; a shorter wait is rounded up.
        let wait = self.wait.as_millis().div_ceil(1000);
        let parameters = [
            ("timeout", Some(wait.to_string())),
            ("max", Some(self.max.to_string())),
            ("lock", self.lock.map(|lock| lock.to_string())),
            ("session", self.session),
        ];
        let head = query(&format!("{}/messages/head", self.from), &parameters);
        let answer = self.sortie.send(Call::post_nothing(head).waiting(self.wait)).await?;
        let received: Vec<ReceivedMessage> =
            if answer.body.is_empty() { Vec::new() } else { answer.value()? };
        received.into_iter().map(|message| Message::new(self.sortie, &self.from, message)).collect()
    }
}

impl Message {
    fn new(sortie: &Sortie, from: &str, message: ReceivedMessage) -> Result<Message, Error> {
        let body = match message.body_encoding.as_deref() {
            Some(BASE64) => STANDARD.decode(&message.body).map(Bytes::from).map_err(|error| {
                Error::Answer(serde::de::Error::custom(format!("the body is not base64: {error}")))
            })?,
            _ => Bytes::from(message.body),
        };
        let broker = message.broker_properties;
        // Not the address that the server gives: it may be known by another here.
        let token = broker.lock_token.clone().unwrap_or_default();
        let lock = path("/messages/{}/{}", &[&broker.sequence_number.to_string(), &token]);
        let lock = format!("{from}{lock}");
        Ok(Message { body, broker, properties: message.user_properties, sortie: sortie.clone(), lock })
    }

    /// Completes the message, which deletes it. If the lock was lost, and another consumer may have the message, the
    /// problem is `lock_lost`.
    pub async fn complete(self) -> Result<(), Error> {
        self.sortie.send(Call::delete(self.lock)).await.map(drop)
    }

    /// Gives it back: another may have it at once, and the delivery counts.
    pub async fn abandon(self) -> Result<(), Error> {
        self.sortie.send(Call::put_nothing(self.lock)).await.map(drop)
    }

    /// Renews its lock, for as long as the queue says.
    pub async fn renew(&self) -> Result<(), Error> {
        self.sortie.send(Call::post_nothing(&self.lock).repeatable()).await.map(drop)
    }

    /// Sets it aside as a dead letter.
    pub async fn dead_letter(self, reason: &str, description: &str) -> Result<(), Error> {
        let said = body(&json!({ "reason": reason, "description": description }))?;
        self.sortie.send(Call::post(format!("{}/deadletter", self.lock), JSON, said)).await.map(drop)
    }
}
