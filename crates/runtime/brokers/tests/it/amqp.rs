//! AMQP 1.0, at RabbitMQ's plug-in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use action::{BrokerDestination, BrokerOrigin};
use brokers::{Endpoint, Login, MessageSource, MessageTarget, SendError};
use serde_json::json;
use test_brokers::RabbitMq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use types::Message;

use crate::shared::{
    PATIENCE, brokers, counted, full, guest, once_each, rabbit, received_by_rhea, send_crowd,
};

pub fn to(peer: &RabbitMq, address: &str) -> MessageTarget {
    Endpoint::new(peer.url(), guest()).target(BrokerDestination::Amqp { address: address.to_owned() })
}

pub fn from(peer: &RabbitMq, address: &str) -> MessageSource {
    Endpoint::new(peer.url(), guest()).source(BrokerOrigin::Amqp { address: address.to_owned() }, "sortie")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_received_by_rhea_with_every_property() {
    let peer = rabbit();
    // The plug-in makes queues of this form when they are first asked for.
    brokers().send(&to(peer, "/queue/rhea"), &full("m-1"), PATIENCE).await.unwrap();
    let expected = json!({
        "section": 0x75,
        "body": "00ff610a80",
        "durable": true,
        "first_acquirer": true,
        "ttl": 3_600_000,
        "message_id": "m-1",
        "to": "warehouse",
        "subject": "order.created",
        "reply_to": "answers",
        "correlation_id": "order-7",
        "content_type": "application/octet-stream",
        "group_id": "customer-3",
        "reply_to_group_id": "answers-3",
        "message_annotations": {
            "x-opt-scheduled-enqueue-time": 1_700_000_000_000_i64,
            "x-opt-partition-key": "customer-3",
            "x-opt-via-partition-key": "via-3",
        },
        "application_properties": { "city": "Zürich", "count": 42, "share": 0.25, "urgent": true },
    });
    let got = received_by_rhea(peer.port(), "/queue/rhea", 1).await;
    assert_eq!(got, [expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_comes_back_as_it_was_sent() {
    let peer = rabbit();
    let brokers = brokers();
    brokers.send(&to(peer, "/queue/whole-1-0"), &full("m-1"), PATIENCE).await.unwrap();
    let mut receiver = brokers.open(&from(peer, "/queue/whole-1-0"), 10).await.unwrap();
    let delivery = receiver.next().await.unwrap();
    assert_eq!(delivery.message, full("m-1"));
    delivery.accept().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_message_and_an_empty_one_arrive_whole() {
    let peer = rabbit();
    let brokers = brokers();
    let large = Message::new("large", vec![7; 3 << 20]);
    for message in [&large, &Message::new("", "")] {
        brokers.send(&to(peer, "/queue/sizes"), message, PATIENCE).await.unwrap();
    }
    let mut receiver = brokers.open(&from(peer, "/queue/sizes"), 2).await.unwrap();
    assert!(receiver.next().await.unwrap().message.body == large.body);
    let empty = receiver.next().await.unwrap().message;
    assert_eq!((empty.id.as_str(), empty.body.len()), ("", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_sends_is_confirmed_and_all_of_it_comes_once() {
    let peer = rabbit();
    let brokers = brokers();
    send_crowd(&brokers, &to(peer, "/queue/crowd-1-0"), 500).await;
    // More than the credit: it must be renewed while deliveries are settled.
    let mut receiver = brokers.open(&from(peer, "/queue/crowd-1-0"), 100).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..500 {
        let delivery = receiver.next().await.unwrap();
        ids.push(delivery.message.id.clone());
        delivery.accept().await.unwrap();
    }
    assert_eq!(counted(ids), once_each(500));
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_are_unsettled_at_once_and_come_again_when_released_or_when_their_receiver_is_gone() {
    let peer = rabbit();
    let brokers = brokers();
    let from = from(peer, "/queue/held-1-0");
    send_crowd(&brokers, &to(peer, "/queue/held-1-0"), 300).await;
    let mut receiver = brokers.open(&from, 300).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..300 {
        held.push(receiver.next().await.unwrap());
    }
    for delivery in held.drain(200..).rev() {
        delivery.release().await.unwrap();
    }
    for delivery in held.drain(100..) {
        delivery.accept().await.unwrap();
    }
    drop((receiver, held));
    let mut receiver = brokers.open(&from, 300).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..200 {
        let delivery = receiver.next().await.unwrap();
        ids.push(delivery.message.id.clone());
        delivery.accept().await.unwrap();
    }
    assert_eq!(counted(ids).into_values().max(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_broker_will_never_take_is_refused_and_says_why() {
    let peer = rabbit();
    let brokers = brokers();
    let check = async |to: MessageTarget, told: &str| match brokers
        .send(&to, &Message::new("1", "x"), PATIENCE)
        .await
    {
        Err(SendError::Refused(text)) => assert!(text.contains(told) && !text.contains("hush"), "{text}"),
        other => panic!("{told}: {other:?}"),
    };
    check(to(peer, "/exchange/missing-1-0/key"), "no exchange 'missing-1-0'").await;
    let stranger = Some(Login { username: "guest".to_owned(), password: "hush-hush".to_owned() });
    let wrong = Endpoint::new(peer.url(), stranger)
        .target(BrokerDestination::Amqp { address: "/queue/any".to_owned() });
    check(wrong, "refused the login").await;
    let with_secret = peer.url().replace("//", "//guest:hush@");
    let inside =
        Endpoint::new(with_secret, None).target(BrokerDestination::Amqp { address: "/queue/any".to_owned() });
    check(inside, "belong in the login").await;
    let opened = brokers.open(&from(peer, "/amq/queue/missing-1-0"), 1).await.map(|_| ()).unwrap_err();
    assert!(opened.to_string().contains("no queue 'missing-1-0'"), "{opened}");
    brokers.send(&to(peer, "/queue/after-refusals"), &Message::new("1", "x"), PATIENCE).await.unwrap();
}

/// Stands before a broker, takes one connection, and tells when the client has ended it. Muted, it keeps what the broker
/// says to itself.
struct Relay {
    port: u16,
    muted: Arc<AtomicBool>,
    ended: oneshot::Receiver<()>,
}

impl Relay {
    async fn before(peer: &RabbitMq) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let broker = peer.port();
        let muted = Arc::new(AtomicBool::new(false));
        let (tell, ended) = oneshot::channel();
        let says_nothing = muted.clone();
        tokio::spawn(async move {
            let (mut client_reads, mut client_writes) = listener.accept().await.unwrap().0.into_split();
            let broker = TcpStream::connect(("127.0.0.1", broker)).await.unwrap();
            let (mut broker_reads, mut broker_writes) = broker.into_split();
            tokio::spawn(async move {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = broker_reads.read(&mut bytes).await {
                    if !says_nothing.load(Ordering::Relaxed) {
                        client_writes.write_all(&bytes[..count]).await.unwrap();
                    }
                }
                // Held open to the end: the client must not learn from a closed connection.
                std::future::pending::<()>().await;
                drop(client_writes);
            });
            let _ = tokio::io::copy(&mut client_reads, &mut broker_writes).await;
            tell.send(()).unwrap();
        });
        Relay { port, muted, ended }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_leaves_nothing_with_a_broker_that_does_not_answer() {
    let peer = rabbit();
    let brokers = brokers();
    send_crowd(&brokers, &to(peer, "/queue/silent-1-0"), 10).await;
    let relay = Relay::before(peer).await;
    let origin = Endpoint::new(format!("amqp://127.0.0.1:{}", relay.port), guest())
        .source(BrokerOrigin::Amqp { address: "/queue/silent-1-0".to_owned() }, "sortie");
    let mut receiver = brokers.open(&origin, 10).await.unwrap();
    let delivery = receiver.next().await.unwrap();
    relay.muted.store(true, Ordering::Relaxed);
    drop((receiver, delivery));
    relay.ended.await.unwrap();
    let mut receiver = brokers.open(&from(peer, "/queue/silent-1-0"), 10).await.unwrap();
    for _ in 0..10 {
        receiver.next().await.unwrap().accept().await.unwrap();
    }
}
