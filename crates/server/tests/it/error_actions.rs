//! A job whose endpoint is down tells each kind of queue and broker, and each has the message.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use action::BrokerOrigin;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use brokers::{Anywhere, Brokers, Endpoint, Login};
use http::Method;
use serde_json::{Value, json};
use test_brokers::{Azurite, NatsServer, RabbitMq};
use types::Property;

use crate::client::{call, request};
use crate::jobs_target::nowhere;
use crate::jobs_world::{Scheduler, retries};

const PATIENCE: Duration = Duration::from_secs(60);

/// A server with a collection, a queue and a topic with a subscription.
async fn world() -> Scheduler {
    let world = Scheduler::start().await;
    world.put("/v1/collections/c", &json!({})).await.expect(201);
    world.put("/v1/queues/errors", &json!({})).await.expect(201);
    world.put("/v1/topics/news", &json!({})).await.expect(201);
    let filter = json!({ "filter": { "label": "failed" } });
    world.put("/v1/topics/news/subscriptions/failed", &filter).await.expect(201);
    world
}

/// Runs a job whose endpoint is down until its errorAction has run; it must have been done.
async fn run_error_action(world: &Scheduler, name: &str, mut error_action: Value) {
    let job = format!("/v1/collections/c/jobs/{name}");
    error_action["retryPolicy"] = retries(3);
    let action = json!({
        "type": "Http",
        "request": { "uri": nowhere().await, "method": "POST" },
        "retryPolicy": retries(1),
        "errorAction": error_action,
    });
    world.put(&job, &json!({ "properties": { "action": action } })).await.expect(201);
    world.wait(&job, |job| job["properties"]["state"] == "faulted").await;
    let history = world.get(&format!("{job}/history")).await;
    let newest = &history["items"][0];
    let told = (newest["actionName"].as_str(), newest["status"].as_str());
    assert_eq!(told, (Some("ErrorAction"), Some("completed")), "{history}");
    assert!(!history.to_string().contains("s3cr3t"), "{history}");
}

/// What every action below sends besides where to.
fn sends(mut to: Value, message: &str) -> Value {
    to["message"] = message.into();
    to["brokeredMessageProperties"] = json!({ "label": "failed", "correlationId": "c-7" });
    to["customMessageProperties"] = json!({ "country": "NO" });
    to
}

/// The next message of a built-in queue or subscription, with its properties.
async fn next(world: &Scheduler, path: &str) -> (String, Value, String) {
    let got =
        world.send(Method::POST, &format!("{path}/messages/head?timeout=60"), &Value::Null).await.expect(201);
    let known = serde_json::from_str(got.headers["brokerproperties"].to_str().unwrap()).unwrap();
    let country = got.headers["country"].to_str().unwrap().to_owned();
    let lock = got.headers["location"].to_str().unwrap().splitn(4, '/').nth(3).unwrap().to_owned();
    world.send(Method::DELETE, &format!("/{lock}"), &Value::Null).await.expect(200);
    (got.text, known, country)
}

