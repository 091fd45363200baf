//! What was accepted before a stop goes on after the start.

use drone_delivery::Service;
use http::Method;
use serde_json::json;

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn runs_parked_runs_workflows_and_history_survive_a_restart() {
    let mut world = World::start().await;
    world.post_delivery("done").await.expect(202);
    let before = world.wait("done", "completed").await;
    world.switch(Service::Drone, json!({ "refuse": ["stuck"] }));
    world.switch(Service::Package, json!({ "undo_refuse": ["stuck", "mypackage"] }));
    world.post_delivery("stuck").await.expect(202);
    world.wait("stuck", "parked").await;
    world.switch(Service::Drone, json!({ "error_rate": 1.0, "refuse": [] }));
    world.post_delivery("on-its-way").await.expect(202);

    world.restart().await;
    assert_eq!(world.run("done").await, before);
    assert_eq!(world.run("stuck").await["status"], "parked");
    world.switch(Service::Drone, json!({ "error_rate": 0.0 }));
    world.switch(Service::Package, json!({ "undo_refuse": [] }));
    let way = loop {
        let run = world.run("on-its-way").await;
        if ["completed", "undone"].contains(&run["status"].as_str().unwrap()) {
            break run;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let left = world.left_by("on-its-way").len();
    assert_eq!(left, if way["status"] == "completed" { 4 } else { 0 });
    let retry = json!({ "decision": "retry" });
    world.send(Method::POST, "/v1/runs/stuck/decide", &retry).await.expect(200);
    world.wait("stuck", "undone").await;
    let listed = world.get("/v1/workflows").await.expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    // A repeated request is still known.
    world.post_delivery("done").await.expect(200);
    let page = world.get("/v1/runs?status=completed&key=done").await.expect(200).json();
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_trimmed_journal_no_longer_holds_comes_back_from_snapshots_and_the_view() {
    let mut world = World::start_with_journal_of(0).await;
    world.switch(Service::Drone, json!({ "refuse": ["stuck"] }));
    world.switch(Service::Package, json!({ "undo_refuse": ["stuck", "mypackage"] }));
    world.post_delivery("stuck").await.expect(202);
    world.wait("stuck", "parked").await;
    for n in 0..40 {
        world.post_delivery(&format!("d-{n}")).await.expect(202);
    }
    for n in 0..40 {
        world.wait(&format!("d-{n}"), "completed").await;
    }
    let snapshots = world.directory.path().join("data/snapshots");
    let count = || std::fs::read_dir(&snapshots).map_or(0, |entries| entries.count());
    while count() < 4 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // Enough for several segments: the oldest goes, also because the workflows are in a snapshot.
    let account = world.fleet.url(Service::Account);
    let call = "{ service: a, method: GET, path: /api/accounts/x }";
    let source = format!(
        "name: large\nservices: {{ a: {{ url: \"{account}\" }} }}\nsteps:\n  ask:\n    call: {call}\n"
    );
    world.apply(&source).await;
    for n in 0..100 {
        let body = json!({ "text": "x".repeat(200 << 10) });
        world.send(Method::PUT, &format!("/v1/workflows/large/runs/l-{n}"), &body).await.expect(202);
    }
    for n in 0..100 {
        world.wait(&format!("l-{n}"), "completed").await;
    }
    let oldest = world.directory.path().join("data/journal/0000000001.segment");
    while oldest.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let before = world.run("d-7").await;
    for _ in 0..2 {
        world.restart().await;
        assert_eq!(world.run("d-7").await, before);
        assert_eq!(world.run("stuck").await["open_steps"], json!(["package"]));
        let page = world.get("/v1/runs?status=completed&limit=1000").await.expect(200).json();
        assert_eq!(page["items"].as_array().unwrap().len(), 140);
        world.post_delivery("d-7").await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_calls_on_their_way_and_leaves_the_others_for_the_next_start() {
    let mut world = World::start().await;
    let source = drone_delivery::workflows::ready(&world.fleet.addresses())[0].clone();
    world.apply(&source.replace("concurrency: 512", "concurrency: 1")).await;
    world.switch(Service::Drone, json!({ "latency_ms": 400 }));
    for n in 0..20 {
        world.post_delivery(&format!("d-{n}")).await.expect(202);
    }
    while world.fleet.totals(Service::Drone).create == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    world.stop().await;
    let made = world.fleet.totals(Service::Drone).create;
    assert!(made < 20, "the stop waited for all {made} calls");
    world.switch(Service::Drone, json!({ "latency_ms": 0 }));
    world.restart().await;
    for n in 0..20 {
        let run = world.wait(&format!("d-{n}"), "completed").await;
        assert!(run["steps"].as_array().unwrap().iter().all(|step| step["attempts"] == 1), "{run}");
    }
    assert_eq!(world.fleet.audit().unwrap().double_effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_cannot_share_a_directory() {
    let world = World::start().await;
    let mut config = server::Config::dev(world.directory.path().join("data"), 0);
    config.partitions = 4;
    let Err(error) = server::start(config).await else { panic!("a second server started") };
    assert_eq!(error.exit_code(), 75);
    assert!(error.to_string().contains("is in use by another process"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_partitions_is_fixed_at_creation() {
    let mut world = World::start().await;
    world.stop().await;
    let mut config = server::Config::dev(world.directory.path().join("data"), 0);
    config.partitions = 8;
    let Err(error) = server::start(config).await else { panic!("the number of partitions changed") };
    assert_eq!(error.exit_code(), 78);
    assert!(error.to_string().contains("fixed at 4"), "{error}");
}
