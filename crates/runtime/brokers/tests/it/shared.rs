//! What the tests of all brokers share: a message with everything in it, and external clients.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use brokers::{Anywhere, Brokers, Guard, Login, MessageTarget, SendError};
use serde_json::Value;
use test_brokers::{Authority, NatsServer, RabbitMq};
use types::{Message, Property, Span, Timestamp};

/// Longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn brokers() -> Brokers {
    Brokers::new(Arc::new(Anywhere))
}

pub fn guest() -> Option<Login> {
    Some(Login { username: "guest".to_owned(), password: "guest".to_owned() })
}

/// Who has signed the certificate of [`rabbit`].
pub fn authority() -> &'static Authority {
    static AUTHORITY: OnceLock<Authority> = OnceLock::new();
    AUTHORITY.get_or_init(|| Authority::new().unwrap())
}

/// One for all tests that do it no harm. It ends with the process.
pub fn rabbit() -> &'static RabbitMq {
    static RABBIT: OnceLock<RabbitMq> = OnceLock::new();
    RABBIT.get_or_init(|| RabbitMq::start_with_tls(&authority().issue("127.0.0.1").unwrap()).unwrap())
}

pub fn nats() -> &'static NatsServer {
    static NATS: OnceLock<NatsServer> = OnceLock::new();
    NATS.get_or_init(|| NatsServer::start().unwrap())
}

/// Every field is set, and the body is not text.
pub fn full(id: &str) -> Message {
    let text = |text: &str| Some(text.to_owned());
    let properties = [
        ("city", Property::from("Zürich")),
        ("count", Property::Number("42".to_owned())),
        ("share", Property::Number("0.25".to_owned())),
        ("urgent", Property::Flag(true)),
    ];
    Message {
        id: id.to_owned(),
        body: vec![0, 255, b'a', b'\n', 0x80].into(),
        content_type: text("application/octet-stream"),
        correlation_id: text("order-7"),
        label: text("order.created"),
        partition_key: text("customer-3"),
        reply_to: text("answers"),
        reply_to_session: text("answers-3"),
        session: text("customer-3"),
        to: text("warehouse"),
        via_partition_key: text("via-3"),
        force_persistence: Some(true),
        time_to_live: Some(Span::from_secs(3600)),
        scheduled_at: Some(Timestamp(1_700_000_000_000)),
        properties: properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

/// What a client of somebody else receives that is written in Python.
pub async fn received(kind: &str, place: &str, name: &str, count: usize) -> Vec<Value> {
    let mut python = Command::new(test_brokers::python().unwrap());
    python.arg(script("receive.py")).args([kind, place, name, &count.to_string()]);
    lines_of(python).await
}

/// What the client for AMQP 1.0 receives.
pub async fn received_by_rhea(port: u16, address: &str, count: usize) -> Vec<Value> {
    let mut node = test_brokers::node().unwrap();
    node.arg(script("receive.js")).args([&port.to_string(), address, &count.to_string()]);
    lines_of(node).await
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/brokers").join(name)
}

async fn lines_of(mut client: Command) -> Vec<Value> {
    client.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = tokio::task::spawn_blocking(move || client.output().unwrap()).await.unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Sends `count` messages at once, with the ids from 0 on.
pub async fn send_crowd(brokers: &Brokers, to: &MessageTarget, count: usize) {
    let sends = (0..count).map(|number| {
        let (brokers, to) = (brokers.clone(), to.clone());
        tokio::spawn(async move {
            let message = Message::new(format!("{number}"), format!("body {number}"));
            brokers.send(&to, &message, PATIENCE).await
        })
    });
    for send in sends.collect::<Vec<_>>() {
        assert_eq!(send.await.unwrap(), Ok(()));
    }
}

/// Waits until a send works again, as after a broker has come back.
pub async fn send_until_done(brokers: &Brokers, to: &MessageTarget, message: &Message) {
    for _ in 0..600 {
        match brokers.send(to, message, PATIENCE).await {
            Ok(()) => return,
            Err(SendError::Refused(told)) => panic!("{told}"),
            Err(SendError::NotSent(_) | SendError::Unknown(_)) => {}
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the broker does not come back");
}

/// Sends until an answer fails to come: a process that receives SIGSTOP may finish its current step.
pub async fn send_until_unanswered(brokers: &Brokers, to: &MessageTarget, message: &Message) -> SendError {
    for _ in 0..100 {
        if let Err(error) = brokers.send(to, message, Duration::from_millis(500)).await {
            return error;
        }
    }
    panic!("the broker answers as if nothing had happened");
}

/// How often each id was received.
pub fn counted(ids: impl IntoIterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for id in ids {
        *counts.entry(id).or_default() += 1;
    }
    counts
}

/// Every id below `count`, once.
pub fn once_each(count: usize) -> BTreeMap<String, usize> {
    (0..count).map(|number| (number.to_string(), 1)).collect()
}

/// Says no to everything.
pub struct Nowhere;

impl Guard for Nowhere {
    fn check(&self, address: IpAddr, host: &str) -> Result<(), String> {
        Err(format!("{host} ({address}) is inside"))
    }
}
