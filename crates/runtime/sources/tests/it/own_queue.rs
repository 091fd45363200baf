//! A built-in queue as a source: every message becomes one run, or a dead letter.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::queues::{Peeked, QueueCommand};
use kernel::queue::{MessageState, QueueRef, SubQueue};
use sources::Sources;
use types::{Filter, QueueSpec, Span, TopicSpec};

use crate::life::{live, name, until};
use crate::slow::Manner;

const WORKFLOW: &str = "
name: orders
accept:
  schema: { type: object, required: [item] }
services: { a: { url: \"http://127.0.0.1:1\" } }
sources:
  - { type: queue, queue: orders, concurrency: 8 }
steps:
  one:
    call: { service: a, method: PUT, path: /one }
";

// guards: 29
#[tokio::test(flavor = "multi_thread")]
async fn every_message_starts_its_run_and_poison_is_parked_with_its_bytes() {
    let mut life = live().await;
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    // The queue comes after the workflow: the source waits for it.
    life.put_queue("orders", QueueSpec::default()).await;
    for n in 0..40 {
        life.send("orders", &format!("order-{n}"), "{\"item\": 1}").await;
    }
    life.send("orders", "bad-json", "{item").await;
    life.send("orders", "bad-shape", "{\"other\": 1}").await;
    let mut expected: Vec<String> = (0..40).map(|n| format!("order-{n}")).collect();
    expected.sort();
    until("every message starts a run", async || life.called.messages() == expected).await;
    until("the queue is empty", async || life.peek("orders", SubQueue::Main).await.is_empty()).await;
    until("both are parked", async || life.peek("orders", SubQueue::Dead).await.len() == 2).await;
    let mut parked: Vec<_> = life.peek("orders", SubQueue::Dead).await;
    parked.sort_by(|a, b| a.message.id.cmp(&b.message.id));
    assert_eq!(parked[0].message.body, "{item");
    let why = parked[1].dead.as_ref().unwrap();
    assert_eq!(why.reason, "NotAccepted");
    assert!(why.description.contains("item"), "{}", why.description);
    sources.stop().await;
    life.send("orders", "late", "{\"item\": 1}").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(life.peek("orders", SubQueue::Main).await.len(), 1, "nothing is taken after the stop");
}

// guards: 29
#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_request_is_not_durable_stays_and_comes_again() {
    let mut life = live().await;
    life.put_queue("orders", QueueSpec { deliveries_max: 1, ..QueueSpec::default() }).await;
    life.send("orders", "order-1", "{\"item\": 1}").await;
    life.inbox.manner.send_replace(Manner::Refusing);
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    life.inbox.asked.subscribe().wait_for(|asked| *asked == 2).await.unwrap();
    let there = life.peek("orders", SubQueue::Main).await;
    assert_eq!(there.len(), 1, "it is not settled before its run is durable, and its tries do not count");
    assert_eq!(life.called.runs(), [""; 0]);
    life.inbox.manner.send_replace(Manner::Usual);
    until("it starts its run", async || life.called.messages() == ["order-1"]).await;
    until("the queue is empty", async || life.peek("orders", SubQueue::Main).await.is_empty()).await;
    assert!(life.peek("orders", SubQueue::Dead).await.is_empty());
    sources.stop().await;
}

// guards: 29
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_comes_again_finds_its_run() {
    let mut life = live().await;
    life.put_queue("orders", QueueSpec { lock: Span::from_ms(200), ..QueueSpec::default() }).await;
    life.send("orders", "order-1", "{\"item\": 1}").await;
    life.inbox.manner.send_replace(Manner::Slow);
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    until("it starts its run", async || life.called.messages() == ["order-1"]).await;
    let ready = |peeked: &[Peeked]| peeked.iter().any(|one| one.slot.state == MessageState::Ready);
    until("its lock is lost", async || ready(&life.peek("orders", SubQueue::Main).await)).await;
    assert_eq!(life.peek("orders", SubQueue::Main).await[0].slot.deliveries, 1);
    life.inbox.manner.send_replace(Manner::Usual);
    until("it is completed", async || life.peek("orders", SubQueue::Main).await.is_empty()).await;
    assert_eq!(life.called.messages(), ["order-1"], "the second delivery started nothing");
    sources.stop().await;
}

// guards: 29
#[tokio::test(flavor = "multi_thread")]
async fn two_workflows_on_one_topic_have_a_run_each_of_every_message() {
    let mut life = live().await;
    life.ask("news", QueueCommand::PutTopic { name: name("news"), spec: TopicSpec::default() }).await;
    for own in ["billing", "shipping"] {
        let (topic, spec, filter) = (name("news"), QueueSpec::default(), Filter::default());
        let put = QueueCommand::PutSubscription { topic, name: name(own), spec, filter };
        life.ask("news", put).await;
        let source = WORKFLOW.replace("name: orders", &format!("name: {own}"));
        let source = source
            .replace("type: queue, queue: orders", &format!("type: topic, topic: news, subscription: {own}"));
        life.control.apply(&source, "test", None).await.unwrap();
    }
    let sources = Sources::start(life.parts.take().unwrap());
    for n in 0..10 {
        life.send("news", &format!("order-{n}"), "{\"item\": 1}").await;
    }
    let expected: Vec<String> = (0..20).map(|n| format!("order-{}", n / 2)).collect();
    until("both have a run of each", async || life.called.messages() == expected).await;
    let runs: BTreeSet<String> = life.called.runs().into_iter().collect();
    assert_eq!(runs.len(), 20, "no two share a run");
    for own in ["billing", "shipping"] {
        let at = QueueRef::subscription(name("news"), name(own));
        until("it is empty", async || life.peek_at(at.clone(), SubQueue::Main).await.is_empty()).await;
        assert!(life.peek_at(at, SubQueue::Dead).await.is_empty());
    }
    sources.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_used_again_is_another_message() {
    let mut life = live().await;
    // Nothing is remembered: whoever sends an id again means it.
    life.put_queue("orders", QueueSpec { duplicate_window: Span::ZERO, ..QueueSpec::default() }).await;
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    for item in 1..=3 {
        life.send("orders", "order-1", &format!("{{\"item\": {item}}}")).await;
    }
    until("each starts a run", async || life.called.messages() == ["order-1"; 3]).await;
    assert!(life.peek("orders", SubQueue::Dead).await.is_empty());
    sources.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_deleted_takes_no_more() {
    let mut life = live().await;
    life.put_queue("orders", QueueSpec::default()).await;
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    life.send("orders", "first", "{\"item\": 1}").await;
    until("the first is taken", async || life.called.messages() == ["first"]).await;
    life.control.delete(&types::WorkflowName::new("orders").unwrap(), "test").await.unwrap();
    let mut sent = 0;
    until("a message stays", async || {
        sent += 1;
        life.send("orders", &format!("late-{sent}"), "{\"item\": 1}").await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        !life.peek("orders", SubQueue::Main).await.is_empty()
    })
    .await;
    sources.stop().await;
}
