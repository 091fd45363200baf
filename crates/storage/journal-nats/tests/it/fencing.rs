//! One owner at a time, whoever sleeps and whoever hurries.

use journal::{AppendError, Journal as _, ReadError, Snapshot};
use journal_nats::{NatsJournal, NatsWire, Settings, layout};
use snapshots::directory::Directory;
use snapshots::stored::StoredSnapshots;
use tokio::task::JoinSet;
use types::{PartitionId, Seq};

use crate::cluster::{bytes, frames, open, requests, settings, shared};

const ONE: PartitionId = PartitionId(0);

// guards: 31
#[tokio::test]
async fn an_owner_that_slept_is_refused_and_counted() {
    let settings = settings(shared());
    let (sleeper, next) = (open(&settings).await, open(&settings).await);
    let before = sleeper.claim(ONE).await.unwrap();
    sleeper.append(ONE, before.epoch, Seq(0), bytes("a")).await.unwrap();

    let after = next.claim(ONE).await.unwrap();
    assert_eq!(after.events_tail, Seq(1), "what the sleeper had appended is there");
    let refused = sleeper.append(ONE, before.epoch, Seq(1), bytes("zombie")).await;
    assert_eq!(refused, Err(AppendError::Fenced { partition: ONE }));
    assert_eq!((sleeper.fenced(), next.fenced()), (1, 0));

    next.append(ONE, after.epoch, Seq(1), bytes("b")).await.unwrap();
    let again = sleeper.append(ONE, before.epoch, Seq(1), bytes("zombie")).await;
    assert_eq!(again, Err(AppendError::Fenced { partition: ONE }));
    assert_eq!(frames(&next, ONE).await, ["a", "b"]);
    assert_eq!(frames(&sleeper, ONE).await, ["a", "b"]);
}

// guards: 62
#[tokio::test]
async fn an_owner_whose_region_was_reopened_is_refused_and_may_claim_again() {
    let settings = settings(shared());
    let (journal, client) = (open(&settings).await, NatsWire::connect(&settings).await.unwrap());
    let before = journal.claim(ONE).await.unwrap();
    journal.append(ONE, before.epoch, Seq(0), bytes("a")).await.unwrap();
    journal.inbox_append(ONE, vec![bytes("a")]).await.unwrap();
    reopen(&settings, &client).await;

    let refused = journal.append(ONE, before.epoch, Seq(1), bytes("of before")).await;
    assert_eq!(refused, Err(AppendError::Fenced { partition: ONE }));
    let after = journal.claim(ONE).await.unwrap();
    assert_eq!(after.events_tail, Seq(1));
    journal.append(ONE, after.epoch, Seq(1), bytes("b")).await.unwrap();
    journal.inbox_append(ONE, vec![bytes("b")]).await.unwrap();
    let other = open(&settings).await;
    assert_eq!(frames(&other, ONE).await, ["a", "b"]);
    assert_eq!(requests(&other, ONE, Seq(1)).await, ["a", "b"]);
}

