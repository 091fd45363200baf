//! Brokers with TLS: used when their certificates match, and sent nothing otherwise.

use std::env;
use std::process::Command;
use std::sync::Arc;

use action::{BrokerDestination, BrokerOrigin};
use async_nats::jetstream::{self, stream};
use brokers::{Anywhere, Brokers, Endpoint, MessageSource, MessageTarget, SendError};
use test_brokers::{Authority, NatsServer};
use types::Message;

use crate::shared::{PATIENCE, authority, brokers, guest, nats, rabbit};

const HOST: &str = "127.0.0.1";
const SUBJECT: &str = "secured.new";
/// RabbitMQ's way to name a queue at AMQP 1.0; it is made when it is used.
const QUEUE: &str = "/queue/secured";

/// A client that trusts this authority, beside those of the machine.
fn trusting(authority: &Authority) -> Brokers {
    Brokers::with_roots(Arc::new(Anywhere), vec![authority.der().into()])
}

fn nats_with(lines: &str) -> NatsServer {
    NatsServer::start_with(lines).unwrap()
}

fn by_tls(peer: &NatsServer) -> String {
    peer.url().replace("nats://", "tls://")
}

fn to_nats(url: &str) -> MessageTarget {
    Endpoint::new(url.to_owned(), None)
        .target(BrokerDestination::Nats { subject: SUBJECT.to_owned(), stream: Some(false) })
}

fn to_amqp(url: &str) -> MessageTarget {
    Endpoint::new(url.to_owned(), guest()).target(BrokerDestination::Amqp { address: QUEUE.to_owned() })
}

fn to_rabbit(url: &str) -> MessageTarget {
    Endpoint::new(url.to_owned(), guest())
        .target(BrokerDestination::RabbitMq { exchange: None, routing_key: "secured".to_owned() })
}

/// What is said of a message that did not leave.
async fn unsent(brokers: &Brokers, to: &MessageTarget) -> String {
    match brokers.send(to, &Message::new("1", "secret"), PATIENCE).await {
        Err(SendError::NotSent(told)) => told,
        other => panic!("{other:?}"),
    }
}

async fn next_body(brokers: &Brokers, from: &MessageSource) -> String {
    let mut receiver = brokers.open(from, 1).await.unwrap();
    let delivery = receiver.next().await.unwrap();
    let body = String::from_utf8_lossy(&delivery.message.body).into_owned();
    delivery.accept().await.unwrap();
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nats_server_that_proves_its_name_is_sent_to_and_received_from() {
    let authority = Authority::new().unwrap();
    let peer = nats_with(&authority.nats_tls(&authority.issue(HOST).unwrap()));
    let brokers = trusting(&authority);
    let options = async_nats::ConnectOptions::new().add_root_certificates(authority.file());
    let streams = jetstream::new(options.connect(by_tls(&peer)).await.unwrap());
    let config = stream::Config { name: "secured".to_owned(), ..stream::Config::default() };
    streams.create_stream(stream::Config { subjects: vec![SUBJECT.to_owned()], ..config }).await.unwrap();
    for url in [by_tls(&peer), peer.url()] {
        let to = Endpoint::new(url, None)
            .target(BrokerDestination::Nats { subject: SUBJECT.to_owned(), stream: Some(true) });
        brokers.send(&to, &Message::new("1", "over TLS"), PATIENCE).await.unwrap();
    }
    let from = Endpoint::new(by_tls(&peer), None)
        .source(BrokerOrigin::Nats { stream: "secured".to_owned(), subject: None }, "sortie");
    assert_eq!(next_body(&brokers, &from).await, "over TLS");
}

#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq_by_both_protocols_is_used_when_it_proves_its_name_and_not_otherwise() {
    let url = rabbit().tls_url();
    let trusting = trusting(authority());
    trusting.send(&to_amqp(&url), &Message::new("1", "by 1.0"), PATIENCE).await.unwrap();
    trusting.send(&to_rabbit(&url), &Message::new("2", "by 0-9-1"), PATIENCE).await.unwrap();
    let from = Endpoint::new(url.clone(), guest())
        .source(BrokerOrigin::RabbitMq { queue: "secured".to_owned() }, "sortie");
    assert_eq!(next_body(&trusting, &from).await, "by 1.0");
    let from = Endpoint::new(url.clone(), guest())
        .source(BrokerOrigin::Amqp { address: QUEUE.to_owned() }, "sortie");
    assert_eq!(next_body(&trusting, &from).await, "by 0-9-1");

    for to in [to_amqp(&url), to_rabbit(&url)] {
        let told = unsent(&brokers(), &to).await;
        assert!(told.contains("UnknownIssuer"), "{told}");
    }
    // The name counts, and not only who has signed.
    let by_name = url.replace(HOST, "localhost");
    for to in [to_amqp(&by_name), to_rabbit(&by_name)] {
        let told = unsent(&trusting, &to).await;
        assert!(told.contains("not valid for name \"localhost\""), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nats_server_that_does_not_prove_its_name_gets_nothing() {
    let [authority, stranger] = [(); 2].map(|()| Authority::new().unwrap());
    let table = [
        (stranger.issue(HOST).unwrap(), "UnknownIssuer"),
        (authority.issue_expired(HOST).unwrap(), "certificate expired"),
        (authority.issue("other.test").unwrap(), "not valid for name \"127.0.0.1\""),
    ];
    for (shown, why) in table {
        let peer = nats_with(&authority.nats_tls(&shown));
        let told = unsent(&trusting(&authority), &to_nats(&by_tls(&peer))).await;
        assert!(told.contains(why), "{why}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_without_tls_gets_nothing_from_an_address_that_asks_for_it() {
    let trusting = trusting(&Authority::new().unwrap());
    let amqps = rabbit().url().replace("amqp://", "amqps://");
    for to in [to_nats(&by_tls(nats())), to_amqp(&amqps), to_rabbit(&amqps)] {
        unsent(&trusting, &to).await;
    }
}

/// Plays two parts: what a machine trusts is said by its environment, so this test starts itself in another one.
#[tokio::test(flavor = "multi_thread")]
async fn the_authorities_of_a_file_that_the_environment_names_are_trusted() {
    const URL: &str = "SORTIE_TEST_TLS_URL";
    if let Ok(url) = env::var(URL) {
        brokers().send(&to_nats(&url), &Message::new("1", "over TLS"), PATIENCE).await.unwrap();
        return;
    }
    let authority = Authority::new().unwrap();
    let peer = nats_with(&authority.nats_tls(&authority.issue(HOST).unwrap()));
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tls::the_authorities_of_a_file_that_the_environment_names_are_trusted"])
        .env("SSL_CERT_FILE", authority.file())
        .env_remove("SSL_CERT_DIR")
        .env(URL, by_tls(&peer))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}
