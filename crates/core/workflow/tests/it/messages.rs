//! Actions that send a message: what they are made of, and what they make of a run.

use crate::common::{Run, sending};
use action::{BrokerDestination, Destination, Transport};
use bytes::Bytes;
use expect_test::expect;
use types::plan::{Notice, NoticeEvents};
use types::{Property, RunStatus, Span, StepIndex, StepName, Timestamp, Work};
use workflow::{Definition, Ending, RenderedMessage};

const SERVICES: &str = "
services:
  store: { url: 'https://acct.queue.core.windows.net/', secret: store-sas }
  bus: { url: 'https://ns.servicebus.windows.net', username: root, secret: bus-key, timeout: 7s }
  busq: { url: 'amqps://ns.servicebus.windows.net', username: root, secret: bus-key }
  rabbit: { url: 'amqp://mq.test:5672/vhost', username: app, secret: RABBIT_1 }
  nats: { url: 'nats://a.test,nats://b.test:4222' }
  kafka: { url: 'kafka://a.test:9092,b.test:9092' }
";

fn definition(action: &str) -> Definition {
    let source = format!("name: w\n{SERVICES}\nsteps:\n  one:\n    call: {action}\n");
    Definition::parse(&source).unwrap_or_else(|problems| panic!("{problems}"))
}

fn render(action: &str, request: &str) -> Result<RenderedMessage, String> {
    let run = Run::new(request);
    let rendered = definition(action).render(Work::Do(StepIndex(0)), &run.context());
    rendered.map(sending).map_err(|error| error.to_string())
}