/// Gives all streams the subjects of another epoch of the region, as a promotion does.
async fn reopen(settings: &Settings, client: &NatsWire) {
    for mut config in layout::stream_configs(&settings.installation, settings.replicas) {
        let promoted = format!("{}.3", config["subjects"][0].as_str().unwrap());
        config["subjects"] = serde_json::json!([promoted]);
        let update = format!("$JS.API.STREAM.UPDATE.{}", config["name"].as_str().unwrap());
        let answer = client.jetstream().nats().request(update, config.to_string().into()).await.unwrap();
        assert!(!String::from_utf8_lossy(&answer.payload).contains("error"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_reader_goes_on_after_the_claims_that_it_had_not_read_were_trimmed() {
    let settings = settings(shared());
    let (owner, reader) = (open(&settings).await, open(&settings).await);
    let claim = owner.claim(ONE).await.unwrap();
    owner.append(ONE, claim.epoch, Seq(0), bytes("a")).await.unwrap();
    assert_eq!(frames(&reader, ONE).await, ["a"]);

    owner.claim(ONE).await.unwrap();
    owner.claim(ONE).await.unwrap();
    let claim = owner.claim(ONE).await.unwrap();
    owner.trim(ONE, claim.epoch, Seq(2), Seq(1)).await.unwrap();
    assert_eq!(reader.read(ONE, Seq(2), 1024).await.unwrap(), [], "the next frame is not there yet");
    owner.append(ONE, claim.epoch, Seq(1), bytes("b")).await.unwrap();
    let read = reader.read(ONE, Seq(2), 1024).await.unwrap();
    assert_eq!(read.iter().map(|record| record.seq).collect::<Vec<_>>(), [Seq(2)]);
}

// guards: 64
#[tokio::test]
async fn an_owner_whose_region_was_reopened_trims_nothing() {
    let settings = settings(shared());
    let (journal, client) = (open(&settings).await, NatsWire::connect(&settings).await.unwrap());
    let before = journal.claim(ONE).await.unwrap();
    let mut tail = Seq(0);
    for text in ["a", "b", "c"] {
        tail = journal.append(ONE, before.epoch, tail, bytes(text)).await.unwrap();
    }
    let last = journal.inbox_append(ONE, vec![bytes("r")]).await.unwrap();
    reopen(&settings, &client).await;
    let refused = journal.trim(ONE, before.epoch, tail, last.next()).await;
    assert_eq!(refused, Err(AppendError::Unknown { partition: ONE }));
    let other = open(&settings).await;
    assert_eq!(frames(&other, ONE).await, ["a", "b", "c"]);
    assert_eq!(requests(&other, ONE, Seq(1)).await, ["r"]);
    let after = other.claim(ONE).await.unwrap();
    other.trim(ONE, after.epoch, tail, last.next()).await.unwrap();
    let left = open(&settings).await.inbox_read(ONE, Seq(1), 1000).await;
    assert!(matches!(left, Err(ReadError::Trimmed { .. })), "who has claimed it since may: {left:?}");
}

// guards: 31
#[tokio::test]
async fn of_many_that_claim_at_once_one_can_append() {
    let settings = settings(shared());
    let mut claims = JoinSet::new();
    for _ in 0..5 {
        let settings = settings.clone();
        claims.spawn(async move {
            let journal = open(&settings).await;
            let claim = journal.claim(ONE).await.unwrap();
            (claim.epoch, journal)
        });
    }
    let mut claimed = claims.join_all().await;
    claimed.sort_by_key(|(epoch, _)| *epoch);
    let epochs: Vec<u64> = claimed.iter().map(|(epoch, _)| epoch.0).collect();
    assert_eq!(epochs, [1, 2, 3, 4, 5], "nobody was given the epoch of another");
    for (epoch, journal) in &claimed {
        let appended = journal.append(ONE, *epoch, Seq(0), bytes(format!("{}", epoch.0))).await;
        assert_eq!(appended.is_ok(), epoch.0 == 5, "{appended:?}");
    }
    assert_eq!(frames(&claimed[0].1, ONE).await, ["5"]);
}

#[tokio::test]
async fn a_frame_is_found_among_many_epochs() {
    let settings = settings(shared());
    let journal = open(&settings).await;
    let mut tail = Seq(0);
    for term in 0..12u64 {
        let claim = journal.claim(ONE).await.unwrap();
        assert_eq!(claim.events_tail, tail);
        for _ in 0..term % 4 {
            tail = journal.append(ONE, claim.epoch, tail, bytes(format!("{}", tail.0 + 1))).await.unwrap();
        }
    }
    for from in 1..=tail.0 {
        // A journal that has read nothing must search.
        let stranger = open(&settings).await;
        let found = stranger.read(ONE, Seq(from), 1).await.unwrap();
        assert_eq!((found[0].seq, &found[0].bytes[..]), (Seq(from), format!("{from}").as_bytes()));
    }
    assert_eq!(open(&settings).await.read(ONE, tail.next(), 1).await, Ok(vec![]));
}

// guards: 37
#[tokio::test]
async fn a_snapshot_of_an_earlier_term_takes_nothing_from_the_next_one() {
    let (settings, dir) = (settings(shared()), tempfile::tempdir().unwrap());
    let open = async || {
        let store = Directory::new(dir.path().join("store"));
        let snapshots = StoredSnapshots::new(store, &settings.installation.name);
        NatsJournal::open(&settings, snapshots).await.unwrap()
    };
    let tables = |name: &str| {
        let tables = dir.path().join(name);
        std::fs::create_dir(&tables).unwrap();
        // Large enough for an object of its own.
        std::fs::write(tables.join("table"), name.repeat(10_000)).unwrap();
        tables
    };
    let snapshot = |through| Snapshot { through, bytes: bytes("state") };
    let journal = open().await;
    let early = journal.claim(ONE).await.unwrap().epoch;
    let tail = journal.append(ONE, early, Seq(0), bytes("a")).await.unwrap();
    journal.tables_put(ONE, early, tail, tables("early")).await.unwrap();
    journal.snapshot_put(ONE, early, snapshot(tail)).await.unwrap();
    let late_trim = journal.trim(ONE, early, tail.next(), Seq(1));

    // The same process has the partition once more, and a snapshot under way.
    let next = journal.claim(ONE).await.unwrap().epoch;
    assert_eq!(journal.snapshot_get(ONE).await.unwrap(), Some(snapshot(tail)));
    let tail = journal.append(ONE, next, tail, bytes("b")).await.unwrap();
    journal.tables_put(ONE, next, tail, tables("next")).await.unwrap();
    late_trim.await.unwrap();
    let fenced = Err(AppendError::Fenced { partition: ONE });
    assert_eq!(journal.snapshot_put(ONE, early, snapshot(tail)).await, fenced);
    assert_eq!(journal.tables_put(ONE, early, tail, tables("late")).await, fenced);
    journal.snapshot_put(ONE, next, snapshot(tail)).await.unwrap();

    let other = open().await;
    assert_eq!(other.snapshot_get(ONE).await.unwrap(), Some(snapshot(tail)));
    let fetched = tempfile::tempdir().unwrap();
    other.tables_get(ONE, tail, fetched.path().to_owned()).await.unwrap();
    assert_eq!(std::fs::read(fetched.path().join("table")).unwrap(), "next".repeat(10_000).as_bytes());
}
