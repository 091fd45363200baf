//! A region that has never had everything: what is refused to it, and when it has.

use std::time::Duration;

use journal_nats::jetstream::JetStream;
use regions::{Mode, RegionError, Role, Settings, Status};
use test_brokers::{NatsCluster, NatsSettings};

use crate::proxy::Proxy;
use crate::stage::{I, Stage, connect, denied, join, make_streams, publish, role, until, until_status};

/// Two regions over a link that carries questions and answers, but nothing to mirrors: they stay as empty as they were
/// made, as if there were very much to fetch.
async fn stage_with_empty_mirrors() -> Stage {
    let mut subjects = denied();
    subjects.push("$JS.M.>".to_owned());
    let stage = Stage::start_with(subjects).await;
    make_streams(&stage.east).await;
    stage
}

fn impatient(stage: &Stage, name: &str) -> Settings {
    Settings { patience: Duration::from_secs(2), ..stage.settings(name) }
}

pub fn mirrors_are_made(status: &Status) -> bool {
    status.mirrors.len() == 2 && status.mirrors.iter().all(|mirror| mirror.last.is_some())
}

pub fn is_level(status: &Status) -> bool {
    status.record.as_ref().is_some_and(|record| record.level)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_was_never_level_is_promoted_only_by_who_says_so() {
    let stage = stage_with_empty_mirrors().await;
    publish(&stage.east, "ing", "only east has it").await.unwrap();
    let east = join(stage.east.clone(), impatient(&stage, "east")).await.unwrap();
    let west = join(stage.west.clone(), impatient(&stage, "west")).await.unwrap();
    let status = until_status(&west, "the mirrors are made", mirrors_are_made).await;
    assert_eq!((role(&status.record), is_level(&status)), (Some(Role::Standby), false));

    let planned = west.promote(Mode::Planned).await;
    assert!(matches!(planned, Err(RegionError::Lagging(_))), "{planned:?}");
    assert!(*east.active().borrow(), "who works goes on while its pair cannot take over");
    publish(&stage.east, "ing", "and takes more").await.unwrap();
    assert!(west.status().await.unwrap().record.unwrap().promotion.is_none());

    stage.link.cut();
    until_status(&west, "the link is down", |status| !status.pair_reachable).await;
    let forced = west.promote(Mode::Forced).await;
    assert!(matches!(forced, Err(RegionError::Incomplete { .. })), "{forced:?}");
    assert!(!*west.active().borrow());
    assert_eq!(west.promote(Mode::ForcedIncomplete).await.unwrap().epoch, 2);
    assert!(*west.active().borrow());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_witness_does_not_promote_what_was_never_level() {
    let stage = stage_with_empty_mirrors().await;
    publish(&stage.east, "ing", "only east has it").await.unwrap();
    let third = NatsCluster::start_with(NatsSettings { servers: 1, ..NatsSettings::default() }).unwrap();
    let port: u16 = third.urls()[0].rsplit(':').next().unwrap().parse().unwrap();
    let wire = Proxy::start(port).await;
    let direct = connect(&third.urls()[0]).await;
    let witnessed = |name: &str, witness| Settings {
        witness: Some(JetStream::new(witness)),
        lease: Duration::from_secs(6),
        ..impatient(&stage, name)
    };
    let far = connect(&format!("nats://127.0.0.1:{}", wire.port)).await;
    let east = join(stage.east.clone(), witnessed("east", far)).await.unwrap();
    let west = join(stage.west.clone(), witnessed("west", direct.clone())).await.unwrap();
    until("east has the lease", async || east.active().borrow().then_some(())).await;
    until_status(&west, "the mirrors are made", mirrors_are_made).await;

    wire.cut();
    stage.link.cut();
    until("east lets go", async || (!*east.active().borrow()).then_some(())).await;
    let leases = async_nats::jetstream::new(direct).get_key_value(format!("{I}_witness")).await.unwrap();
    until("the lease has run out", async || leases.get("lease").await.ok()?.is_none().then_some(())).await;
    // Long enough to ask several times.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let status = west.status().await.unwrap();
    assert_eq!((role(&status.record), *west.active().borrow()), (Some(Role::Standby), false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_whose_mirrors_were_deleted_is_level_no_more() {
    let stage = stage_with_empty_mirrors().await;
    let _east = stage.join("east").await.unwrap();
    let west = stage.join("west").await.unwrap();
    // Nothing is there, and the mirrors have all of it.
    until_status(&west, "west is level", is_level).await;
    publish(&stage.east, "ing", "only east has it").await.unwrap();
    let mirrors = async_nats::jetstream::new(stage.west.clone());
    mirrors.delete_stream(format!("{I}_ING_00000")).await.unwrap();
    until_status(&west, "the mirror is created again, and empty", |status| {
        mirrors_are_made(status) && !is_level(status)
    })
    .await;
}
