//! Attempts that send: where the message goes, what it is made of, and what its fate means for the run.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use bytes::Bytes;
use order::Stop;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use types::plan::Notice;
use types::{Message, RunStatus, Span, StepIndex, StepName};
use vault::{SasToken, Secret, Vault};

use super::*;
use crate::client::Settings;
use crate::egress::Egress;
use crate::job::{JobCaller, JobSettings, StartError, StartRequest, Starter, Starting};
use crate::post::{Post, PostError, PostTarget, Posting};

/// Remembers what was posted; refuses `unknown`, has no room in `full`, and does not know of `lost`.
#[derive(Default)]
struct Posts(Mutex<Vec<(PostTarget, Message)>>);

impl Post for Posts {
    fn post(&self, to: PostTarget, message: Message) -> Posting<'_> {
        let (PostTarget::Queue(name) | PostTarget::Topic(name)) = &to;
        let result = match name.as_str() {
            "unknown" => Err(PostError::Refused("no queue has this name".to_owned())),
            "full" => {
                Err(PostError::Later { reason: "full".to_owned(), retry_after: Some(Span::from_secs(7)) })
            }
            "lost" => Err(PostError::Unknown("lost".to_owned())),
            _ => Ok(()),
        };
        self.0.lock().unwrap().push((to, message));
        Box::pin(std::future::ready(result))
    }
}

struct Nobody;

impl Starter for Nobody {
    fn start(&self, _: StartRequest) -> Starting<'_> {
        let error = StartError { reason: "nobody".to_owned(), retry_after: None };
        Box::pin(std::future::ready(Err(error)))
    }
}

fn inner(posts: &Arc<Posts>) -> PerformerInner {
    let egress = Egress { loopback: true, ..Egress::default() };
    let (client, clock) = (Client::new(Settings { egress, ..Settings::default() }), Clock::start());
    let sender = Sender::new(
        client.clone(),
        brokers::Brokers::new(Arc::new(brokers::Anywhere)),
        posts.clone(),
        clock.clone(),
    );
    let vault = Arc::new(Vault::new([7; 32]));
    let settings = JobSettings::default();
    let caller =
        JobCaller::new(client.clone(), sender.clone(), vault, Arc::new(Nobody), clock.clone(), settings);
    let jobs = JobOrders { caller, region: "here".to_owned() };
    let services = ServicePool::new(ServiceSettings::default());
    let environment: Environment = |name| match name {
        "SORTIE_SECRET_BUS_KEY" => Some("hunter2".to_owned()),
        "SORTIE_SECRET_STORE" => Some("sv=1&sig=hunter2".to_owned()),
        _ => None,
    };
    let (configured, halves) = (Mutex::default(), Mutex::default());
    PerformerInner { client, sender, services, jobs, clock, environment, configured, halves }
}