#[tokio::test(flavor = "multi_thread")]
async fn built_in_queues_and_topics_have_the_message_by_either_name() {
    let world = world().await;
    let own = format!("http://{}", world.address);
    let key = json!({ "type": "SharedAccessKey", "sasKeyName": "root", "sasKey": "s3cr3t" });
    let bus = |member: &str, name: &str| json!({ member: name, "namespace": own, "transportType": "NetMessaging", "authentication": key });
    let cases = [
        (
            "queue",
            json!({ "type": "Queue", "queue": sends(json!({ "name": "errors" }), "by queue") }),
            "/errors",
        ),
        (
            "topic",
            json!({ "type": "Topic", "topic": sends(json!({ "name": "news" }), "by topic") }),
            "/news/subscriptions/failed",
        ),
        (
            "busqueue",
            json!({ "type": "ServiceBusQueue",
                "serviceBusQueueMessage": sends(bus("queueName", "errors"), "by busqueue") }),
            "/errors",
        ),
        (
            "bustopic",
            json!({ "type": "ServiceBusTopic",
                "serviceBusTopicMessage": sends(bus("topicPath", "news"), "by bustopic") }),
            "/news/subscriptions/failed",
        ),
    ];
    for (name, action, path) in cases {
        run_error_action(&world, name, action).await;
        let (text, known, country) = next(&world, path).await;
        assert_eq!(text, format!("by {name}"));
        assert_eq!((&known["Label"], &known["CorrelationId"]), (&json!("failed"), &json!("c-7")), "{known}");
        assert_eq!(country, "\"NO\"");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storage_queue_has_the_message_in_its_envelope() {
    let azurite = tokio::task::spawn_blocking(|| Azurite::start().unwrap()).await.unwrap();
    let url = azurite.url();
    let (address, account) = url.trim_start_matches("http://").split_once('/').unwrap();
    let address: SocketAddr = address.parse().unwrap();
    let ask = async |method, path: &str| {
        let path = format!("/{account}/errors{path}{}", azurite.sas());
        call(address, request(method, &path, "")).await
    };
    ask(Method::PUT, "").await.expect(201);
    let world = world().await;
    let message = json!({ "storageAccount": azurite.url(), "queueName": "errors", "sasToken": azurite.sas(),
        "message": "the endpoint is down" });
    run_error_action(&world, "storage", json!({ "type": "StorageQueue", "queueMessage": message })).await;
    let got = ask(Method::GET, "/messages").await.expect(200).text;
    let text = got.split("MessageText>").nth(1).unwrap().trim_end_matches("</");
    let envelope = String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
    assert!(envelope.contains("<Message>the endpoint is down</Message>"), "{envelope}");
    assert!(envelope.contains("<SchedulerJobId>storage</SchedulerJobId>"), "{envelope}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq_has_the_message_by_either_protocol() {
    let peer = tokio::task::spawn_blocking(|| RabbitMq::start().unwrap()).await.unwrap();
    let world = world().await;
    let login = Some(Login { username: "guest".to_owned(), password: "guest".to_owned() });
    let brokers = Brokers::new(Arc::new(Anywhere));
    // A queue of this form is made when it is first asked for.
    let broker = Endpoint::new(peer.url(), login.clone());
    let by_amqp = |queue: &str| {
        broker.clone().source(BrokerOrigin::Amqp { address: format!("/queue/{queue}") }, "test")
    };
    let mut receiver = brokers.open(&by_amqp("errors"), 1).await.unwrap();
    drop(brokers.open(&by_amqp("plain"), 1).await.unwrap());
    let plain = broker.clone().source(BrokerOrigin::RabbitMq { queue: "plain".to_owned() }, "test");
    let mut plain = brokers.open(&plain, 1).await.unwrap();
    let guest = json!({ "type": "SharedAccessKey", "sasKeyName": "guest", "sasKey": "guest" });
    let cases = [
        (
            "amqp",
            json!({ "type": "Amqp", "amqp": sends(json!({ "url": peer.url(), "address": "/queue/errors",
                "username": "guest", "password": "guest" }), "by amqp") }),
        ),
        (
            "bus",
            json!({ "type": "ServiceBusQueue", "serviceBusQueueMessage": sends(json!({
                "queueName": "errors", "namespace": peer.url(), "transportType": "AMQP",
                "authentication": guest }), "by bus") }),
        ),
        (
            "rabbitmq",
            json!({ "type": "RabbitMq", "rabbitMq": sends(json!({ "url": peer.url(), "routingKey": "plain",
                "username": "guest", "password": "guest" }), "by rabbitmq") }),
        ),
    ];
    for (name, action) in cases {
        run_error_action(&world, name, action).await;
        let receiver = if name == "rabbitmq" { &mut plain } else { &mut receiver };
        let delivery = tokio::time::timeout(PATIENCE, receiver.next()).await.unwrap().unwrap();
        let message = delivery.message.clone();
        delivery.accept().await.unwrap();
        assert_eq!(message.body, format!("by {name}"));
        assert_eq!(message.correlation_id.as_deref(), Some("c-7"), "{message:?}");
        assert_eq!(message.properties.get("country"), Some(&Property::from("NO")), "{message:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_has_the_message() {
    let peer = tokio::task::spawn_blocking(|| NatsServer::start().unwrap()).await.unwrap();
    let stream = TcpStream::connect(peer.url().trim_start_matches("nats://")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let subscribe = "CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB errors 1\r\nPING\r\n";
    (&stream).write_all(subscribe.as_bytes()).unwrap();
    let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
    // The subscription is active when the server has answered what followed it.
    lines.find(|line| line.starts_with("PONG")).unwrap();
    let world = world().await;
    let nats = sends(json!({ "url": peer.url(), "subject": "errors", "stream": false }), "by nats");
    run_error_action(&world, "nats", json!({ "type": "Nats", "nats": nats })).await;
    let read = tokio::task::block_in_place(|| lines.find(|line| line.contains("by nats")));
    assert!(read.is_some());
}
