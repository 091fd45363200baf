//! The request of a service bus.
#![allow(clippy::unwrap_used)]

use vault::SasToken;

use super::*;

fn request(message: &Message, key: Option<&str>) -> Result<OutboundRequest, String> {
    let key = key.map(|key| ("root".to_owned(), Secret::new(key.to_owned())));
    let base = BusEntity::namespace_url("https", "ns");
    let entity = BusEntity { base, entity: "a/b c".to_owned(), key };
    entity.request(message, Timestamp(0), &mut Mask::default())
}

fn header<'r>(request: &'r OutboundRequest, name: &str) -> &'r str {
    request.headers[name].to_str().unwrap()
}

#[test]
fn a_namespace_is_a_name_a_host_or_a_url() {
    let url = |namespace| BusEntity::namespace_url("https", namespace);
    assert_eq!(url("ns"), "https://ns.servicebus.windows.net");
    assert_eq!(url("bus.test:8443"), "https://bus.test:8443");
    assert_eq!(url("http://127.0.0.1:7070/"), "http://127.0.0.1:7070");
    assert_eq!(BusEntity::namespace_url("amqps", "ns"), "amqps://ns.servicebus.windows.net");
}

#[test]
fn a_message_becomes_a_body_and_headers() {
    let text = |text: &str| Some(text.to_owned());
    let message = Message {
        content_type: text("application/json"),
        correlation_id: text("c"),
        label: text("ü \u{1f600}\n"),
        partition_key: text("p"),
        reply_to: text("r"),
        reply_to_session: text("rs"),
        session: text("s"),
        to: text("t"),
        via_partition_key: text("v"),
        force_persistence: Some(true),
        time_to_live: Some(Span::from_ms(90_500)),
        scheduled_at: Some(Timestamp(784_111_776_001)),
        properties: [
            ("Priority".to_owned(), Property::from("High \"é\"")),
            ("count".to_owned(), Property::Number("12.50".to_owned())),
            ("urgent".to_owned(), Property::Flag(true)),
        ]
        .into(),
        ..Message::new("m-1", "body")
    };
    let request = request(&message, None).unwrap();
    assert_eq!(request.url.path_and_query, "/a/b%20c/messages");
    assert_eq!((request.method.as_str(), request.body.as_deref()), ("POST", Some(&b"body"[..])));
    assert_eq!(header(&request, "content-type"), "application/json");
    assert_eq!(header(&request, "priority"), r#""High \"\u00e9\"""#);
    assert_eq!((header(&request, "count"), header(&request, "urgent")), ("12.50", "true"));
    assert!(!request.headers.contains_key("authorization"));
    let properties = header(&request, "brokerproperties");
    assert!(properties.is_ascii());
    let expected = json!({
        "MessageId": "m-1", "CorrelationId": "c", "Label": "ü \u{1f600}\n", "PartitionKey": "p", "ReplyTo": "r",
        "ReplyToSessionId": "rs", "SessionId": "s", "To": "t", "ViaPartitionKey": "v", "ForcePersistence": true,
        "TimeToLive": 90.5, "ScheduledEnqueueTimeUtc": "Sun, 06 Nov 1994 08:49:37 GMT",
    });
    assert_eq!(serde_json::from_str::<Value>(properties).unwrap(), expected);
}

#[test]
fn it_signs_for_its_entity_alone() {
    let request = request(&Message::new("m", ""), Some("k")).unwrap();
    let token = SasToken::parse(header(&request, "authorization")).unwrap();
    assert_eq!(token.key_name(), "root");
    assert_eq!(token.verify(&Secret::new("k".to_owned()), Timestamp(3_599_999)), Ok(()));
    assert!(token.verify(&Secret::new("k".to_owned()), Timestamp(3_600_000)).is_err());
    assert!(token.covers("/a/b%20c/messages") && !token.covers("/a/messages"));
    assert!(request.headers["authorization"].is_sensitive());
}

#[test]
fn a_property_that_cannot_be_a_header_is_refused() {
    for name in ["Authorization", "Content-Type", "BrokerProperties", "Host", "a b", "ü", ""] {
        let properties = [(name.to_owned(), Property::from("x"))].into();
        let error = request(&Message { properties, ..Message::new("m", "") }, None).unwrap_err();
        assert!(error.starts_with(&format!("the property '{name}' cannot be a header")), "{error}");
    }
}

#[test]
fn a_full_queue_is_distinguished_from_a_missing_permission() {
    let answer = |status, body: &'static str| ServiceResponse {
        status,
        headers: http::HeaderMap::new(),
        body: bytes::Bytes::from_static(body.as_bytes()),
    };
    assert!(is_full(&answer(403, "<Error><Code>403</Code><Detail>quota exceeded</Detail></Error>")));
    assert!(is_full(&answer(403, r#"{"status":403,"code":"queue_full"}"#)));
    assert!(!is_full(&answer(403, r#"{"status":403,"code":"forbidden"}"#)));
    assert!(!is_full(&answer(401, "")));
}
