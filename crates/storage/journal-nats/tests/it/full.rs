//! What is full refuses, loses nothing, and goes on when there is room.

use std::time::Duration;

use journal::{AppendError, Journal as _, Snapshot};
use journal_nats::jetstream::JetStream;
use journal_nats::{Login, NatsJournal, NatsWire, Proof, Settings, layout, names};
use snapshots::bucket::Bucket;
use snapshots::stored::StoredSnapshots;
use test_brokers::{NatsCluster, NatsSettings};
use tokio::time::{sleep, timeout};
use types::{PartitionId, Seq};

use crate::cluster::{bytes, open, requests, settings, shared};

const ONE: PartitionId = PartitionId(0);
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_full_inbox_refuses_and_goes_on_after_a_trim() {
    let mut settings = settings(shared());
    settings.installation.inbox_bytes_max = Some(64 << 10);
    let journal = open(&settings).await;
    let mut accepted = Vec::new();
    let mut last = Seq(0);
    let refused = loop {
        let text = format!("{:0>8000}", accepted.len());
        match journal.inbox_append(ONE, vec![bytes(&text)]).await {
            Ok(number) => last = number,
            Err(error) => break error,
        }
        accepted.push(text);
        assert!(accepted.len() < 100, "the inbox has a limit");
    };
    assert_eq!(refused, AppendError::Full);
    let found = requests(&journal, ONE, Seq(1)).await;
    assert!(found == accepted, "{} of {} are there", found.len(), accepted.len());

    let claim = journal.claim(ONE).await.unwrap();
    journal.append(ONE, claim.epoch, Seq(0), bytes("events have room")).await.unwrap();
    journal.trim(ONE, claim.epoch, Seq(1), last.next()).await.unwrap();
    let next = journal.inbox_append(ONE, vec![bytes("next")]).await.unwrap();
    assert!(next > last);
    assert_eq!(requests(&journal, ONE, last.next()).await, ["next"]);
}

// guards: 60
#[tokio::test]
async fn requests_are_refused_before_a_server_is_full_and_room_comes_by_snapshots_in_it() {
    let small = NatsSettings {
        servers: 1,
        max_file_store: "64MB".to_owned(),
        system_account: true,
        ..NatsSettings::default()
    };
    let small = NatsCluster::start_with(small).unwrap();
    let login = Login::Password { user: "sys".to_owned(), password: "sys".to_owned() };
    let proof = Proof::SystemAccount(login);
    let settings = Settings { replicas: 1, proof, ..settings(small.urls()) };
    let bucket = names::snapshot_bucket(&settings.installation.name);
    let jetstream = JetStream::connect(&settings).await.unwrap();
    let store = Bucket::open(&jetstream, &bucket, 1).await.unwrap();
    let snapshots = StoredSnapshots::new(store, &settings.installation.name);
    let journal = NatsJournal::open(&settings, snapshots).await.unwrap();
    let claim = journal.claim(ONE).await.unwrap();

    // As admission does it: nobody is asked to take what there is no room for.
    let accepts = async |wanted: bool| {
        let changed = async {
            while journal.room().accepts != wanted {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, changed).await.unwrap_or_else(|_| panic!("not {wanted}: {:?}", journal.room()));
    };
    let known = async {
        while journal.room().free_bytes == u64::MAX {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, known).await.expect("the servers say what they may hold");
    let mut last = Seq(0);
    let mut accepted = 0;
    while journal.room().accepts {
        last = journal.inbox_append(ONE, vec![vec![7; 1 << 20].into()]).await.expect("it was accepted");
        accepted += 1;
        assert!(accepted < 64, "there is an end to the room");
    }
    assert!(accepted > 32, "only {accepted} of 64 MB were taken");

    let mut tail = Seq(0);
    for _ in 0..3 {
        let frame = vec![8; 1 << 20].into();
        tail = journal.append(ONE, claim.epoch, tail, frame).await.expect("what runs goes on");
    }
    let snapshot = Snapshot { through: tail, bytes: vec![9; 1 << 20].into() };
    journal.snapshot_put(ONE, claim.epoch, snapshot).await.expect("there is room for a snapshot");
    journal.trim(ONE, claim.epoch, tail, last.next()).await.unwrap();
    accepts(true).await;
    journal.inbox_append(ONE, vec![bytes("next")]).await.unwrap();
}

// guards: 60
#[tokio::test]
async fn a_changed_limit_applies_to_an_existing_inbox_and_drops_nothing() {
    let mut settings = settings(shared());
    let journal = open(&settings).await;
    let texts: Vec<String> = (0..20).map(|number| format!("{number:0>8000}")).collect();
    for text in &texts {
        journal.inbox_append(ONE, vec![bytes(text)]).await.unwrap();
    }
    settings.installation.inbox_bytes_max = Some(64 << 10);
    let limited = open(&settings).await;
    assert_eq!(limited.inbox_append(ONE, vec![bytes("more")]).await, Err(AppendError::Full));
    assert!(requests(&limited, ONE, Seq(1)).await == texts, "nothing that was accepted is gone");

    settings.installation.inbox_bytes_max = Some(1 << 20);
    let wider = open(&settings).await;
    wider.inbox_append(ONE, vec![bytes("more")]).await.unwrap();
    settings.installation.inbox_bytes_max = None;
    let client = NatsWire::connect(&settings).await.unwrap();
    layout::ensure(client.jetstream(), &settings.installation, settings.replicas).await.unwrap();
}

#[tokio::test]
async fn inboxes_for_which_the_servers_have_no_room_are_refused_with_what_to_change() {
    let mut settings = settings(shared());
    settings.installation.inbox_bytes_max = Some(1 << 40);
    let error = NatsJournal::open(&settings, snapshots::memory::MemorySnapshots::default()).await;
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("inbox_bytes_max") && error.contains("max_file_store"), "{error}");

    settings.installation.inbox_bytes_max = None;
    open(&settings).await;
    // Streams that are there are used all the same.
    settings.installation.inbox_bytes_max = Some(1 << 40);
    open(&settings).await;
}
