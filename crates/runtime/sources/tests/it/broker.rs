//! Queues and streams of real brokers as sources: each message starts its run, and poison is kept with its bytes.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use action::BrokerDestination;
use brokers::{Anywhere, Brokers, Endpoint, Login, MessageTarget};
use engine::queues::{QueueAnswer, QueueCommand, partition_of};
use kernel::queue::SubQueue;
use sources::{ForwardedRequest, Forwarding, PartitionOwners, Sources};
use test_brokers::{NatsServer, RabbitMq};
use types::{Message, PartitionId, Property, QueueName, QueueSpec};

use crate::life::{Life, PARTITIONS, live, live_without_partitions, name, until};

const PATIENCE: Duration = Duration::from_secs(60);

fn workflow(services: &str, source: &str) -> String {
    format!(
        "
name: orders
accept:
  schema: {{ type: object, required: [item] }}
services: {{ a: {{ url: \"http://127.0.0.1:1\" }}, b: {services} }}
sources:
  - {source}
steps:
  one:
    call: {{ service: a, method: PUT, path: /one }}
"
    )
}

/// Sends good messages and two bad ones, and waits until the source has dealt with all of them.
async fn drive(life: &Life, to: MessageTarget) {
    let brokers = Brokers::new(Arc::new(Anywhere));
    let send = async |id: &str, body: &str| {
        let message = Message::new(id.to_owned(), body.to_owned());
        brokers.send(&to, &message, PATIENCE).await.unwrap();
    };
    for n in 0..20 {
        send(&format!("order-{n}"), "{\"item\": 1}").await;
    }
    send("bad", "{item \u{1F600}").await;
    send("large", &large_body()).await;
    // The same again: a broker may deliver twice, and the run is there.
    send("order-3", "{\"item\": 1}").await;
    send("last", "{\"item\": 1}").await;
    let mut expected: Vec<String> = (0..20).map(|n| format!("order-{n}")).collect();
    expected.push("last".to_owned());
    expected.sort();
    until("every message starts one run", async || life.called.messages() == expected).await;
    until("poison is parked", async || !parked(life).await.is_empty()).await;
    until("what is large is parked in parts", async || parked(life).await.len() == 4).await;
    let parked = parked(life).await;
    let text = |message: &Message, name: &str| match message.properties.get(name) {
        Some(Property::Text(text)) => text.clone(),
        other => panic!("{name}: {other:?}"),
    };
    let of = |id: &str| parked.iter().filter(|one| text(one, "ParkedId") == id).collect::<Vec<_>>();
    let bad = of("bad");
    assert_eq!((bad.len(), bad[0].body.as_ref()), (1, "{item \u{1F600}".as_bytes()));
    assert!(text(bad[0], "ParkedBecause").contains("not valid JSON"), "{bad:?}");
    let mut large = of("large");
    large.sort_by_key(|one| text(one, "ParkedPart"));
    let whole: Vec<u8> = large.iter().flat_map(|one| one.body.to_vec()).collect();
    assert!(whole == large_body().as_bytes(), "{} bytes came back", whole.len());
}

/// Larger than a request may be.
fn large_body() -> String {
    (0..50_000).map(|n| format!("{n:06}")).collect()
}

/// Notes what it is asked to keep.
#[derive(Default)]
struct Elsewhere(Mutex<Vec<(QueueName, Message)>>);

impl PartitionOwners for Elsewhere {
    fn hand_in(&self, _partition: PartitionId, _request: ForwardedRequest) -> Forwarding<'_, String> {
        unreachable!("no body names its run");
    }

    fn park(&self, queue: QueueName, message: Message) -> Forwarding<'_, ()> {
        self.0.lock().unwrap().push((queue, message));
        Box::pin(std::future::ready(Ok(())))
    }
}

async fn parked(life: &Life) -> Vec<Message> {
    // It is made with the first message that is parked.
    let put = QueueCommand::PutQueue { name: name("orders.poison"), spec: QueueSpec::default() };
    let QueueAnswer::Put { .. } = life.ask("orders.poison", put).await else { panic!("made or there") };
    life.peek("orders.poison", SubQueue::Main).await.into_iter().map(|one| one.message).collect()
}

fn guest() -> Option<Login> {
    Some(Login { username: "guest".to_owned(), password: "guest".to_owned() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_of_rabbitmq_starts_runs_by_either_protocol() {
    let peer = tokio::task::spawn_blocking(|| RabbitMq::start().unwrap()).await.unwrap();
    let services = format!("{{ url: \"{}\" }}", peer.url());
    // RabbitMQ makes a queue of this form when it is first asked for.
    let to = |queue: &str| {
        Endpoint::new(peer.url(), guest())
            .target(BrokerDestination::Amqp { address: format!("/queue/{queue}") })
    };
    for (queue, source) in [
        ("one", "{ type: amqp, service: b, address: /queue/one }"),
        ("two", "{ type: rabbitmq, service: b, queue: two, concurrency: 3 }"),
    ] {
        let mut life = live().await;
        let sources = Sources::start(life.parts.take().unwrap());
        life.control.apply(&workflow(&services, source), "test", None).await.unwrap();
        drive(&life, to(queue)).await;
        sources.stop().await;
    }
}

/// Asks the server of NATS for a stream, in its own protocol.
fn make_stream(peer: &NatsServer, name: &str) {
    let stream = TcpStream::connect(peer.url().trim_start_matches("nats://")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let config = format!("{{\"name\":\"{name}\",\"subjects\":[\"{name}.>\"]}}");
    let subject = format!("$JS.API.STREAM.CREATE.{name}");
    let ask = format!(
        "CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB {subject} answer {}\r\n{config}\r\n",
        config.len()
    );
    (&stream).write_all(ask.as_bytes()).unwrap();
    let mut lines = BufReader::new(&stream).lines();
    let answer = lines.find(|line| line.as_ref().unwrap().contains("stream_create_response"));
    let answer = answer.unwrap().unwrap();
    assert!(!answer.contains("\"error\""), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_nats_starts_runs() {
    let peer = tokio::task::spawn_blocking(|| NatsServer::start().unwrap()).await.unwrap();
    tokio::task::block_in_place(|| make_stream(&peer, "src"));
    let mut life = live().await;
    let sources = Sources::start(life.parts.take().unwrap());
    let services = format!("{{ url: \"{}\" }}", peer.url());
    let source = "{ type: nats, service: b, stream: src, subject: src.new }";
    life.control.apply(&workflow(&services, source), "test", None).await.unwrap();
    let to = Endpoint::new(peer.url(), None)
        .target(BrokerDestination::Nats { subject: "src.new".to_owned(), stream: Some(true) });
    drive(&life, to).await;
    sources.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn poison_is_parked_where_its_queue_is_held() {
    let peer = tokio::task::spawn_blocking(|| NatsServer::start().unwrap()).await.unwrap();
    tokio::task::block_in_place(|| make_stream(&peer, "src"));
    let mut life = live_without_partitions().await;
    for partition in (0..PARTITIONS).map(PartitionId) {
        if partition != partition_of(&name("orders.poison"), PARTITIONS) {
            life.engine.take(partition).await.unwrap();
        }
    }
    let elsewhere = Arc::new(Elsewhere::default());
    let mut parts = life.parts.take().unwrap();
    parts.holders = Some(elsewhere.clone());
    let sources = Sources::start(parts);
    let services = format!("{{ url: \"{}\" }}", peer.url());
    let source = "{ type: nats, service: b, stream: src, subject: src.new }";
    life.control.apply(&workflow(&services, source), "test", None).await.unwrap();
    let to = Endpoint::new(peer.url(), None)
        .target(BrokerDestination::Nats { subject: "src.new".to_owned(), stream: Some(true) });
    let brokers = Brokers::new(Arc::new(Anywhere));
    brokers.send(&to, &Message::new("bad", "{item"), PATIENCE).await.unwrap();
    until("it is parked", async || !elsewhere.0.lock().unwrap().is_empty()).await;
    let (queue, message) = elsewhere.0.lock().unwrap()[0].clone();
    assert_eq!((queue, message.body.as_ref()), (name("orders.poison"), b"{item".as_slice()));
    sources.stop().await;
}
