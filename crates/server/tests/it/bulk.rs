//! One thing done to many runs.

use std::collections::BTreeSet;
use std::time::Duration;

use drone_delivery::Service;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

use crate::world::World;

/// Parks so many deliveries, `d-0` and on, handed in side by side; then heals everything.
async fn park(world: &World, count: usize) {
    world.switch(Service::Drone, json!({ "refuse_rate": 1.0 }));
    world.switch(Service::Package, json!({ "undo_refuse": ["mypackage"] }));
    let ids: Vec<_> = (0..count).map(|n| format!("d-{n}")).collect();
    for some in ids.chunks(20) {
        for answer in join_all(some.iter().map(|id| world.post_delivery(id))).await {
            answer.expect(202);
        }
    }
    for id in &ids {
        world.wait(id, "parked").await;
    }
    world.switch(Service::Drone, json!({ "refuse_rate": 0.0 }));
    world.switch(Service::Package, json!({ "undo_refuse": [] }));
}

async fn begin(world: &World, asked: Value) -> String {
    let answer = world.send(Method::POST, "/v1/bulk", &asked).await.expect(202);
    let bulk = answer.json();
    let id = bulk["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.headers["location"].to_str().unwrap(), format!("/v1/bulk/{id}"));
    assert_eq!((bulk["state"].as_str(), bulk["by"].as_str()), (Some("running"), Some("dev")));
    id
}

async fn wait_for(world: &World, id: &str, good: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..2400 {
        let bulk = world.get(&format!("/v1/bulk/{id}")).await.expect(200).json();
        if good(&bulk) {
            return bulk;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{}", world.get(&format!("/v1/bulk/{id}")).await.text);
}

async fn ended(world: &World, id: &str) -> Value {
    wait_for(world, id, |bulk| bulk["state"] == "done").await
}

async fn parked_count(world: &World) -> u64 {
    let page = world.get("/v1/parked?limit=1000").await.expect(200).json();
    page["items"].as_array().unwrap().len() as u64
}

/// The decisions in a run's timeline.
async fn decisions(world: &World, id: &str) -> Vec<Value> {
    let run = world.run(id).await;
    let timeline = run["timeline"].as_array().unwrap().iter();
    timeline.filter(|moment| moment["what"] == "decided").cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_is_stopped_midway_and_another_does_the_rest() {
    let world = World::start().await;
    park(&world, 60).await;
    let id = begin(&world, json!({ "action": "retry", "select": {}, "rate": 10 })).await;
    let bulk = wait_for(&world, &id, |bulk| bulk["done"].as_u64() >= Some(10)).await;
    assert_eq!(bulk["matched"], json!({ "count": 60, "at_least": false }));
    let path = format!("/v1/bulk/{id}/stop");
    let stopped = world.send(Method::POST, &path, &json!({})).await.expect(200).json();
    assert_eq!(stopped["state"], "stopped");
    assert!(stopped["ended_at"].is_string(), "{stopped}");
    // What it was at is still done and counted; then nothing more is.
    let done = loop {
        let bulk = world.get(&format!("/v1/bulk/{id}")).await.expect(200).json();
        if bulk["done"].as_u64().unwrap() + parked_count(&world).await == 60 {
            break bulk["done"].as_u64().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(done < 60, "it was stopped");
    world.send(Method::POST, &path, &json!({})).await.expect(200);

    let rest = begin(&world, json!({ "action": "retry", "select": {}, "rate": 1000 })).await;
    let bulk = ended(&world, &rest).await;
    assert_eq!(bulk["done"].as_u64(), Some(60 - done), "{bulk}");
    for n in 0..60 {
        world.wait(&format!("d-{n}"), "undone").await;
        assert_eq!(decisions(&world, &format!("d-{n}")).await.len(), 1);
    }
    let listed = world.get("/v1/bulk").await.expect(200).json();
    let ids: Vec<_> = listed["items"].as_array().unwrap().iter().map(|bulk| bulk["id"].clone()).collect();
    assert_eq!(ids, [json!(rest), json!(id)], "newest first");
    let metrics = world.get("/metrics").await.expect(200).text;
    let line = "sortie_bulk_actions_total{action=\"retry\",outcome=\"done\"} 60";
    assert!(metrics.contains(line), "{metrics}");
}

// guards: 50
#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_goes_on_after_a_restart_and_does_nothing_twice() {
    let mut world = World::start().await;
    park(&world, 300).await;
    let asked = json!({ "action": "retry", "select": { "workflow": "drone-delivery" }, "rate": 60, "note": "well again" });
    let id = begin(&world, asked).await;
    wait_for(&world, &id, |bulk| bulk["done"].as_u64() >= Some(60)).await;
    world.restart().await;
    let bulk = wait_for(&world, &id, |bulk| bulk["done"].as_u64() >= Some(150)).await;
    assert_eq!(bulk["state"], "running", "{bulk}");
    world.restart().await;
    let bulk = ended(&world, &id).await;
    assert_eq!((bulk["done"].as_u64(), bulk["skipped"]["count"].as_u64()), (Some(300), Some(0)), "{bulk}");
    assert_eq!(bulk["failed"]["count"], 0, "{bulk}");
    assert!(bulk["ended_at"].is_string());
    for n in 0..300 {
        world.wait(&format!("d-{n}"), "undone").await;
        let decided = decisions(&world, &format!("d-{n}")).await;
        assert_eq!(decided.len(), 1, "{decided:?}");
        assert_eq!(decided[0]["by"], "dev");
        assert_eq!(decided[0]["note"], json!(format!("well again (bulk {id})")));
    }
    assert_eq!(world.fleet.audit().unwrap().double_effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_counts_and_shows_and_changes_nothing() {
    let world = World::start().await;
    park(&world, 25).await;
    world.post_delivery("fine").await.expect(202);
    world.wait("fine", "completed").await;
    let dry = async |asked: Value| world.send(Method::POST, "/v1/bulk", &asked).await.expect(200).json();
    let found = dry(json!({ "action": "retry", "select": {}, "dry_run": true })).await;
    assert_eq!(found["matched"], json!({ "count": 25, "at_least": false }));
    assert_eq!(found["sample"].as_array().unwrap().len(), 20);
    assert_eq!(found["sample"][0]["then"], "what failed is tried again");
    let by_reason = json!({ "action": "retry", "select": { "reason": "no such text" }, "dry_run": true });
    assert_eq!(dry(by_reason).await["matched"]["count"], 0);
    let by_reason =
        json!({ "action": "retry", "select": { "reason": "undo of step package" }, "dry_run": true });
    assert_eq!(dry(by_reason).await["matched"]["count"], 25);
    let rerun = json!({ "action": "rerun", "select": { "status": "completed" }, "dry_run": true });
    assert_eq!(dry(rerun).await["sample"][0]["then"], "its request is handed in again as fine.again");
    let ids = dry(json!({ "action": "retry", "ids": ["fine", "d-1", "nobody"], "dry_run": true })).await;
    let then: Vec<_> =
        ids["sample"].as_array().unwrap().iter().map(|one| one["then"].as_str().unwrap()).collect();
    assert_eq!(then, ["skipped: it is completed", "what failed is tried again", "skipped: no run nobody"]);

    assert_eq!(parked_count(&world).await, 25);
    assert!(decisions(&world, "d-1").await.is_empty());
    assert_eq!(world.get("/v1/bulk").await.expect(200).json(), json!({ "items": [] }));
    world.get("/v1/runs/fine.again").await.expect(404);
}

// guards: 50
#[tokio::test(flavor = "multi_thread")]
async fn running_again_twice_starts_one_run_each() {
    let world = World::start().await;
    for n in 0..5 {
        world.post_delivery(&format!("d-{n}")).await.expect(202);
        world.wait(&format!("d-{n}"), "completed").await;
    }
    let before = world.run("d-4").await["accepted_at"].clone();
    let ids: Vec<_> = (0..5).map(|n| format!("d-{n}")).chain(["nobody".to_owned()]).collect();
    let id = begin(&world, json!({ "action": "rerun", "ids": ids })).await;
    let bulk = ended(&world, &id).await;
    assert_eq!((bulk["done"].as_u64(), bulk["matched"]["count"].as_u64()), (Some(5), Some(6)), "{bulk}");
    assert_eq!(bulk["skipped"]["reasons"], json!({ "not_found": 1 }));
    for n in 0..5 {
        let run = world.wait(&format!("d-{n}.again"), "completed").await;
        assert_eq!(run["request"]["deliveryId"], format!("d-{n}.again"), "the id stands in the request");
    }
    let id = begin(&world, json!({ "action": "rerun", "ids": ids })).await;
    let bulk = ended(&world, &id).await;
    assert_eq!(bulk["skipped"]["reasons"], json!({ "not_found": 1, "run_again_before": 5 }), "{bulk}");
    // By selection: those of before once more, and those that were run again for the first time.
    let select = json!({ "status": "completed", "workflow": "drone-delivery", "from": before });
    let id = begin(&world, json!({ "action": "rerun", "select": select })).await;
    let bulk = ended(&world, &id).await;
    assert_eq!(bulk["done"], 5, "{bulk}");
    assert_eq!(bulk["skipped"]["reasons"], json!({ "run_again_before": 1 }));
    world.wait("d-0.again.2", "completed").await;
    let page = world.get("/v1/runs?workflow=drone-delivery&limit=100").await.expect(200).json();
    assert_eq!(page["items"].as_array().unwrap().len(), 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_for_many_stands_in_each_timeline_and_what_no_longer_fits_is_skipped() {
    let world = World::start().await;
    park(&world, 3).await;
    world.post_delivery("fine").await.expect(202);
    world.wait("fine", "completed").await;
    let asked = json!({
        "action": "resolve", "decision": "skip", "step": "package", "note": "they keep them",
        "ids": ["d-0", "d-1", "fine"],
    });
    let id = begin(&world, asked).await;
    let bulk = ended(&world, &id).await;
    assert_eq!(
        (&bulk["done"], &bulk["skipped"]["reasons"]),
        (&json!(2), &json!({ "run_ended": 1 })),
        "{bulk}"
    );
    for one in ["d-0", "d-1"] {
        world.wait(one, "undone").await;
        let decided = decisions(&world, one).await;
        assert_eq!(decided[0]["detail"], "skip");
        assert_eq!(decided[0]["note"], json!(format!("they keep them (bulk {id})")));
    }
    let asked =
        json!({ "action": "resolve", "decision": "skip", "step": "pakage", "select": {}, "note": "x" });
    let id = begin(&world, asked).await;
    let bulk = ended(&world, &id).await;
    assert_eq!(bulk["failed"]["count"], 1, "{bulk}");
    let failure = &bulk["failed"]["sample"][0];
    assert_eq!((&failure["id"], &failure["code"]), (&json!("d-2"), &json!("bad_request")), "{bulk}");
    assert!(failure["problem"].as_str().unwrap().contains("no step 'pakage'"), "{bulk}");
    let asked = json!({ "action": "resolve", "decision": "give_up", "select": {}, "note": "too old" });
    let id = begin(&world, asked).await;
    assert_eq!(ended(&world, &id).await["done"], 1);
    assert_eq!(world.run("d-2").await["status"], "given_up");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_under_way_are_cancelled_and_those_that_ended_are_not_touched() {
    let world = World::start().await;
    world.post_delivery("fine").await.expect(202);
    world.wait("fine", "completed").await;
    let url = world.fleet.url(Service::Account);
    let source = format!(
        "name: tries\nretry: {{ type: fixed, delay: 1h, attempts: 9 }}\nservices: {{ a: {{ url: \"{url}\" }} }}
steps: {{ ask: {{ call: {{ service: a, method: GET, path: /api/accounts/x }} }} }}\n"
    );
    world.apply(&source).await;
    world.switch(Service::Account, json!({ "error_rate": 1.0 }));
    for n in 0..10 {
        let path = format!("/v1/workflows/tries/runs/t-{n}");
        world.send(Method::PUT, &path, &json!({})).await.expect(202);
        world.wait(&format!("t-{n}"), "running").await;
    }
    let id = begin(&world, json!({ "action": "cancel", "select": {} })).await;
    let bulk = ended(&world, &id).await;
    assert_eq!((&bulk["done"], &bulk["skipped"]["count"]), (&json!(10), &json!(0)), "{bulk}");
    for n in 0..10 {
        let run = world.wait(&format!("t-{n}"), "undone").await;
        let timeline = run["timeline"].as_array().unwrap();
        assert!(
            timeline.iter().any(|moment| moment["what"] == "cancel_asked" && moment["by"] == "dev"),
            "{run}"
        );
    }
    assert_eq!(world.run("fine").await["status"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_bulk_is_named() {
    let world = World::start().await;
    for (asked, named) in [
        (json!({ "action": "retry" }), "select: "),
        (json!({ "action": "rerun", "select": {} }), "select.status: "),
        (json!({ "action": "retry", "select": {}, "rate": 5000 }), "rate: "),
        (json!({ "action": "retry", "ids": ["a b"] }), "ids[0]: "),
        (json!({ "action": "resolve", "decision": "skip", "select": {} }), "step: "),
        (json!({ "action": "retry", "select": { "from": "yesterday" } }), "yesterday"),
    ] {
        let (code, text) = world.send(Method::POST, "/v1/bulk", &asked).await.problem(400);
        assert_eq!(code, "bad_request");
        assert!(text.contains(named), "{asked}: {text}");
    }
    assert_eq!(world.get("/v1/bulk/nobody").await.problem(404).0, "not_found");
    let stop = world.send(Method::POST, "/v1/bulk/nobody/stop", &json!({})).await;
    assert_eq!(stop.problem(404).0, "not_found");
    let method = world.send(Method::DELETE, "/v1/bulk", &json!({})).await;
    assert_eq!(method.problem(405).0, "method_not_allowed");
    assert_eq!(world.get("/v1/bulk").await.expect(200).json()["items"], json!([]));
}

// guards: 51
#[tokio::test(flavor = "multi_thread")]
async fn pages_neither_skip_nor_repeat_runs_whose_status_changes_meanwhile() {
    let world = World::start().await;
    park(&world, 60).await;
    let (mut seen, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let page = world.get(&format!("/v1/parked?limit=7{cursor}")).await.expect(200).json();
        for run in page["items"].as_array().unwrap() {
            let id = run["id"].as_str().unwrap();
            assert!(seen.insert(id.to_owned()), "{id} came twice");
            let retry = json!({ "decision": "retry" });
            world.send(Method::POST, &format!("/v1/runs/{id}/decide"), &retry).await.expect(200);
            world.wait(id, "undone").await;
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 60);
}
