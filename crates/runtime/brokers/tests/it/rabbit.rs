//! RabbitMQ by 0-9-1.

use std::sync::Arc;
use std::time::Duration;

use action::{BrokerDestination, BrokerOrigin};
use brokers::{Brokers, Endpoint, Login, MessageSource, MessageTarget, ReceiveError, SendError};
use lapin::options::{ExchangeDeclareOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ConnectionProperties, ExchangeKind};
use serde_json::json;
use test_brokers::RabbitMq;
use types::Message;

use crate::shared::{
    Nowhere, PATIENCE, brokers, counted, full, guest, rabbit, received, send_crowd, send_until_done,
    send_until_unanswered,
};

async fn channel(peer: &RabbitMq) -> Channel {
    let connected = lapin::Connection::connect(&peer.url(), ConnectionProperties::default()).await;
    connected.unwrap().create_channel().await.unwrap()
}

/// A queue that takes one message and no more.
async fn declare_full(peer: &RabbitMq, queue: &str) {
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongInt(1));
    arguments.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
    let options = QueueDeclareOptions::default();
    channel(peer).await.queue_declare(queue.into(), options, arguments).await.unwrap();
}

/// A queue that survives a restart, with the queue of its dead letters where it has one.
async fn declare(peer: &RabbitMq, queue: &str, dead_letters: Option<&str>) {
    let channel = channel(peer).await;
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    let mut arguments = FieldTable::default();
    if let Some(dead_letters) = dead_letters {
        channel.queue_declare(dead_letters.into(), options, FieldTable::default()).await.unwrap();
        arguments.insert("x-dead-letter-exchange".into(), AMQPValue::LongString("".into()));
        arguments.insert("x-dead-letter-routing-key".into(), AMQPValue::LongString(dead_letters.into()));
    }
    channel.queue_declare(queue.into(), options, arguments).await.unwrap();
}

async fn waiting(peer: &RabbitMq, queue: &str) -> u32 {
    let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let queue = channel(peer).await.queue_declare(queue.into(), options, FieldTable::default()).await;
    queue.unwrap().message_count()
}

fn to(peer: &RabbitMq, queue: &str) -> MessageTarget {
    Endpoint::new(peer.url(), guest())
        .target(BrokerDestination::RabbitMq { exchange: None, routing_key: queue.to_owned() })
}

