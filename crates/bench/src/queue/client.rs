//! Senders and consumers of either broker.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use action::{BrokerDestination, BrokerOrigin};
use anyhow::Context;
use brokers::{Anywhere, Brokers, Endpoint, Login, MessageTarget, Receiver};
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, LOCATION};
use types::Message;

use super::QUEUE;
use super::measure::now_micros;
use crate::client::{ApiClient, Call};

const BROKER_PROPERTIES: HeaderName = HeaderName::from_static("brokerproperties");

/// For one send or one receive; far beyond what either takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a consumer waits for a message before it asks again.
const WAIT_SECONDS: u64 = 1;
/// Messages that RabbitMQ may send ahead to a consumer.
const CREDIT: u32 = 32;

/// Who is measured.
#[derive(Clone)]
pub enum Broker {
    Sortie { address: SocketAddr, token: String, ids: bool },
    RabbitMq { brokers: Brokers, url: String, login: Login },
}

pub enum Sender {
    Sortie { client: ApiClient, ids: bool },
    RabbitMq { brokers: Brokers, to: MessageTarget },
}

pub enum Consumer {
    Sortie(ApiClient),
    RabbitMq(Receiver),
}

/// An id that no other message has, of this bench or of one before.
fn new_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static BEGUN: LazyLock<u64> = LazyLock::new(now_micros);
    format!("{:x}-{:x}-{}", std::process::id(), *BEGUN, NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Broker {
    pub fn rabbit(url: &str) -> Broker {
        let login = Login { username: "guest".to_owned(), password: "guest".to_owned() };
        Broker::RabbitMq { brokers: Brokers::new(Arc::new(Anywhere)), url: url.to_owned(), login }
    }

    pub fn sender(&self) -> anyhow::Result<Sender> {
        Ok(match self {
            Broker::Sortie { address, token, ids } => {
                Sender::Sortie { client: client(*address, token)?, ids: *ids }
            }
            Broker::RabbitMq { brokers, url, login } => {
                let to = BrokerDestination::RabbitMq { exchange: None, routing_key: QUEUE.to_owned() };
                let to = Endpoint::new(url.clone(), Some(login.clone())).target(to);
                Sender::RabbitMq { brokers: brokers.clone(), to }
            }
        })
    }

    pub async fn consumer(&self) -> anyhow::Result<Consumer> {
        Ok(match self {
            Broker::Sortie { address, token, .. } => Consumer::Sortie(client(*address, token)?),
            Broker::RabbitMq { brokers, url, login } => {
                let from = BrokerOrigin::RabbitMq { queue: QUEUE.to_owned() };
                let source = Endpoint::new(url.clone(), Some(login.clone())).source(from, "bench");
                Consumer::RabbitMq(brokers.open(&source, CREDIT).await?)
            }
        })
    }
}

impl Sender {
    /// Sends a message and waits until it is confirmed.
    pub async fn send(&mut self, body: Bytes) -> anyhow::Result<()> {
        match self {
            Sender::Sortie { client, ids } => {
                let mut call = Call::post(format!("/{QUEUE}/messages"), "application/octet-stream", body);
                if *ids {
                    let properties = format!("{{\"MessageId\":\"{}\"}}", new_id());
                    call = call.header(BROKER_PROPERTIES, HeaderValue::try_from(properties)?);
                }
                Ok(client.send(call).await.map(drop)?)
            }
            Sender::RabbitMq { brokers, to } => {
                Ok(brokers.send(to, &Message::new(new_id(), body), PATIENCE).await?)
            }
        }
    }
}

impl Consumer {
    /// The next message, completed; nothing when none came within a second.
    pub async fn take(&mut self) -> anyhow::Result<Option<Bytes>> {
        match self {
            Consumer::Sortie(client) => {
                let path = format!("/{QUEUE}/messages/head?timeout={WAIT_SECONDS}");
                let answer = client.send(Call::post_nothing(path)).await?;
                if answer.status == StatusCode::NO_CONTENT {
                    return Ok(None);
                }
                let location = answer.headers.get(LOCATION).and_then(|location| location.to_str().ok());
                let lock = location.context("a message comes with its lock")?;
                let path = lock.splitn(4, '/').nth(3).context("a lock is an absolute URL")?;
                client.send(Call::delete(format!("/{path}"))).await?;
                Ok(Some(answer.body))
            }
            Consumer::RabbitMq(receiver) => {
                let waiting = tokio::time::timeout(Duration::from_secs(WAIT_SECONDS), receiver.next());
                let Ok(delivery) = waiting.await else { return Ok(None) };
                let delivery = delivery?;
                let body = delivery.message.body.clone();
                delivery.accept().await?;
                Ok(Some(body))
            }
        }
    }
}

fn client(address: SocketAddr, token: &str) -> anyhow::Result<ApiClient> {
    Ok(ApiClient::new(&format!("http://{address}"), Some(token))?)
}
