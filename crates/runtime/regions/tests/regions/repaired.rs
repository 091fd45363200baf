//! What was on its way when a region changed its role, and arrived afterwards: streams become what they should be.

use async_nats::Client;
use regions::{Mode, Regions};
use serde_json::{Value, json};

use crate::levels::{is_level, mirrors_are_made};
use crate::stage::{I, Stage, contents, make_streams, publish, until, until_status};

/// Two regions whose standby has all that there is: twenty requests.
async fn stage_with_requests() -> (Stage, Regions, Regions) {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    for number in 1..=20 {
        publish(&stage.east, "ing", &number.to_string()).await.unwrap();
    }
    until_status(&west, "the mirror has all", |status| {
        status.mirrors.iter().any(|mirror| mirror.last == Some(20))
    })
    .await;
    (stage, east, west)
}

/// A purge that was under way for long.
async fn cut_the_mirror(stage: &Stage) {
    let mirrors = async_nats::jetstream::new(stage.west.clone());
    let mirror = mirrors.get_stream(format!("{I}_ING_00000")).await.unwrap();
    mirror.purge().sequence(15).await.unwrap();
    assert_eq!(contents(&stage.west, "ING").await.len(), 6);
}

/// Gives the inbox no origin and a subject to which nobody writes, as a promotion and a fence do on their way.
async fn close(client: &Client) {
    let ask = async |what: &str, body: String| -> Value {
        let answer =
            client.request(format!("$JS.API.STREAM.{what}.{I}_ING_00000"), body.into()).await.unwrap();
        serde_json::from_slice(&answer.payload).unwrap()
    };
    let mut config = ask("INFO", String::new()).await["config"].take();
    config.as_object_mut().unwrap().remove("mirror");
    config["subjects"] = json!([format!("fenced.{I}.ing.00000")]);
    let updated = ask("UPDATE", config.to_string()).await;
    assert!(updated["error"].is_null(), "{updated}");
}

async fn until_whole(stage: &Stage, west: &Regions) {
    let whole = contents(&stage.east, "ING").await;
    until("it is whole again", async || {
        let status = west.status().await.ok().filter(is_level)?;
        (mirrors_are_made(&status) && contents(&stage.west, "ING").await == whole).then_some(())
    })
    .await;
}

// guards: 64
#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_mirror_is_rebuilt_before_its_region_is_promoted() {
    let (stage, _east, west) = stage_with_requests().await;
    cut_the_mirror(&stage).await;
    let promoted = west.promote(Mode::Planned).await.unwrap();
    assert_eq!(promoted.lost(), 0);
    let whole: Vec<_> = (1..=20).map(|number| number.to_string()).collect();
    assert_eq!(contents(&stage.west, "ING").await, whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_was_cut_is_noticed_when_all_are_gone_through() {
    let (stage, _east, west) = stage_with_requests().await;
    cut_the_mirror(&stage).await;
    west.maintain_streams().await.unwrap();
    until_whole(&stage, &west).await;
}

// guards: 64
#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_was_made_a_stream_is_a_mirror_again() {
    let (stage, _east, west) = stage_with_requests().await;
    close(&stage.west).await;
    publish(&stage.east, "ing", "nobody mirrors it").await.unwrap();
    west.maintain_streams().await.unwrap();
    until_whole(&stage, &west).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_standby_has_is_nobodys_to_delete() {
    let stage = Stage::start().await;
    for client in [&stage.east, &stage.west] {
        make_streams(client).await;
    }
    publish(&stage.east, "ing", "of the east").await.unwrap();
    publish(&stage.west, "ing", "of the west").await.unwrap();
    let _east = stage.join("east").await.unwrap();
    let west = stage.join("west").await.unwrap();
    until("the east was asked", async || west.status().await.ok()?.pair_record).await;
    until("all was gone through", async || west.maintain_streams().await.ok()).await;
    assert_eq!(contents(&stage.west, "ING").await, ["of the west"]);
    assert!(!is_level(&west.status().await.unwrap()));
}

// guards: 64
#[tokio::test(flavor = "multi_thread")]
async fn an_active_region_opens_what_was_closed() {
    let (stage, east, _west) = stage_with_requests().await;
    close(&stage.east).await;
    publish(&stage.east, "ing", "too early").await.unwrap_err();
    east.maintain_streams().await.unwrap();
    assert_eq!(publish(&stage.east, "ing", "taken").await, Ok(21));
}
