//! NATS, with JetStream and without.

use std::sync::Arc;
use std::time::Duration;

use action::{BrokerDestination, BrokerOrigin};
use async_nats::jetstream::{self, stream};
use brokers::{Brokers, Endpoint, Login, MessageSource, MessageTarget, ReceiveError, SendError};
use futures_util::StreamExt;
use serde_json::json;
use test_brokers::NatsServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use types::{Message, Property};

use crate::shared::{
    Nowhere, PATIENCE, brokers, counted, full, nats, received, send_crowd, send_until_done,
    send_until_unanswered,
};

async fn streams(peer: &NatsServer) -> jetstream::Context {
    jetstream::new(async_nats::connect(peer.url()).await.unwrap())
}

async fn declare(peer: &NatsServer, name: &str) {
    let subjects = vec![format!("{name}.>")];
    let config = stream::Config { name: name.to_owned(), subjects, ..stream::Config::default() };
    streams(peer).await.create_stream(config).await.unwrap();
}

async fn stored(peer: &NatsServer, stream: &str) -> u64 {
    streams(peer).await.get_stream(stream).await.unwrap().cached_info().state.messages
}

fn to(peer: &NatsServer, subject: &str) -> MessageTarget {
    Endpoint::new(peer.url(), None)
        .target(BrokerDestination::Nats { subject: subject.to_owned(), stream: Some(true) })
}

fn plainly_to(peer: &NatsServer, subject: &str) -> MessageTarget {
    Endpoint::new(peer.url(), None)
        .target(BrokerDestination::Nats { subject: subject.to_owned(), stream: Some(false) })
}

