//! The register on a real server.

mod fleet;

use std::sync::Arc;
use std::time::Duration;

use crate::{ClusterView, DurableEnd, InstanceId, Member, Ownership, Register, Roles};
use futures_util::{StreamExt, TryStreamExt, stream};
use test_brokers::{NatsCluster, NatsSettings};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use types::{Epoch, PartitionId};

use super::NatsRegister;
use fleet::Fleet;
use journal_nats::jetstream::JetStream;
use journal_nats::names;

/// Generous: a machine may be busy.
const WAIT_MAX: Duration = Duration::from_secs(60);

fn server() -> NatsCluster {
    NatsCluster::start_with(NatsSettings { servers: 1, ..NatsSettings::default() }).unwrap()
}

async fn register(server: &NatsCluster) -> NatsRegister {
    let client = async_nats::connect(&server.urls()[0]).await.unwrap();
    let (_, active) = watch::channel(true);
    NatsRegister::start(&JetStream::new(client), "t", 1, active).await.unwrap()
}

fn member(name: &str) -> Member {
    let id = InstanceId(name.to_owned());
    Member { id, address: format!("http://{name}:7070"), roles: Roles::ALL, ordinal: None, version: None }
}

fn held_by(name: &str, epoch: u64) -> Ownership {
    Ownership::new(Some(InstanceId(name.to_owned())), Epoch(epoch))
}

/// Waits until the register shows what was promised.
async fn until(register: &NatsRegister, promise: &str, holds: impl Fn(&ClusterView) -> bool) {
    let mut view = register.watch();
    let seen = timeout(WAIT_MAX, view.wait_for(|view| holds(view))).await;
    let seen = seen.map(|seen| seen.is_ok());
    assert_eq!(seen, Ok(true), "{promise}: {:?}", register.watch().borrow());
}

