//! A built-in queue as a source: every message becomes one run, or a dead letter.

use std::collections::BTreeSet;
use std::time::Duration;

use engine::queues::QueueCommand;
use kernel::queue::Shelf;
use sources::Sources;
use words::QueueSpec;

use crate::life::{live, name, until};

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

#[tokio::test(flavor = "multi_thread")]
async fn every_message_starts_its_run_and_poison_is_parked_with_its_bytes() {
    let mut life = live().await;
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    // The queue comes after the workflow: the source waits for it.
    life.ask("orders", QueueCommand::PutQueue { name: name("orders"), spec: QueueSpec::default() }).await;
    for n in 0..40 {
        life.send("orders", &format!("order-{n}"), "{\"item\": 1}").await;
    }
    life.send("orders", "bad-json", "{item").await;
    life.send("orders", "bad-shape", "{\"other\": 1}").await;
    let expected: BTreeSet<String> = (0..40).map(|n| format!("order-{n}")).collect();
    until("every message starts a run", async || *life.called.0.lock().unwrap() == expected).await;
    until("the queue is empty", async || life.peek("orders", Shelf::Main).await.is_empty()).await;
    until("both are parked", async || life.peek("orders", Shelf::Dead).await.len() == 2).await;
    let mut parked: Vec<_> = life.peek("orders", Shelf::Dead).await;
    parked.sort_by(|a, b| a.message.id.cmp(&b.message.id));
    assert_eq!(parked[0].message.body, "{item");
    let why = parked[1].dead.as_ref().unwrap();
    assert_eq!(why.reason, "NotAccepted");
    assert!(why.description.contains("item"), "{}", why.description);
    sources.stop().await;
    life.send("orders", "late", "{\"item\": 1}").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(life.peek("orders", Shelf::Main).await.len(), 1, "nothing is taken after the stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_deleted_takes_no_more() {
    let mut life = live().await;
    life.ask("orders", QueueCommand::PutQueue { name: name("orders"), spec: QueueSpec::default() }).await;
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    life.send("orders", "first", "{\"item\": 1}").await;
    until("the first is taken", async || life.called.0.lock().unwrap().contains("first")).await;
    life.control.delete(&words::WorkflowName::new("orders").unwrap(), "test").await.unwrap();
    let mut sent = 0;
    until("a message stays", async || {
        sent += 1;
        life.send("orders", &format!("late-{sent}"), "{\"item\": 1}").await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        !life.peek("orders", Shelf::Main).await.is_empty()
    })
    .await;
    sources.stop().await;
}
