//! What other processes and the paired region see.

use std::time::Duration;

use journal::{Journal as _, Snapshot};
use journal_nats::{NatsWire, Servers, Settings, Source, Wire as _};
use snapshots::memory::MemorySnapshots;
use test_brokers::{NatsCluster, NatsSettings};
use tokio::time::timeout;
use types::{PartitionId, Seq};

use crate::cluster::{Journal, bytes, frames, open, requests, settings, shared};

const ONE: PartitionId = PartitionId(0);
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn the_tail_of_an_inbox_is_followed_across_processes() {
    let settings = settings(shared());
    let (here, there) = (open(&settings).await, open(&settings).await);
    let mut tail = here.inbox_tail(ONE);
    for text in ["a", "b", "c"] {
        let accepted = there.inbox_append(ONE, vec![bytes(text)]).await.unwrap();
        timeout(PATIENCE, tail.wait_for(|tail| *tail == accepted))
            .await
            .expect("the tail is reported")
            .unwrap();
    }
}

#[tokio::test]
async fn the_paired_region_is_asked_through_its_domain_while_it_mirrors() {
    let mut settings = settings(Vec::new());
    settings.replicas = 1;
    let name = settings.installation.name.clone();
    let region = |domain: &str| NatsSettings {
        servers: 1,
        domain: Some(domain.to_owned()),
        system_account: true,
        ..NatsSettings::default()
    };
    let east = NatsCluster::start_with(region("east")).unwrap();
    let remotes = east.leaf_urls();
    let deny = vec![format!("{name}.ing.>"), format!("{name}.jrn.>")];
    let west = NatsSettings { remotes, remotes_deny: deny, ..region("west") };
    let west = NatsCluster::start_with(west).unwrap();

    settings.servers = Servers(east.urls());
    settings.pair_domain = Some("west".to_owned());
    let client = NatsWire::connect(&settings).await.unwrap();
    open(&settings).await.claim(ONE).await.unwrap();
    let stream = format!("{name}_JRN_00000");
    let there =
        NatsWire::connect(&Settings { servers: Servers(west.urls()), ..settings.clone() }).await.unwrap();
    let change = async |what: &str, config: serde_json::Value| {
        let subject = format!("$JS.API.STREAM.{what}.{stream}");
        let answer = there.jetstream().nats().request(subject, config.to_string().into()).await.unwrap();
        assert!(!String::from_utf8_lossy(&answer.payload).contains("error"), "{answer:?}");
    };
    let external = serde_json::json!({ "api": "$JS.east.API", "deliver": "" });
    let mirror = serde_json::json!({ "name": stream, "external": external });
    change("CREATE", serde_json::json!({ "name": stream, "storage": "file", "mirror": mirror })).await;
    let mirrored = async {
        // The leaf connection takes a moment, and so does the mirror.
        while !matches!(client.get(&stream, 1, Source::Pair).await, Ok(Some(_))) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, mirrored).await.expect("the claim is in the other region");
    assert_eq!(client.get(&stream, 2, Source::Pair).await, Ok(None));

    let subjects = [format!("{name}.jrn.00000")];
    change("UPDATE", serde_json::json!({ "name": stream, "storage": "file", "subjects": subjects })).await;
    assert_eq!(
        client.get(&stream, 1, Source::Pair).await,
        Ok(None),
        "a stream that is not our mirror is not read"
    );
}