fn from(peer: &RabbitMq, queue: &str) -> MessageSource {
    Endpoint::new(peer.url(), guest()).source(BrokerOrigin::RabbitMq { queue: queue.to_owned() }, "sortie")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_is_received_by_pika_with_every_property() {
    let peer = rabbit();
    declare(peer, "pika", None).await;
    brokers().send(&to(peer, "pika"), &full("m-1"), PATIENCE).await.unwrap();
    // pika cuts numbers with a fraction; the client of AMQP 1.0 does not.
    let expected = json!({
        "body": "00ff610a80",
        "message_id": "m-1",
        "content_type": "application/octet-stream",
        "correlation_id": "order-7",
        "type": "order.created",
        "reply_to": "answers",
        "delivery_mode": 2,
        "expiration": "3600000",
        "headers": {
            "city": "Zürich", "count": 42, "share": 0, "urgent": true,
            "x-partition-key": "customer-3", "x-reply-to-session": "answers-3", "x-session": "customer-3",
            "x-to": "warehouse", "x-via-partition-key": "via-3", "x-scheduled-at-ms": 1_700_000_000_000_i64,
        },
    });
    assert_eq!(received("rabbitmq", &peer.port().to_string(), "pika", 1).await, [expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_comes_back_as_it_was_sent() {
    let peer = rabbit();
    declare(peer, "whole", None).await;
    let brokers = brokers();
    brokers.send(&to(peer, "whole"), &full("m-1"), PATIENCE).await.unwrap();
    let mut receiver = brokers.open(&from(peer, "whole"), 10).await.unwrap();
    let delivery = receiver.next().await.unwrap();
    assert_eq!(delivery.message, full("m-1"));
    delivery.accept().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_sends_is_confirmed_and_all_of_it_is_there() {
    let peer = rabbit();
    declare(peer, "crowd", None).await;
    send_crowd(&brokers(), &to(peer, "crowd"), 500).await;
    assert_eq!(waiting(peer, "crowd").await, 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_crowd_exactly_the_unroutable_ones_are_refused() {
    let peer = rabbit();
    declare(peer, "mixed", None).await;
    let brokers = brokers();
    let sends = (0..300).map(|number| {
        let queue = if number % 3 == 0 { "nowhere" } else { "mixed" };
        let (brokers, to) = (brokers.clone(), to(peer, queue));
        tokio::spawn(async move { brokers.send(&to, &Message::new(number.to_string(), "x"), PATIENCE).await })
    });
    for (number, send) in sends.collect::<Vec<_>>().into_iter().enumerate() {
        let expected = match number % 3 {
            0 => Err(SendError::Refused("RabbitMQ has no queue \"nowhere\"".to_owned())),
            _ => Ok(()),
        };
        assert_eq!(send.await.unwrap(), expected);
    }
    assert_eq!(waiting(peer, "mixed").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_broker_will_never_take_is_refused_and_says_why() {
    let peer = rabbit();
    let brokers = brokers();
    let exchange = ExchangeDeclareOptions::default();
    let channel = channel(peer).await;
    channel
        .exchange_declare("lonely".into(), ExchangeKind::Direct, exchange, FieldTable::default())
        .await
        .unwrap();
    let check = async |exchange: &str, message: Message, login: Option<Login>, told: &str| {
        let to = Endpoint::new(peer.url(), login).target(BrokerDestination::RabbitMq {
            exchange: Some(exchange.to_owned()),
            routing_key: "key".to_owned(),
        });
        match brokers.send(&to, &message, PATIENCE).await {
            Err(SendError::Refused(text)) => assert!(text.contains(told), "{text}"),
            other => panic!("{told}: {other:?}"),
        }
    };
    let message = || Message::new("1", "x");
    check("lonely", message(), guest(), "no queue is bound to the exchange \"lonely\"").await;
    check("missing", message(), guest(), "no exchange 'missing'").await;
    let stranger = Login { username: "guest".to_owned(), password: "hush-hush".to_owned() };
    check("lonely", message(), Some(stranger), "refused").await;
    check("lonely", Message::new("i".repeat(256), "x"), guest(), "the id of the message is longer than 255")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_full_queue_does_not_take_is_not_sent() {
    let peer = rabbit();
    declare_full(peer, "full").await;
    let brokers = brokers();
    let send = async || brokers.send(&to(peer, "full"), &Message::new("1", "x"), PATIENCE).await;
    assert_eq!(send().await, Ok(()));
    assert_eq!(send().await, Err(SendError::NotSent("RabbitMQ could not store the message".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_goes_past_the_guard() {
    let peer = rabbit();
    let guarded = Brokers::new(Arc::new(Nowhere));
    let sent = guarded.send(&to(peer, "any"), &Message::new("1", "x"), PATIENCE).await;
    assert_eq!(sent, Err(SendError::Refused("127.0.0.1 (127.0.0.1) is inside".to_owned())));
    let opened = guarded.open(&from(peer, "any"), 1).await.map(|_| ());
    assert_eq!(opened, Err(ReceiveError::Refused("127.0.0.1 (127.0.0.1) is inside".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn released_messages_come_again_accepted_ones_do_not_and_rejected_ones_are_dead_letters() {
    let peer = rabbit();
    declare(peer, "settled", Some("settled-dead")).await;
    let brokers = brokers();
    send_crowd(&brokers, &to(peer, "settled"), 3).await;
    let mut receiver = brokers.open(&from(peer, "settled"), 10).await.unwrap();
    let mut released = false;
    for _ in 0..4 {
        let delivery = receiver.next().await.unwrap();
        match delivery.message.id.as_str() {
            "0" => delivery.accept().await.unwrap(),
            "1" if !released => {
                released = true;
                delivery.release().await.unwrap();
            }
            "1" => delivery.accept().await.unwrap(),
            _ => delivery.reject().await.unwrap(),
        }
    }
    drop(receiver);
    let mut dead = brokers.open(&from(peer, "settled-dead"), 1).await.unwrap();
    assert_eq!(dead.next().await.unwrap().message.id, "2");
    assert_eq!(waiting(peer, "settled").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_are_unsettled_at_once_and_come_again_when_their_receiver_is_gone() {
    let peer = rabbit();
    declare(peer, "held", None).await;
    let brokers = brokers();
    send_crowd(&brokers, &to(peer, "held"), 300).await;
    let mut receiver = brokers.open(&from(peer, "held"), 300).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..300 {
        held.push(receiver.next().await.unwrap());
    }
    // Settled from the last to the first, but for a hundred.
    for delivery in held.drain(100..).rev() {
        delivery.accept().await.unwrap();
    }
    drop((receiver, held));
    let mut receiver = brokers.open(&from(peer, "held"), 300).await.unwrap();
    let mut again = Vec::new();
    for _ in 0..100 {
        let delivery = receiver.next().await.unwrap();
        again.push(delivery.message.id.clone());
        delivery.accept().await.unwrap();
    }
    assert_eq!(counted(again).into_values().max(), Some(1));
    drop(receiver);
    assert_eq!(waiting(peer, "held").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_freezes_goes_and_comes_back() {
    let mut peer = RabbitMq::start().unwrap();
    declare(&peer, "work", None).await;
    let brokers = brokers();
    let message = Message::new("1", "x");
    let amqp = crate::amqp::to(&peer, "/amq/queue/work");
    let to = to(&peer, "work");
    for to in [&to, &amqp] {
        brokers.send(to, &message, PATIENCE).await.unwrap();
    }
    let mut receiver = brokers.open(&from(&peer, "work"), 1).await.unwrap();
    let mut amqp_receiver = brokers.open(&crate::amqp::from(&peer, "/amq/queue/work"), 1).await.unwrap();
    receiver.next().await.unwrap();
    amqp_receiver.next().await.unwrap();

    peer.freeze();
    for to in [&to, &amqp] {
        let frozen = send_until_unanswered(&brokers, to, &message).await;
        assert!(matches!(frozen, SendError::Unknown(_)), "{frozen:?}");
        // The next does not get as far: it wants a connection of its own.
        let sent = brokers.send(to, &message, Duration::from_millis(500)).await;
        assert!(matches!(sent, Err(SendError::NotSent(_))), "{sent:?}");
    }
    peer.thaw();
    for to in [&to, &amqp] {
        send_until_done(&brokers, to, &message).await;
    }

    peer.stop();
    assert!(matches!(receiver.next().await, Err(ReceiveError::Lost(_))));
    assert!(matches!(amqp_receiver.next().await, Err(ReceiveError::Lost(_))));
    for to in [&to, &amqp] {
        let fresh = crate::shared::brokers().send(to, &message, PATIENCE).await;
        assert!(matches!(fresh, Err(SendError::NotSent(_))), "{fresh:?}");
    }
    peer.start_again().unwrap();
    for to in [&to, &amqp] {
        send_until_done(&brokers, to, &message).await;
    }
    let all = waiting(&peer, "work").await;
    assert!(all >= 6, "{all} confirmed messages are there");
}
