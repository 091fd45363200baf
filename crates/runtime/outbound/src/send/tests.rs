//! Names, ids and places.

use super::*;

#[test]
fn a_long_key_becomes_its_digest() {
    let key = "x".repeat(128);
    assert_eq!(default_id(&key), key);
    let long = default_id(&"x".repeat(129));
    assert_eq!((long.len(), long == default_id(&"x".repeat(130))), (64, false));
}

#[test]
fn a_name_stays_in_its_place() {
    assert_eq!(path_of("a/b c?#%ü").as_deref(), Ok("a/b%20c%3F%23%25%C3%BC"));
    for name in ["", "/", "a//b", "..", "a/.", "a/"] {
        assert!(path_of(name).is_err(), "{name}");
    }
}

#[test]
fn a_place_is_shown_without_secrets() {
    let login = Some(brokers::Login { username: "u".to_owned(), password: "hunter2".to_owned() });
    let to =
        action::BrokerDestination::RabbitMq { exchange: Some("x".to_owned()), routing_key: "k".to_owned() };
    let endpoint = brokers::Endpoint::new("amqp://mq.test:5672/vhost", login);
    let target = SendTarget::Broker(endpoint.target(to));
    assert_eq!(target.place(), "routing key 'k' of exchange 'x' at 'mq.test:5672'");
    assert!(!format!("{target:?}").contains("hunter2"));
}
