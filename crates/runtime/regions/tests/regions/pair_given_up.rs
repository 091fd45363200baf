//! An active region that went on without its pair, and forgot what that did not have.

use async_nats::Client;
use async_nats::jetstream;
use futures_util::TryStreamExt;
use regions::{Mode, Role};

use crate::stage::{I, Stage, contents, publish, role, until, until_status};

/// What an empty disk does: nothing is there any more, not even what the region was.
async fn empty(client: &Client) {
    let js = jetstream::new(client.clone());
    let names: Vec<String> = js.stream_names().try_collect().await.unwrap();
    assert!(names.contains(&format!("KV_{I}_region")), "{names:?}");
    for name in names {
        js.delete_stream(name).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pair_that_was_given_up_is_joined_again_with_an_empty_nats() {
    let stage = Stage::start().await;
    let (east, west) = stage.joined().await;
    publish(&stage.east, "ing", "both have it").await.unwrap();
    until("west has it", async || (contents(&stage.west, "ING").await.len() == 1).then_some(())).await;
    // Instances of the pair are stopped, those of the active region are started without one.
    stage.link.cut();
    drop((east, west));
    for number in 2..=5 {
        publish(&stage.east, "ing", &format!("west never had {number}")).await.unwrap();
    }
    let inbox = jetstream::new(stage.east.clone()).get_stream(format!("{I}_ING_00000")).await.unwrap();
    inbox.purge().sequence(5).await.unwrap();

    empty(&stage.west).await;
    stage.link.restore();
    let east = stage.join("east").await.unwrap();
    let west = stage.join("west").await.unwrap();
    assert!(*east.active().borrow(), "it is what it was");
    let status = until_status(&west, "west is level", |status| {
        status.record.as_ref().is_some_and(|record| record.level)
    })
    .await;
    assert_eq!((role(&status.record), role(&status.pair_record)), (Some(Role::Standby), Some(Role::Active)));
    assert_eq!(contents(&stage.west, "ING").await, ["west never had 5"]);
    assert_eq!(west.promote(Mode::Planned).await.unwrap().epoch, 2);
    publish(&stage.west, "ing", "and west goes on").await.unwrap();
    assert_eq!(contents(&stage.west, "ING").await, ["west never had 5", "and west goes on"]);
}