#[tokio::test]
async fn a_replaced_stream_is_opened_again() {
    let settings = settings(shared());
    let journal = open(&settings).await;
    let mut tail = journal.inbox_tail(ONE);
    let claim = journal.claim(ONE).await.unwrap();
    for before in 0..5 {
        journal.append(ONE, claim.epoch, Seq(before), bytes("old")).await.unwrap();
        journal.inbox_append(ONE, vec![bytes("old")]).await.unwrap();
    }
    frames(&journal, ONE).await;

    let client = NatsWire::connect(&settings).await.unwrap();
    for kind in ["JRN", "ING"] {
        let subject = format!("$JS.API.STREAM.DELETE.{}_{kind}_00000", settings.installation.name);
        client.jetstream().nats().request(subject, "".into()).await.unwrap();
    }
    let other = open(&settings).await;
    let claim = other.claim(ONE).await.unwrap();
    other.append(ONE, claim.epoch, Seq(0), bytes("new")).await.unwrap();
    other.inbox_append(ONE, vec![bytes("new")]).await.unwrap();

    journal.forget().await.unwrap();
    assert_eq!(frames(&journal, ONE).await, ["new"]);
    assert_eq!(requests(&journal, ONE, Seq(1)).await, ["new"]);
    let claim = journal.claim(ONE).await.unwrap();
    assert_eq!(claim.events_tail, Seq(1));
    let accepted = other.inbox_append(ONE, vec![bytes("newer")]).await.unwrap();
    timeout(PATIENCE, tail.wait_for(|tail| *tail == accepted)).await.expect("it is followed").unwrap();
}

// guards: 61
#[tokio::test]
async fn a_stream_that_was_restored_short_is_not_claimed() {
    let settings = settings(shared());
    let journal = open(&settings).await;
    let claim = journal.claim(ONE).await.unwrap();
    for before in 0..3 {
        journal.append(ONE, claim.epoch, Seq(before), bytes("acknowledged")).await.unwrap();
    }
    let high = journal.acknowledged(ONE).unwrap();
    assert_eq!(high, 4, "a claim and three frames");

    let client = NatsWire::connect(&settings).await.unwrap();
    let subject = format!("$JS.API.STREAM.DELETE.{}_JRN_00000", settings.installation.name);
    client.jetstream().nats().request(subject, "".into()).await.unwrap();
    let fresh = open(&settings).await;
    fresh.expect(ONE, high);
    let Err(journal::AppendError::Damaged { detail, .. }) = fresh.claim(ONE).await else {
        panic!("it was claimed")
    };
    let bucket = format!("the key 00000 of the bucket {}_part", settings.installation.name);
    assert!(detail.contains("message 4 was acknowledged") && detail.contains(&bucket), "{detail}");
    // Once a person has decided to do without it.
    fresh.expect(ONE, 0);
    assert_eq!(fresh.claim(ONE).await.unwrap().events_tail, Seq(0));
}

#[tokio::test]
async fn a_snapshot_of_a_history_that_was_replaced_is_passed_over() {
    let settings = settings(shared());
    let snapshots = MemorySnapshots::default();
    let journal = Journal::open(&settings, snapshots.clone()).await.unwrap();
    let claim = journal.claim(ONE).await.unwrap();
    for before in 0..3 {
        journal.append(ONE, claim.epoch, Seq(before), bytes("old")).await.unwrap();
    }
    let snapshot = Snapshot { through: Seq(3), bytes: bytes("state of old") };
    journal.snapshot_put(ONE, claim.epoch, snapshot.clone()).await.unwrap();
    assert_eq!(journal.snapshot_get(ONE).await.unwrap(), Some(snapshot));

    let client = NatsWire::connect(&settings).await.unwrap();
    let subject = format!("$JS.API.STREAM.DELETE.{}_JRN_00000", settings.installation.name);
    client.jetstream().nats().request(subject, "".into()).await.unwrap();
    let other = Journal::open(&settings, snapshots).await.unwrap();
    let claim = other.claim(ONE).await.unwrap();
    // Shorter than the snapshot, and then as long.
    for before in 0..4 {
        assert_eq!(other.snapshot_get(ONE).await.unwrap(), None, "after {before} frames");
        other.append(ONE, claim.epoch, Seq(before), bytes("new")).await.unwrap();
    }
    assert_eq!(other.snapshot_get(ONE).await.unwrap(), None);
}