fn lives(view: &ClusterView, name: &str) -> bool {
    view.members.contains_key(&InstanceId(name.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_says_nothing_more_is_gone_and_whoever_leaves_is_gone_at_once() {
    let server = server();
    let (ours, theirs) = (register(&server).await, register(&server).await);
    until(&ours, "an empty register is known", |view| view.known && view.members.is_empty()).await;
    theirs.heartbeat(&member("mute")).await.unwrap();
    theirs.heartbeat(&member("polite")).await.unwrap();
    until(&ours, "both live", |view| lives(view, "mute") && lives(view, "polite")).await;
    assert_eq!(ours.watch().borrow().members[&InstanceId("mute".to_owned())], member("mute"));
    theirs.deregister(&InstanceId("polite".to_owned())).await.unwrap();
    until(&ours, "one has left", |view| !lives(view, "polite")).await;
    assert!(lives(&ours.watch().borrow(), "mute"), "one left, and the other went with it");
    until(&ours, "the other has run out", |view| view.members.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_goes_on_saying_that_it_lives_lives() {
    let server = server();
    let ours = register(&server).await;
    for _ in 0..12 {
        let begun = Instant::now();
        ours.heartbeat(&member("steady")).await.unwrap();
        until(&ours, "it lives", |view| lives(view, "steady")).await;
        let mut view = ours.watch();
        let absent = view.wait_for(|view| !lives(view, "steady"));
        let gone = timeout(Duration::from_secs(1), absent).await.is_ok();
        // A machine that is too busy to say it in time proves nothing.
        assert!(!gone || begun.elapsed() > super::MEMBER_TTL / 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_of_a_lower_epoch_changes_nothing() {
    let server = server();
    let (ours, theirs) = (register(&server).await, register(&server).await);
    let (p, q) = (PartitionId(3), PartitionId::CONTROL);
    ours.publish(p, held_by("new", 5)).await.unwrap();
    theirs.publish(p, held_by("old", 4)).await.unwrap();
    theirs.publish(p, Ownership::new(None, Epoch(4))).await.unwrap();
    ours.publish(q, held_by("new", 1)).await.unwrap();
    let noted =
        |view: &ClusterView, partition, ownership| view.ownerships.get(&partition) == Some(&ownership);
    until(&theirs, "all notes are seen", |view| noted(view, q, held_by("new", 1))).await;
    assert!(noted(&theirs.watch().borrow(), p, held_by("new", 5)), "{:?}", theirs.watch().borrow());
    let free = Ownership::new(None, Epoch(5));
    ours.publish(p, free.clone()).await.unwrap();
    until(&theirs, "who holds it may let go", |view| noted(view, p, free.clone())).await;
    theirs.publish(p, held_by("next", 6)).await.unwrap();
    until(&ours, "the next has it", |view| noted(view, p, held_by("next", 6))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn how_far_events_are_durable_stays_noted() {
    let server = server();
    let (ours, theirs) = (register(&server).await, register(&server).await);
    let durable_end = |region, last| Some(DurableEnd { region, last });
    let noted = |ownership: &Ownership, durable_end| Ownership { durable_end, ..ownership.clone() };
    let p = PartitionId(3);
    let old = br#"{"holder":"before","epoch":1}"#;
    ours.partitions.put(&names::number(p), old.to_vec()).await.unwrap();
    until(&theirs, "a note without it", |view| view.ownerships.get(&p) == Some(&held_by("before", 1))).await;
    let steps = [
        (noted(&held_by("a", 2), durable_end(0, 7)), durable_end(0, 7)),
        (held_by("a", 2), durable_end(0, 7)),
        (noted(&held_by("b", 3), durable_end(0, 5)), durable_end(0, 7)),
        (noted(&held_by("b", 3), durable_end(2, 4)), durable_end(2, 4)),
    ];
    for (note, expected) in steps {
        ours.publish(p, note.clone()).await.unwrap();
        let expected = noted(&note, expected);
        until(&theirs, "the higher one", |view| view.ownerships.get(&p) == Some(&expected)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_keys_than_the_server_sends_at_once_are_read() {
    let server = server();
    let ours = register(&server).await;
    let count = 1100;
    let notes = (0..count).map(|number| ours.publish(PartitionId(number), held_by("a", 1)));
    stream::iter(notes).buffer_unordered(64).try_collect::<Vec<_>>().await.unwrap();
    let mut read = ours.partitions.read::<Ownership>().await.unwrap();
    read.sort_by(|a, b| a.key.cmp(&b.key));
    let (keys, values): (Vec<_>, Vec<_>) = read.into_iter().map(|news| (news.key, news.value)).unzip();
    assert_eq!(keys, (0..count).map(|number| names::number(PartitionId(number))).collect::<Vec<_>>());
    assert!(values.iter().all(|value| *value == Some(held_by("a", 1))));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_note_at_once_leave_the_highest_epoch() {
    let server = server();
    let ours = Arc::new(register(&server).await);
    let notes = (1..=12).map(|epoch| {
        let register = Arc::clone(&ours);
        tokio::spawn(async move {
            // A writer that loses the race too often gets an error and tries again.
            while register.publish(PartitionId(0), held_by("any", epoch)).await.is_err() {}
        })
    });
    for note in notes.collect::<Vec<_>>() {
        note.await.unwrap();
    }
    until(&ours, "the highest stays", |view| {
        view.ownerships.get(&PartitionId(0)) == Some(&held_by("any", 12))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_seen_goes_on_after_the_server_was_away() {
    let mut server = server();
    let (ours, theirs) = (register(&server).await, register(&server).await);
    theirs.publish(PartitionId(1), held_by("a", 1)).await.unwrap();
    until(&ours, "the first note", |view| view.ownerships.contains_key(&PartitionId(1))).await;
    server.kill(0);
    server.start_again(0).unwrap();
    let noted = timeout(WAIT_MAX, async {
        while theirs.publish(PartitionId(2), held_by("a", 1)).await.is_err() {}
        while theirs.heartbeat(&member("back")).await.is_err() {}
    });
    assert_eq!(noted.await, Ok(()));
    until(&ours, "what was noted since", |view| {
        view.ownerships.contains_key(&PartitionId(2)) && lives(view, "back")
    })
    .await;
    until(&ours, "what ran out since", |view| !lives(view, "back")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_cannot_be_a_key_is_refused() {
    let server = server();
    let error = register(&server).await.heartbeat(&member("a.b c")).await.unwrap_err();
    assert!(error.0.contains("the instance name \"a.b c\" must consist of"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_region_says_whether_anything_runs() {
    let server = server();
    let client = async_nats::connect(&server.urls()[0]).await.unwrap();
    let (role, active) = watch::channel(false);
    let ours = NatsRegister::start(&JetStream::new(client), "t", 1, active).await.unwrap();
    until(&ours, "nothing runs", |view| view.known && !view.active).await;
    role.send_replace(true);
    until(&ours, "it runs", |view| view.active).await;
}

// guards: 39
#[tokio::test(flavor = "multi_thread")]
async fn three_share_all_partitions_through_deaths_and_departures() {
    let server = server();
    let mut fleet = Fleet::new();
    for name in ["a", "b", "c"] {
        fleet.join(name, register(&server).await);
    }
    fleet.settles("three share").await;
    assert!(fleet.shares().iter().all(|share| *share >= 5), "{:?}", fleet.shares());
    fleet.kill("b");
    fleet.settles("two have what the dead one had").await;
    fleet.leave("a").await;
    fleet.settles("one has everything").await;
}
