//! Promotions that were begun and not finished, and what comes in between.

use std::time::Duration;

use async_nats::jetstream::{self, kv};
use regions::{Mode, PromotionStep, RegionError, Regions, Role, Settings};
use tokio::time::timeout;

use crate::stage::{I, Stage, WITHIN, contents, join, publish, role, until, until_status};

/// The bucket of a region, as its instances have it.
async fn bucket(client: &async_nats::Client, name: &str) -> kv::Store {
    let js = jetstream::new(client.clone());
    let bucket = format!("{I}_{name}");
    match js.get_key_value(&bucket).await {
        Ok(found) => found,
        Err(_) => js.create_key_value(kv::Config { bucket, ..Default::default() }).await.unwrap(),
    }
}

/// Makes it look as if an instance held a partition at the east.
async fn hold_at_east(stage: &Stage) -> kv::Store {
    bucket(&stage.east, "inst").await.put("inst.a", "alive".into()).await.unwrap();
    let held = bucket(&stage.east, "part").await;
    held.put("00000", r#"{"holder":"a","epoch":1}"#.into()).await.unwrap();
    held
}

fn promote(regions: &Regions, mode: Mode) -> tokio::task::JoinHandle<Result<u64, RegionError>> {
    let regions = regions.clone();
    tokio::spawn(async move { regions.promote(mode).await.map(|promoted| promoted.epoch) })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_is_being_made_to_let_go_is_not_promoted_meanwhile() {
    let stage = Stage::start().await;
    let (_, west) = stage.joined().await;
    let hasty = Settings { patience: Duration::from_secs(1), ..stage.settings("east") };
    let east = join(stage.east.clone(), hasty).await.unwrap();
    let held = hold_at_east(&stage).await;
    let promoting = promote(&west, Mode::Planned);
    until_status(&east, "east is asked to stop", |status| role(&status.record) == Some(Role::Fenced)).await;
    let refused = east.promote(Mode::Planned).await;
    assert!(matches!(refused, Err(RegionError::Busy { .. })), "{refused:?}");
    held.put("00000", r#"{"holder":null,"epoch":1}"#.into()).await.unwrap();
    assert_eq!(promoting.await.unwrap().unwrap(), 2);
    assert_eq!(publish(&stage.west, "ing", "one").await, Ok(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_was_promoted_meanwhile_keeps_its_streams() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    let held = hold_at_east(&stage).await;
    let promoting = promote(&west, Mode::Planned);
    until_status(&east, "east is asked to stop", |status| role(&status.record) == Some(Role::Fenced)).await;
    // By an instance of the east that the claim of the work could not hold up.
    let active = r#"{"role":"active","epoch":3,"since_ms":0,"by":"east/a","level":true}"#;
    bucket(&stage.east, "region").await.put("role", active.into()).await.unwrap();
    held.put("00000", r#"{"holder":null,"epoch":1}"#.into()).await.unwrap();
    let refused = promoting.await.unwrap();
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(publish(&stage.east, "ing", "one").await, Ok(1), "its streams are open");
    until("east is active", async || east.active().borrow().then_some(())).await;
    assert!(!*west.active().borrow());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_by_force_is_not_finished_as_planned() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    publish(&stage.east, "ing", "one").await.unwrap();
    until_status(&west, "it is mirrored", |status| status.mirrors.iter().any(|one| one.last == Some(1)))
        .await;
    stage.link.cut();
    until_status(&west, "the link is down", |status| !status.pair_reachable).await;
    // An instance ends when it has noted it and turned the first mirror into a stream.
    let js = jetstream::new(stage.west.clone());
    let mut mirror = js.get_stream(format!("{I}_ING_00000")).await.unwrap().cached_info().config.clone();
    mirror.mirror = None;
    mirror.subjects = vec![format!("fenced.{I}.ing.00000")];
    js.update_stream(mirror).await.unwrap();
    let begun = r#"{"role":"standby","epoch":1,"since_ms":0,"by":"west/a","level":true,
        "promotion":{"epoch":2,"forced":true,"step":"open","begun_ms":0}}"#;
    bucket(&stage.west, "region").await.put("role", begun.into()).await.unwrap();
    stage.link.restore();
    until_status(&west, "the link is up", |status| status.pair_reachable).await;

    let refused = west.promote(Mode::Planned).await;
    assert!(matches!(refused, Err(RegionError::NotPromotable { .. })), "{refused:?}");
    until("east goes on", async || east.active().borrow().then_some(())).await;
    assert_eq!(publish(&stage.east, "ing", "two").await, Ok(2));

    assert_eq!(west.promote(Mode::Forced).await.unwrap().epoch, 2);
    assert_eq!(publish(&stage.west, "ing", "another two").await, Ok(2));
    until_status(&east, "east mirrors west", |status| role(&status.record) == Some(Role::Standby)).await;
    until("all is there", async || {
        (contents(&stage.east, "ING").await == ["one", "another two"]).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_whose_promotion_was_given_up_before_it_changed_anything_goes_on_mirroring() {
    let stage = Stage::start().await;
    let (_east, west) = stage.joined().await;
    let begun = r#"{"role":"standby","epoch":1,"since_ms":0,"by":"west/a","level":true,
        "promotion":{"epoch":2,"forced":false,"step":"fence","begun_ms":0}}"#;
    bucket(&stage.west, "region").await.put("role", begun.into()).await.unwrap();
    let marked = west.status().await.unwrap().record.unwrap().promotion;
    assert_eq!(marked.map(|promotion| promotion.step), Some(PromotionStep::Fence));
    let new = jetstream::stream::Config {
        name: format!("{I}_ING_00007"),
        subjects: vec![format!("{I}.ing.00007")],
        ..Default::default()
    };
    jetstream::new(stage.east.clone()).create_stream(new).await.unwrap();
    until_status(&west, "what is new is mirrored, and nothing is under way", |status| {
        let new = status.mirrors.iter().find(|mirror| mirror.stream.ends_with("_ING_00007"));
        let record = status.record.as_ref();
        new.is_some_and(|mirror| mirror.last.is_some())
            && record.is_some_and(|record| record.promotion.is_none())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_an_instance_of_which_only_a_marker_is_left() {
    let stage = Stage::start().await;
    stage.joined().await;
    let patient = Settings { patience: WITHIN * 10, ..stage.settings("east") };
    let east = join(stage.east.clone(), patient).await.unwrap();
    hold_at_east(&stage).await;
    bucket(&stage.east, "inst").await.put("inst.a", "".into()).await.unwrap();
    timeout(WITHIN, east.demote()).await.expect("its holder has ended").unwrap();
}
