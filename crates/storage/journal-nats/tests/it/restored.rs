//! Inboxes whose streams were restored from an older backup, or created again: what is acknowledged then is taken up.

use journal::Journal as _;
use journal_nats::{NatsWire, Settings, Source, Wire as _, layout, names};
use types::{PartitionId, Seq};

use crate::cluster::{Journal, bytes, open, requests, settings, shared};

const ONE: PartitionId = PartitionId(0);

/// Stores so many requests, each in a message of its own, and takes all of them up; answers how far.
async fn take_up(journal: &Journal, count: u64) -> Seq {
    let claim = journal.claim(ONE).await.unwrap();
    for number in 0..count {
        journal.inbox_append(ONE, vec![bytes(format!("old {number}"))]).await.unwrap();
    }
    let taken_up = journal.inbox_read(ONE, Seq(1), usize::MAX).await.unwrap().last().unwrap().seq;
    journal.append(ONE, claim.epoch, claim.events_tail, bytes("taken up")).await.unwrap();
    taken_up
}

async fn ask(client: &NatsWire, what: &str, question: serde_json::Value) {
    let subject = format!("$JS.API.{what}");
    let answer = client.jetstream().nats().request(subject, question.to_string().into()).await.unwrap();
    let answer = String::from_utf8_lossy(&answer.payload).into_owned();
    assert!(!answer.contains("\"error\""), "{what}: {answer}");
}

/// Deletes the inbox and creates it again, with the first `kept` messages that it had.
async fn replace_inbox(settings: &Settings, kept: u64) {
    let client = NatsWire::connect(settings).await.unwrap();
    let inbox = names::inbox_stream(&settings.installation.name, ONE);
    let subject = names::inbox_subject(&settings.installation.name, ONE);
    let mut messages = Vec::new();
    for sequence in 1..=kept {
        messages.push(client.get(&inbox, sequence, Source::Leader).await.unwrap().unwrap());
    }
    ask(&client, &format!("STREAM.DELETE.{inbox}"), serde_json::json!({})).await;
    layout::ensure(client.jetstream(), &settings.installation, settings.replicas).await.unwrap();
    for message in messages {
        client.jetstream().nats().request(subject.clone(), message).await.unwrap();
    }
}

async fn append(journal: &Journal, text: &str) -> Seq {
    journal.inbox_append(ONE, vec![bytes(text)]).await.unwrap()
}

#[tokio::test]
async fn requests_in_a_recreated_inbox_are_not_mistaken_for_old_ones() {
    check_replaced(0).await;
}

#[tokio::test]
async fn requests_after_a_restore_are_not_taken_for_old_ones() {
    check_replaced(3).await;
}

async fn check_replaced(kept: u64) {
    let settings = settings(shared());
    let before = open(&settings).await;
    let taken_up = take_up(&before, 9).await;
    drop(before);
    replace_inbox(&settings, kept).await;

    let after = open(&settings).await;
    assert_eq!(after.gaps(), 1, "it is counted");
    append(&after, "new").await;
    let next = open(&settings).await;
    assert_eq!(next.gaps(), 0, "nothing is missing any more");
    next.claim(ONE).await.unwrap();
    append(&next, "newer").await;
    assert_eq!(requests(&next, ONE, taken_up.next()).await, ["new", "newer"]);
}

#[tokio::test]
async fn what_was_restored_and_not_taken_up_stays() {
    let settings = settings(shared());
    let before = open(&settings).await;
    let taken_up = take_up(&before, 2).await;
    append(&before, "waits").await;
    // Read and not taken up: the head of the next frame tells of more than what was taken up.
    before.inbox_read(ONE, taken_up.next(), usize::MAX).await.unwrap();
    append(&before, "lost").await;
    before.inbox_read(ONE, taken_up.next(), usize::MAX).await.unwrap();
    let claim = before.claim(ONE).await.unwrap();
    before.append(ONE, claim.epoch, claim.events_tail, bytes("else")).await.unwrap();
    drop(before);
    replace_inbox(&settings, 3).await;
    let after = open(&settings).await;
    append(&after, "new").await;
    assert_eq!(requests(&after, ONE, taken_up.next()).await, ["waits", "new"]);
}

#[tokio::test]
async fn an_instance_that_runs_while_an_inbox_is_replaced_acknowledges_nothing_below() {
    let settings = settings(shared());
    let (owner, ingest) = (open(&settings).await, open(&settings).await);
    let taken_up = take_up(&owner, 5).await;
    append(&ingest, "of before").await;
    assert_eq!(requests(&owner, ONE, taken_up.next()).await, ["of before"]);
    let claim = owner.claim(ONE).await.unwrap();
    let taken_up = *owner.inbox_tail(ONE).borrow();
    owner.append(ONE, claim.epoch, claim.events_tail, bytes("taken up")).await.unwrap();

    replace_inbox(&settings, 2).await;
    let stored = append(&ingest, "new").await;
    assert!(stored > taken_up, "{stored} is not after {taken_up}");
    assert_eq!(ingest.gaps(), 1);
    // The owner goes on reading where it was.
    assert_eq!(requests(&owner, ONE, taken_up.next()).await, ["new"]);
}

#[tokio::test]
async fn an_inbox_that_lags_far_is_advanced_at_once() {
    let settings = settings(shared());
    let before = open(&settings).await;
    let client = NatsWire::connect(&settings).await.unwrap();
    let inbox = names::inbox_stream(&settings.installation.name, ONE);
    ask(&client, &format!("STREAM.PURGE.{inbox}"), serde_json::json!({ "seq": 5_000_001 })).await;
    let claim = before.claim(ONE).await.unwrap();
    let taken_up = append(&before, "old").await;
    assert_eq!(requests(&before, ONE, taken_up).await, ["old"]);
    before.append(ONE, claim.epoch, claim.events_tail, bytes("taken up")).await.unwrap();
    drop(before);
    replace_inbox(&settings, 0).await;
    let after = open(&settings).await;
    append(&after, "new").await;
    after.claim(ONE).await.unwrap();
    assert_eq!(requests(&after, ONE, taken_up.next()).await, ["new"]);
}