fn from(peer: &NatsServer, stream: &str, subject: Option<&str>) -> MessageSource {
    Endpoint::new(peer.url(), None).source(
        BrokerOrigin::Nats { stream: stream.to_owned(), subject: subject.map(str::to_owned) },
        "sortie",
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_received_by_nats_py_with_every_property() {
    let peer = nats();
    declare(peer, "py").await;
    brokers().send(&to(peer, "py.new"), &full("m-1"), PATIENCE).await.unwrap();
    let expected = json!({
        "body": "00ff610a80",
        "subject": "py.new",
        "headers": {
            "Nats-Msg-Id": "m-1",
            "city": "Zürich", "count": "42", "share": "0.25", "urgent": "true",
            "x-content-type": "application/octet-stream", "x-correlation-id": "order-7",
            "x-label": "order.created", "x-reply-to": "answers", "x-time-to-live-ms": "3600000",
            "x-partition-key": "customer-3", "x-reply-to-session": "answers-3", "x-session": "customer-3",
            "x-to": "warehouse", "x-via-partition-key": "via-3", "x-scheduled-at-ms": "1700000000000",
        },
    });
    assert_eq!(received("nats", &peer.url(), "py.new", 1).await, [expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_comes_back_as_it_was_sent_but_for_the_kinds_of_its_properties() {
    let peer = nats();
    declare(peer, "whole").await;
    let brokers = brokers();
    brokers.send(&to(peer, "whole.new"), &full("m-1"), PATIENCE).await.unwrap();
    let mut receiver = brokers.open(&from(peer, "whole", None), 10).await.unwrap();
    let delivery = receiver.next().await.unwrap();
    let mut expected = full("m-1");
    expected.force_persistence = None;
    for value in expected.properties.values_mut() {
        *value = Property::Text(value.to_string());
    }
    assert_eq!(delivery.message, expected);
    delivery.accept().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_sends_is_confirmed_and_a_second_time_it_is_dropped() {
    let peer = nats();
    declare(peer, "crowd").await;
    let brokers = brokers();
    for _ in 0..2 {
        send_crowd(&brokers, &to(peer, "crowd.new"), 500).await;
        assert_eq!(stored(peer, "crowd").await, 500);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_stream_the_server_takes_it_and_forwards_it() {
    let peer = nats();
    let client = async_nats::connect(peer.url()).await.unwrap();
    let mut subscriber = client.subscribe("plain.new").await.unwrap();
    client.flush().await.unwrap();
    let brokers = brokers();
    brokers.send(&plainly_to(peer, "plain.new"), &full("m-1"), PATIENCE).await.unwrap();
    let message = subscriber.next().await.unwrap();
    assert_eq!(message.payload, full("m-1").body);
    send_crowd(&brokers, &plainly_to(peer, "plain.nobody"), 500).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_sent_says_why() {
    let peer = nats();
    let brokers = brokers();
    let message = Message::new("1", "x");
    let sent = brokers.send(&to(peer, "no.stream.here"), &message, PATIENCE).await;
    let told = "no stream of JetStream takes the subject \"no.stream.here\"";
    assert_eq!(sent, Err(SendError::NotSent(told.to_owned())));
    let check = async |to: MessageTarget, message: Message, told: &str| match brokers
        .send(&to, &message, PATIENCE)
        .await
    {
        Err(SendError::Refused(text)) => assert!(text.contains(told), "{text}"),
        other => panic!("{told}: {other:?}"),
    };
    check(to(peer, "a.*"), message.clone(), "no wildcards").await;
    check(plainly_to(peer, "a b"), message.clone(), "no blanks").await;
    check(plainly_to(peer, "big"), Message::new("1", vec![0; 2 << 20]), "at most").await;
    let mut broken = message.clone();
    broken.label = Some("two\r\nlines".to_owned());
    check(to(peer, "a"), broken, "x-label has a line break").await;
    let guarded = Brokers::new(Arc::new(Nowhere));
    let sent = guarded.send(&to(peer, "a"), &message, PATIENCE).await;
    assert_eq!(sent, Err(SendError::Refused("127.0.0.1 (127.0.0.1) is inside".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_reported_without_the_secret() {
    let peer = NatsServer::start_with(
        "authorization { users: [ { user: shop, password: hush, permissions: { publish: [\"orders.>\"] } } ] }",
    )
    .unwrap();
    let brokers = brokers();
    let check = async |subject: &str, stream: bool, password: &str| {
        let login = Some(Login { username: "shop".to_owned(), password: password.to_owned() });
        let to = Endpoint::new(peer.url(), login)
            .target(BrokerDestination::Nats { subject: subject.to_owned(), stream: Some(stream) });
        assert!(!format!("{to:?}").contains(password));
        brokers.send(&to, &Message::new("1", "x"), PATIENCE).await
    };
    assert_eq!(check("orders.new", false, "hush").await, Ok(()));
    let refused = Err(SendError::Refused("NATS does not let this user publish to \"stock.new\"".to_owned()));
    assert_eq!(check("stock.new", false, "hush").await, refused);
    assert_eq!(check("stock.new", true, "hush").await, refused);
    match check("orders.new", false, "tush").await {
        Err(SendError::Refused(told)) => assert!(told.contains("authorization violation"), "{told}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn released_messages_come_again_and_settled_ones_do_not() {
    let peer = nats();
    declare(peer, "settled").await;
    let brokers = brokers();
    send_crowd(&brokers, &to(peer, "settled.new"), 300).await;
    let from = from(peer, "settled", Some("settled.new"));
    let mut receiver = brokers.open(&from, 300).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..300 {
        held.push(receiver.next().await.unwrap());
    }
    let mut released = Vec::new();
    for delivery in held.drain(200..).rev() {
        released.push(delivery.message.id.clone());
        delivery.release().await.unwrap();
    }
    for delivery in held.drain(100..) {
        delivery.accept().await.unwrap();
    }
    for delivery in held {
        delivery.reject().await.unwrap();
    }
    let mut ids = Vec::new();
    for _ in 0..100 {
        let delivery = receiver.next().await.unwrap();
        ids.push(delivery.message.id.clone());
        delivery.accept().await.unwrap();
    }
    assert_eq!(counted(ids), counted(released));
    let stream = streams(peer).await.get_stream("settled").await.unwrap();
    let info = stream.consumer_info("sortie").await.unwrap();
    assert_eq!((info.num_pending, info.num_ack_pending), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_an_id_has_its_place_in_the_stream() {
    let peer = nats();
    declare(peer, "nameless").await;
    let brokers = brokers();
    brokers.send(&to(peer, "nameless.new"), &Message::new("", "x"), PATIENCE).await.unwrap();
    let mut receiver = brokers.open(&from(peer, "nameless", None), 1).await.unwrap();
    for _ in 0..2 {
        let delivery = receiver.next().await.unwrap();
        assert_eq!(delivery.message.id, "nameless/1");
        delivery.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_opened_says_why() {
    let peer = nats();
    declare(peer, "taken").await;
    let brokers = brokers();
    let open =
        async |origin: MessageSource| brokers.open(&origin, 1).await.map(|_| ()).unwrap_err().to_string();
    let told = open(from(peer, "missing", None)).await;
    assert!(told.contains("the stream \"missing\" of JetStream"), "{told}");
    brokers.open(&from(peer, "taken", Some("taken.a")), 1).await.unwrap();
    let told = open(from(peer, "taken", Some("taken.b"))).await;
    assert!(told.contains("already exists, and receives \"taken.a\""), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_freezes_goes_and_comes_back() {
    let mut peer = NatsServer::start().unwrap();
    declare(&peer, "work").await;
    let brokers = brokers();
    let message = |id: &str| Message::new(id, "x");
    let (to, plainly) = (to(&peer, "work.new"), plainly_to(&peer, "other"));
    brokers.send(&to, &message("1"), PATIENCE).await.unwrap();
    let mut receiver = brokers.open(&from(&peer, "work", None), 1).await.unwrap();
    receiver.next().await.unwrap();

    for to in [&to, &plainly] {
        brokers.send(to, &message("1"), PATIENCE).await.unwrap();
        peer.freeze();
        let frozen = send_until_unanswered(&brokers, to, &message("2")).await;
        assert!(matches!(frozen, SendError::Unknown(_)), "{frozen:?}");
        // The next does not get as far: it wants a connection of its own.
        let again = brokers.send(to, &message("2"), Duration::from_millis(500)).await;
        assert!(matches!(again, Err(SendError::NotSent(_))), "{again:?}");
        peer.thaw();
        send_until_done(&brokers, to, &message("3")).await;
    }

    peer.stop();
    let lost = tokio::time::timeout(PATIENCE, receiver.next()).await.unwrap();
    assert!(matches!(lost, Err(ReceiveError::Lost(_))));
    let fresh = crate::shared::brokers().send(&to, &message("4"), PATIENCE).await;
    assert!(matches!(fresh, Err(SendError::NotSent(_))), "{fresh:?}");
    peer.start_again().unwrap();
    for to in [&to, &plainly] {
        send_until_done(&brokers, to, &message("5")).await;
    }
    let mut receiver = brokers.open(&from(&peer, "work", None), 10).await.unwrap();
    let delivery = receiver.next().await.unwrap();
    assert!(!delivery.message.id.is_empty());
}

/// Passes bytes on, but cuts the first connection when a message comes, which then goes nowhere.
async fn lossy_way(peer: &NatsServer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let server = peer.url().trim_start_matches("nats://").to_owned();
    tokio::spawn(async move {
        for number in 0.. {
            let (mut near, _) = listener.accept().await.unwrap();
            let mut far = TcpStream::connect(&server).await.unwrap();
            tokio::spawn(async move {
                if number > 0 {
                    return drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
                }
                let (mut sent, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
                loop {
                    tokio::select! {
                        count = near.read(&mut sent) => {
                            let bytes = &sent[..count.unwrap()];
                            if bytes.is_empty() || bytes.windows(4).any(|four| four == b"HPUB") {
                                return;
                            }
                            far.write_all(bytes).await.unwrap();
                        }
                        count = far.read(&mut answered) => {
                            near.write_all(&answered[..count.unwrap()]).await.unwrap();
                        }
                    }
                }
            });
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_stream_an_answer_over_another_connection_confirms_nothing() {
    let peer = nats();
    let client = async_nats::connect(peer.url()).await.unwrap();
    let mut subscriber = client.subscribe("cut.new").await.unwrap();
    client.flush().await.unwrap();
    let (brokers, url) = (brokers(), lossy_way(peer).await);
    let to = Endpoint::new(url, None)
        .target(BrokerDestination::Nats { subject: "cut.new".to_owned(), stream: Some(false) });
    let first = brokers.send(&to, &Message::new("1", "first"), PATIENCE).await;
    assert!(matches!(first, Err(SendError::Unknown(_))), "{first:?}");
    brokers.send(&to, &Message::new("2", "second"), PATIENCE).await.unwrap();
    assert_eq!(subscriber.next().await.unwrap().payload, "second", "the first was lost on the way");
}
