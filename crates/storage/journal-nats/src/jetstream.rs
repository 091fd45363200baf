//! The JetStream client: one connection, one way to ask, one error type.
//!
//! Everything that an installation keeps in NATS is read and written through [`JetStream`]: the streams of the journal,
//! the buckets of the register and of the regions, the objects of snapshots. It sends requests of JetStream's JSON API
//! itself, because the configuration of a stream must pass from one region to the other with fields that no library
//! knows yet, and because an append must learn the difference between "refused" and "outcome unknown". Two protocols
//! are left to `async-nats`: ordered consumers ([`BucketWatch`]) and the chunks of objects ([`Objects`]).
//!
//! Each request has a time limit, which includes the time without a connection. The client repeats nothing: a request
//! without a response may have been carried out. Callers whose request may be repeated use [`retry`].

mod connect;
mod direct;
pub(crate) mod error;
mod key_value;
mod message;
mod objects;
mod publish;
pub(crate) mod retry;
mod stream;

use std::time::Duration;

use async_nats::{Message, Request, RequestErrorKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

pub(crate) use connect::connect;
pub use direct::DirectMessage;
pub use error::JetStreamError;
pub use key_value::{BucketWatch, KeyEntry, bucket_config};
pub use message::StoredMessage;
pub use objects::{ObjectReader, Objects};
pub use publish::Ack;
pub use retry::retry;
pub use stream::{StreamInfo, name_of};

use crate::limits::RESPONSE_MAX;

/// JetStream of one domain. Cheap to clone.
#[derive(Debug, Clone)]
pub struct JetStream {
    nats: async_nats::Client,
    /// `$JS.API`, or `$JS.<domain>.API` of a domain that is reached through leaf nodes.
    prefix: String,
    /// What the subject of a key begins with: nothing, or the prefix of the other domain.
    key_prefix: String,
    response_max: Duration,
}

impl JetStream {
    /// JetStream of the servers that this connection is to.
    pub fn new(nats: async_nats::Client) -> JetStream {
        let prefix = "$JS.API".to_owned();
        JetStream { nats, prefix, key_prefix: String::new(), response_max: RESPONSE_MAX }
    }

    /// JetStream of another domain, which these servers reach through leaf nodes.
    pub fn in_domain(&self, domain: &str) -> JetStream {
        let prefix = format!("$JS.{domain}.API");
        JetStream { key_prefix: format!("{prefix}."), prefix, ..self.clone() }
    }

    /// The same with another time limit for responses.
    pub fn with_response_max(self, response_max: Duration) -> JetStream {
        JetStream { response_max, ..self }
    }

    /// The connection.
    pub fn nats(&self) -> &async_nats::Client {
        &self.nats
    }

    /// The domain of the servers that this connection is to, if they have one.
    pub fn local_domain(&self) -> Option<String> {
        self.nats.server_info().domain
    }

    /// Whether anybody responds to a message on this subject within a time.
    pub async fn has_responder(&self, subject: &str, within: Duration) -> bool {
        let request = Request::new().payload("probe".into());
        self.send(subject.to_owned(), request, within).await.is_ok()
    }

    /// Sends a request of the API, `STREAM.INFO.name` for example.
    async fn ask<A: DeserializeOwned>(
        &self,
        request: &str,
        body: &impl Serialize,
    ) -> Result<A, JetStreamError> {
        self.ask_within(self.response_max, request, body).await
    }

    async fn ask_within<A: DeserializeOwned>(
        &self,
        limit: Duration,
        request: &str,
        body: &impl Serialize,
    ) -> Result<A, JetStreamError> {
        let body = serde_json::to_vec(body).map_err(|error| JetStreamError::invalid(request, error))?;
        let subject = format!("{}.{request}", self.prefix);
        let response = self.send(subject.clone(), Request::new().payload(body.into()), limit).await?;
        error::parse(&subject, &response.payload)
    }

    /// Sends one request and waits for one response.
    async fn send(
        &self,
        subject: String,
        request: Request,
        limit: Duration,
    ) -> Result<Message, JetStreamError> {
        // The limit is around everything: without a connection, even handing over the request waits.
        let sending = self.nats.send_request(subject.clone(), request.timeout(None));
        match timeout(limit, sending).await {
            Ok(Ok(response)) => Ok(response),
            Err(_) => Err(JetStreamError::unreachable(&subject, "timed out")),
            Ok(Err(error)) => Err(match error.kind() {
                RequestErrorKind::MaxPayloadExceeded => JetStreamError::TooLarge { request: subject },
                RequestErrorKind::NoResponders => JetStreamError::unreachable(&subject, "no responders"),
                _ => JetStreamError::unreachable(&subject, error),
            }),
        }
    }
}