fn context(status: RunStatus) -> order::CallContext {
    let run_id = types::RunId::new("r-1").unwrap();
    order::CallContext {
        key: run_id.clone().into(),
        run_id,
        request: Bytes::from_static(br#"{"id": 7}"#),
        outputs: vec![Some(Bytes::from_static(br#"{"drone":"d-9"}"#)), None],
        trace: None,
        status,
        reason: Some("why".to_owned()),
        parked_count: 2,
        instead: None,
        steps_done: vec![StepName::new("one").unwrap()],
        steps_undone: vec![StepName::new("two").unwrap()],
    }
}

async fn attempt(posts: &Arc<Posts>, source: &str, work: Work, attempt: u32) -> Outcome {
    attempt_of(&inner(posts), source, work, attempt).await
}

/// One attempt of many that the same process makes.
async fn attempt_of(inner: &PerformerInner, source: &str, work: Work, attempt: u32) -> Outcome {
    let definition = Definition::parse(source).unwrap_or_else(|problems| panic!("{problems}"));
    let context = context(RunStatus::Parked);
    let attempt = CallAttempt {
        work,
        attempt,
        definition: &definition,
        version: 3,
        context: &context,
        key: format!("r-1/{work:?}"),
        stop: &Stop::default(),
    };
    inner.run(&attempt).await.unwrap()
}

fn step(call: &str, more: &str) -> String {
    format!(
        "name: w\nsteps:\n  one:\n    call: {call}\n{more}  two:\n    call: {{ type: queue, queue: q }}\n"
    )
}

async fn call(source: &str) -> (Outcome, Vec<(PostTarget, Message)>) {
    let posts = Arc::new(Posts::default());
    let outcome = attempt(&posts, source, Work::Do(StepIndex(0)), 1).await;
    let posted = std::mem::take(&mut *posts.0.lock().unwrap());
    (outcome, posted)
}

/// Answers one request with this status, and gives it back.
async fn double(status: &'static str) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        loop {
            let read = stream.read_buf(&mut request).await.unwrap();
            let text = String::from_utf8_lossy(&request).into_owned();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let whole =
                text.split_once("\r\n\r\n").is_some_and(|(_, body)| body.len() >= length.unwrap_or(0));
            if read == 0 || whole {
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
                return text;
            }
        }
    });
    (url, serving)
}

#[tokio::test]
async fn a_send_is_done_when_it_is_confirmed() {
    let (outcome, posted) = call(&step("{ type: queue, queue: orders, body: .request }", "")).await;
    let output = Bytes::from_static(br#"{"messageId":"r-1/Do(StepIndex(0))"}"#);
    assert_eq!(outcome, Outcome::Done { status: 201, output });
    let message = Message {
        content_type: Some("application/json".to_owned()),
        ..Message::new("r-1/Do(StepIndex(0))", r#"{"id": 7}"#)
    };
    assert_eq!(posted, [(PostTarget::Queue("orders".to_owned()), message)]);
}

#[tokio::test]
async fn what_is_not_confirmed_is_sorted_like_an_answer() {
    let to = |name: &str| step(&format!("{{ type: topic, topic: {name} }}"), "");
    let (refused, _) = call(&to("unknown")).await;
    assert_eq!(refused, Outcome::Refused { status: None, reason: "no queue has this name".to_owned() });
    let (later, _) = call(&to("full")).await;
    let retry_after = Some(Span::from_secs(7));
    assert_eq!(later, Outcome::Transient { status: None, reason: "full".to_owned(), retry_after });
    let (unknown, _) = call(&to("lost")).await;
    assert_eq!(unknown, Outcome::Unknown { reason: "lost".to_owned() });
    let broker = "services: { n: { url: 'nats://127.0.0.1:1' } }\n".to_owned()
        + &step("{ type: nats, service: n, subject: s }", "");
    assert!(matches!(call(&broker).await.0, Outcome::Transient { .. }));
}

#[tokio::test]
async fn the_answer_to_a_send_can_be_judged() {
    let judged = "    accept_if: .response.body.messageId == \"x\"\n";
    let (outcome, posted) = call(&step("{ type: queue, queue: q }", judged)).await;
    assert!(matches!(outcome, Outcome::Refused { status: Some(201), .. }), "{outcome:?}");
    assert_eq!(posted.len(), 1);
    let output = "    output: .response.body.messageId\n";
    let (outcome, _) = call(&step("{ type: queue, queue: q, message: { id: x } }", output)).await;
    assert_eq!(outcome, Outcome::Done { status: 201, output: Bytes::from_static(b"\"x\"") });
}

#[tokio::test]
async fn a_service_bus_is_signed_for_with_the_secret_of_the_environment() {
    let (url, serving) = double("201 Created").await;
    let service = format!("services: {{ bus: {{ url: '{url}', username: root, secret: bus-key }} }}\n");
    let source = service + &step("{ type: service_bus, service: bus, queue: q, message: { label: l } }", "");
    let (outcome, _) = call(&source).await;
    assert!(matches!(outcome, Outcome::Done { status: 201, .. }), "{outcome:?}");
    let request = serving.await.unwrap();
    let line = request.lines().find_map(|line| line.strip_prefix("authorization: ")).unwrap();
    let token = SasToken::parse(line).unwrap();
    assert_eq!(token.verify(&Secret::new("hunter2".to_owned()), Clock::start().now()), Ok(()));
    assert!(request.contains(r#"{"Label":"l","MessageId":"r-1/Do(StepIndex(0))"}"#), "{request}");
}

#[tokio::test]
async fn a_service_bus_without_room_is_tried_again() {
    for (status, again) in [("403 Forbidden", true), ("401 Unauthorized", false), ("410 Gone", false)] {
        let (url, _serving) = double(status).await;
        let service = format!("services: {{ bus: {{ url: '{url}' }} }}\n");
        let (outcome, _) =
            call(&(service + &step("{ type: service_bus, service: bus, queue: q }", ""))).await;
        assert_eq!(matches!(outcome, Outcome::Transient { .. }), again, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_storage_queue_is_sent_plain_text_or_an_envelope() {
    for (envelope, expected) in
        [("none", "aGVsbG8="), ("xml", "PD94bWwgdmVyc2lvbj0iMS4wIiBlbmNvZGluZz0idXRmLTE2Ij8")]
    {
        let (url, serving) = double("201 Created").await;
        let service = format!("services: {{ s: {{ url: '{url}/acct', secret: store }} }}\n");
        let call_text =
            format!("{{ type: storage_queue, service: s, queue: q, body: hello, envelope: {envelope} }}");
        let (outcome, _) = call(&(service + &step(&call_text, ""))).await;
        assert!(matches!(outcome, Outcome::Done { status: 201, .. }), "{outcome:?}");
        let request = serving.await.unwrap();
        assert!(request.starts_with("POST /acct/q/messages?sv=1&sig=hunter2 HTTP/1.1"), "{request}");
        assert!(request.contains(&format!("<MessageText>{expected}")), "{request}");
    }
}

#[tokio::test]
async fn a_missing_secret_names_its_variable_and_may_come_later() {
    let service = "services: { r: { url: 'amqp://r.test', username: u, secret: my-key } }\n".to_owned();
    let (outcome, _) = call(&(service + &step("{ type: rabbitmq, service: r, routing_key: q }", ""))).await;
    let reason = "not sent: service 'r' signs in with the environment variable SORTIE_SECRET_MY_KEY, \
                  which is not set";
    assert_eq!(outcome, Outcome::Transient { status: None, reason: reason.to_owned(), retry_after: None });
}

#[tokio::test]
async fn an_undo_that_nobody_takes_has_undone_nothing() {
    for status in ["404 Not Found", "410 Gone"] {
        let (url, _serving) = double(status).await;
        let undo = "    undo: { type: service_bus, service: bus, queue: q }\n";
        let source =
            format!("services: {{ bus: {{ url: '{url}' }} }}\n") + &step("{ type: queue, queue: q }", undo);
        let posts = Arc::new(Posts::default());
        let outcome = attempt(&posts, &source, Work::Undo(StepIndex(0)), 1).await;
        assert!(matches!(outcome, Outcome::Refused { status: Some(404 | 410), .. }), "{outcome:?}");
    }
}

fn feed(more: &str) -> String {
    step("{ type: queue, queue: q }", "") + "feed: failed\n" + more
}

#[tokio::test]
async fn the_feed_reports_the_run_with_what_was_done() {
    let posts = Arc::new(Posts::default());
    for tried in 1..=2 {
        let outcome = attempt(&posts, &feed(""), Work::Notice(Notice::Parked), tried).await;
        assert!(matches!(outcome, Outcome::Done { status: 201, .. }), "{outcome:?}");
    }
    let posted = std::mem::take(&mut *posts.0.lock().unwrap());
    assert_eq!(posted[0], posted[1], "each attempt tells the same under the same id");
    let (place, message) = &posted[0];
    assert_eq!(*place, PostTarget::Queue("failed".to_owned()));
    assert_eq!(message.id, "r-1/Notice(Parked)");
    assert_eq!(message.label.as_deref(), Some("parked"));
    assert_eq!(message.session.as_deref(), Some("r-1"), "a queue with sessions takes it as well");
    assert_eq!(message.content_type.as_deref(), Some("application/json"));
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    let expected = json!({
        "run": { "id": "r-1", "workflow": "w", "version": 3, "key": "r-1", "status": "parked", "reason": "why",
                 "parked_count": 2 },
        "request": { "id": 7 },
        "steps_done": [{ "step": "one", "output": { "drone": "d-9" } }],
        "steps_undone": ["two"],
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_notice_with_a_feed_is_given_when_both_have_it() {
    let own = |name: &str| feed(&format!("on_undone: {{ action: {{ type: topic, topic: {name} }} }}\n"));
    let undone = Work::Notice(Notice::Undone);
    for (name, expected) in [("news", "done"), ("full", "later"), ("unknown", "refused"), ("lost", "unknown")]
    {
        let posts = Arc::new(Posts::default());
        let outcome = attempt(&posts, &own(name), undone, 1).await;
        let told = match outcome {
            Outcome::Done { .. } => "done",
            Outcome::Transient { .. } => "later",
            Outcome::Refused { .. } => "refused",
            Outcome::Unknown { .. } => "unknown",
        };
        assert_eq!(told, expected, "{name}");
        assert_eq!(posts.0.lock().unwrap().len(), 2, "both are reported in every attempt");
    }
    let posts = Arc::new(Posts::default());
    let source = own("news").replace("feed: failed", "feed: full");
    let outcome = attempt(&posts, &source, undone, 1).await;
    let (reason, retry_after) = ("feed 'full': full".to_owned(), Some(Span::from_secs(7)));
    assert_eq!(outcome, Outcome::Transient { status: None, reason, retry_after });
    assert_eq!(posts.0.lock().unwrap().len(), 2, "a feed without room does not keep the other from it");
    let completed = own("news").replace("on_undone", "on_completed");
    let posts = Arc::new(Posts::default());
    attempt(&posts, &completed, Work::Notice(Notice::Completed), 1).await;
    assert_eq!(posts.0.lock().unwrap().len(), 1, "a supervisor does not hear of success");
}

#[tokio::test]
async fn a_notice_that_one_receiver_confirmed_is_not_repeated_while_the_other_is_tried() {
    let undone = Work::Notice(Notice::Undone);
    let source = |own: &str, fed: &str| {
        let own = format!("on_undone: {{ action: {{ type: topic, topic: {own} }} }}\n");
        feed(&own).replace("feed: failed", &format!("feed: {fed}"))
    };
    for (own, fed, expected) in [
        ("full", "failed", ["failed", "full", "full", "full", "news", "failed", "news"]),
        ("news", "lost", ["lost", "news", "lost", "lost", "failed", "failed", "news"]),
    ] {
        let posts = Arc::new(Posts::default());
        let inner = inner(&posts);
        for tried in 1..=3 {
            let outcome = attempt_of(&inner, &source(own, fed), undone, tried).await;
            assert!(!matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
        }
        // The other is well again; and the next notice under this key is reported to both.
        for tried in 4..=5 {
            let outcome = attempt_of(&inner, &source("news", "failed"), undone, tried).await;
            assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
        }
        let name =
            |(PostTarget::Queue(name) | PostTarget::Topic(name), _): &(PostTarget, Message)| name.clone();
        let told: Vec<String> = posts.0.lock().unwrap().iter().map(name).collect();
        assert_eq!(told, expected);
    }
}

#[tokio::test]
async fn a_queue_without_room_does_not_pause_the_others() {
    let posts = Arc::new(Posts::default());
    let inner = inner(&posts);
    let (context, stop) = (context(RunStatus::Running), Stop::default());
    let full = Definition::parse(&step("{ type: queue, queue: full }", "")).unwrap();
    let free = Definition::parse(&step("{ type: queue, queue: free }", "")).unwrap();
    for definition in std::iter::repeat_n(&full, 200).chain([&free]) {
        let (work, key) = (Work::Do(StepIndex(0)), "k".to_owned());
        let attempt =
            CallAttempt { work, attempt: 1, definition, version: 1, context: &context, key, stop: &stop };
        let outcome = tokio::time::timeout(Duration::from_secs(60), inner.run(&attempt)).await.unwrap();
        assert_eq!(matches!(outcome, Some(Outcome::Done { .. })), std::ptr::eq(definition, &free));
    }
    let breaker = inner.services.snapshot("queues").unwrap().breaker;
    assert_eq!(breaker, crate::service::BreakerState::Closed);
}

#[tokio::test]
async fn a_send_waits_for_the_turn_of_its_service() {
    let posts = Arc::new(Posts::default());
    let inner = inner(&posts);
    inner.services.configure("queues", ServiceSettings { concurrency_max: 1 });
    let held = inner.services.acquire("queues", AttemptKind::First).await;
    let definition = Definition::parse(&step("{ type: queue, queue: orders }", "")).unwrap();
    let (context, stop) = (context(RunStatus::Running), Stop::default());
    let attempt = CallAttempt {
        work: Work::Do(StepIndex(0)),
        attempt: 1,
        definition: &definition,
        version: 1,
        context: &context,
        key: "k".to_owned(),
        stop: &stop,
    };
    let mut run = Box::pin(inner.run(&attempt));
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut run).await.is_err());
    assert!(posts.0.lock().unwrap().is_empty());
    stop.raise();
    assert_eq!(run.await, None, "one that is stopped before its turn does not leave");
    drop(held);
    assert!(posts.0.lock().unwrap().is_empty());
}