fn to(action: &str) -> Destination {
    render(action, r#"{"id": "7", "eu": true}"#).unwrap().to
}

#[test]
fn every_type_goes_where_it_says() {
    let text = |text: &str| text.to_owned();
    for (action, expected) in [
        ("{ type: queue, queue: 'orders-${.request.id}' }", Destination::Queue { queue: text("orders-7") }),
        ("{ type: topic, topic: news }", Destination::Topic { topic: text("news") }),
        (
            "{ type: storage_queue, service: store, queue: q }",
            Destination::StorageQueue { queue: text("q"), envelope: false },
        ),
        (
            "{ type: storage_queue, service: store, queue: q, envelope: xml }",
            Destination::StorageQueue { queue: text("q"), envelope: true },
        ),
        (
            "{ type: service_bus, service: bus, queue: q }",
            Destination::ServiceBus { entity: text("q"), transport: Transport::Https },
        ),
        (
            "{ type: service_bus, service: busq, topic: t, transport: amqp }",
            Destination::ServiceBus { entity: text("t"), transport: Transport::Amqp },
        ),
        (
            "{ type: service_bus, service: busq, topic: t }",
            Destination::ServiceBus { entity: text("t"), transport: Transport::Amqp },
        ),
        (
            "{ type: amqp, service: rabbit, address: /queues/q }",
            Destination::Broker(BrokerDestination::Amqp { address: text("/queues/q") }),
        ),
        (
            "{ type: rabbitmq, service: rabbit, routing_key: q }",
            Destination::Broker(BrokerDestination::RabbitMq { exchange: None, routing_key: text("q") }),
        ),
        (
            "{ type: rabbitmq, service: rabbit, exchange: x, routing_key: 'eu.${.request.eu}' }",
            Destination::Broker(BrokerDestination::RabbitMq {
                exchange: Some(text("x")),
                routing_key: text("eu.true"),
            }),
        ),
        (
            "{ type: nats, service: nats, subject: s.t }",
            Destination::Broker(BrokerDestination::Nats { subject: text("s.t"), stream: None }),
        ),
        (
            "{ type: nats, service: nats, subject: s, stream: false }",
            Destination::Broker(BrokerDestination::Nats { subject: text("s"), stream: Some(false) }),
        ),
        (
            "{ type: kafka, service: kafka, topic: t, key: '${.request.id}' }",
            Destination::Broker(BrokerDestination::Kafka { topic: text("t"), key: Some(text("7")) }),
        ),
        (
            "{ type: kafka, service: kafka, topic: t }",
            Destination::Broker(BrokerDestination::Kafka { topic: text("t"), key: None }),
        ),
    ] {
        assert_eq!(to(action), expected, "{action}");
    }
}

#[test]
fn a_message_carries_its_body_its_fields_and_its_properties() {
    let action = "
      type: service_bus
      service: bus
      queue: q
      body: { order: .request.id, total: '${.request.total}' }
      message:
        id: 'order-${.request.id}'
        label: created
        session: '${.request.customer}'
        content_type: application/vnd.order+json
        correlation_id: c
        reply_to: answers
        reply_to_session: rs
        to: somewhere
        partition_key: p
        via_partition_key: vp
        force_persistence: true
        time_to_live: 90m
        scheduled_at: '${.request.at}'
      properties:
        tenant: 'eu-${.request.customer}'
        total: '${.request.total}'
        urgent: '${.request.urgent}'
        count: 12.5
        fixed: true
        text: plain
";
    let request =
        r#"{"id":"7","customer":"c-1","total":10.50,"urgent":false,"at":"2026-03-01T12:00:00+01:00"}"#;
    let sending = render(action, request).unwrap();
    assert_eq!((sending.timeout, sending.service.unwrap().as_str()), (Span::from_secs(7), "bus"));
    let message = sending.message;
    assert_eq!(message.body, r#"{"order":"7","total":10.50}"#);
    let texts = [
        Some(&message.id),
        message.label.as_ref(),
        message.session.as_ref(),
        message.content_type.as_ref(),
        message.correlation_id.as_ref(),
        message.reply_to.as_ref(),
        message.reply_to_session.as_ref(),
        message.to.as_ref(),
        message.partition_key.as_ref(),
        message.via_partition_key.as_ref(),
    ];
    let texts: Vec<&str> = texts.into_iter().map(|text| text.unwrap().as_str()).collect();
    let expected = "order-7 created c-1 application/vnd.order+json c answers rs somewhere p vp";
    assert_eq!(texts.join(" "), expected);
    assert_eq!(message.force_persistence, Some(true));
    assert_eq!(message.time_to_live, Some(Span::from_secs(5400)));
    assert_eq!(message.scheduled_at, Some(Timestamp(1_772_362_800_000)));
    let number = |text: &str| Property::Number(text.to_owned());
    let properties = [
        ("count", number("12.5")),
        ("fixed", Property::Flag(true)),
        ("tenant", Property::from("eu-c-1")),
        ("text", Property::from("plain")),
        ("total", number("10.50")),
        ("urgent", Property::Flag(false)),
    ];
    assert_eq!(message.properties, properties.map(|(name, value)| (name.to_owned(), value)).into());
}

#[test]
fn what_an_action_leaves_out_is_left_to_the_sender() {
    let bare = render("{ type: queue, queue: q }", "{}").unwrap();
    assert_eq!(bare.message, types::Message::default());
    let text = render("{ type: queue, queue: q, body: hello, message: { id: '${\"\"}' } }", "{}").unwrap();
    assert_eq!(text.message.content_type.as_deref(), Some("text/plain; charset=utf-8"));
    assert_eq!((text.message.id.as_str(), &*text.message.body), ("", &b"hello"[..]));
}

#[test]
fn what_cannot_be_sent_says_which_part() {
    let check = |action: &str, expected: expect_test::Expect| {
        expected.assert_eq(&render(action, r#"{"a": {}, "t": "soon", "e": ""}"#).unwrap_err());
    };
    check("{ type: queue, queue: '${.request.e}' }", expect!["queue: is empty"]);
    check(
        "{ type: queue, queue: q, properties: { x: '${.request.a}' } }",
        expect![
            "properties.x: expression '.request.a' is an object; only text, numbers and booleans can stand here"
        ],
    );
    check(
        "{ type: queue, queue: q, message: { scheduled_at: '${.request.t}' } }",
        expect!["message.scheduled_at: 'soon' is not a point in time; write it like 2026-03-01T12:00:00Z"],
    );
    check(
        "{ type: queue, queue: q, message: { time_to_live: '${.request.t}' } }",
        expect![[
            r#"message.time_to_live: "soon" is not a span of time; write a whole number and ms, s, m, h or d, like 500ms or 3h"#
        ]],
    );
}

#[test]
fn alternatives_undos_notices_and_people_send_too() {
    let source = format!(
        "name: w\n{SERVICES}
steps:
  one:
    call: {{ service: web, method: POST, path: /x }}
    alternative: {{ action: {{ type: queue, queue: other }} }}
    undo: {{ type: rabbitmq, service: rabbit, routing_key: undo, retry: {{ type: none }} }}
on_completed: {{ action: {{ type: topic, topic: done }} }}
on_parked: {{ action: {{ type: nats, service: nats, subject: parked, body: .run.reason }} }}
"
    )
    .replace("services:\n", "services:\n  web: { url: 'http://web.test' }\n");
    let definition = Definition::parse(&source).unwrap_or_else(|problems| panic!("{problems}"));
    let run = Run::new("{}");
    let send = |work: Work| sending(definition.render(work, &run.context()).unwrap());
    let step = StepIndex(0);
    assert_eq!(send(Work::Alternative(step)).to, Destination::Queue { queue: "other".to_owned() });
    let undo =
        Destination::Broker(BrokerDestination::RabbitMq { exchange: None, routing_key: "undo".to_owned() });
    assert_eq!(send(Work::Undo(step)).to, undo);

    let done = [StepName::new("one").unwrap()];
    let ending =
        Ending { status: RunStatus::Parked, reason: Some("why"), steps_done: &done, steps_undone: &[] };
    let context = workflow::ExpressionContext { ending: Some(ending), ..run.context() };
    let told = |notice| sending(definition.render(Work::Notice(notice), &context).unwrap()).message;
    let completed = told(Notice::Completed);
    let expected = r#"{"run":{"id":"d-1","workflow":"w","key":"d-1","status":"parked","reason":"why"},"steps_done":["one"],"steps_undone":[]}"#;
    assert_eq!(completed.body, expected);
    assert_eq!(completed.content_type.as_deref(), Some("application/json"));
    assert_eq!(told(Notice::Parked).body, "why");

    let named = definition.parse_action(r#"{"type": "kafka", "service": "kafka", "topic": "t"}"#).unwrap();
    let named = sending(definition.render_action(&named, &run.context()).unwrap());
    assert_eq!(named.to, Destination::Broker(BrokerDestination::Kafka { topic: "t".to_owned(), key: None }));
    let calls: Vec<String> = definition.describe().steps.into_iter().filter_map(|step| step.undo).collect();
    assert_eq!(calls, ["rabbitmq undo at rabbit"]);
}

#[test]
fn a_feed_is_owed_what_goes_wrong_and_nothing_else() {
    let source = |more: &str| {
        format!(
            "name: w\nsteps: {{ one: {{ call: {{ type: queue, queue: q }} }} }}\nfeed: failed-runs\n{more}"
        )
    };
    let definition = Definition::parse(&source("")).unwrap();
    assert_eq!(definition.plan().notices, NoticeEvents { completed: false, undone: true, parked: true });
    assert_eq!(definition.feed(Work::Notice(Notice::Undone)), Some("failed-runs"));
    assert_eq!(definition.feed(Work::Notice(Notice::Parked)), Some("failed-runs"));
    assert_eq!(definition.feed(Work::Notice(Notice::Completed)), None);
    assert_eq!(definition.feed(Work::Do(StepIndex(0))), None);
    assert!(!definition.declares(Work::Notice(Notice::Parked)));
    assert_eq!(definition.describe().feed.as_deref(), Some("failed-runs"));
    let both = Definition::parse(&source("on_parked: { action: { type: topic, topic: t } }")).unwrap();
    assert!(both.declares(Work::Notice(Notice::Parked)) && !both.declares(Work::Notice(Notice::Undone)));
}

#[test]
fn the_answer_to_a_send_is_judged_like_any_other() {
    let source = "name: w\nsteps:\n  one:\n    call: { type: queue, queue: q }\n    accept_if: .response.status == 201\n    output: .response.body.messageId\n";
    let definition = Definition::parse(source).unwrap();
    let (run, body) = (Run::new("{}"), Bytes::from_static(br#"{"messageId":"m-1"}"#));
    let verdict =
        definition.judge(Work::Do(StepIndex(0)), &run.context(), 201, &http::HeaderMap::new(), &body);
    assert_eq!(verdict, workflow::ResponseVerdict::Done { output: Bytes::from_static(br#""m-1""#) });
}

#[test]
fn a_workflow_of_all_types_is_read_and_described() {
    let source = std::fs::read_to_string(crate::common::fixtures().join("messages.yaml")).unwrap();
    let definition = Definition::parse(&source).unwrap_or_else(|problems| panic!("{problems}"));
    let steps = definition.describe().steps.into_iter();
    let sends: Vec<String> =
        steps.flat_map(|step| [Some(step.call), step.alternative, step.undo]).flatten().collect();
    expect![[r#"
        queue reservations
        queue reservations
        service_bus orders at bus
        storage_queue orders at store
        rabbitmq orders/cancelled.${.request.region} at rabbit
        nats orders.${.request.region} at events
        kafka cancelled at log"#]]
    .assert_eq(&sends.join("\n"));
}
