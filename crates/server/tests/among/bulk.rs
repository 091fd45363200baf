//! One thing done to many runs, wherever they are and whoever holds the control partition.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{World, an_id_of_each};

// guards: 50
#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_reaches_runs_at_every_instance_and_goes_on_when_its_owner_changes() {
    let world = World::start().await;
    let mut ids = BTreeSet::new();
    for round in 0..10 {
        for (partition, id) in an_id_of_each(&format!("r{round}")) {
            let at = usize::from(partition.0 + 1) % 3;
            world.put(at, &format!("/v1/workflows/stubborn/runs/{id}"), "{}").await.expect(202);
            world.wait_for(at, &format!("/v1/runs/{id}"), |run| run["status"] == "parked").await;
            ids.insert(id);
        }
    }
    world.heal();
    let asked =
        json!({ "action": "retry", "select": { "workflow": "stubborn" }, "rate": 10, "note": "well" });
    let dry = json!({ "action": "retry", "select": {}, "dry_run": true }).to_string();
    assert_eq!(world.post(0, "/v1/bulk", &dry).await.expect(200).json()["matched"]["count"], ids.len());
    let bulk = world.post(0, "/v1/bulk", &asked.to_string()).await.expect(202).json();
    let path = format!("/v1/bulk/{}", bulk["id"].as_str().unwrap());
    world.wait_for(2, &path, |bulk| bulk["done"].as_u64() >= Some(20)).await;
    // The one before does not know yet, and may still be at the same page.
    world.take_control(2).await;
    let bulk = world.wait_for(0, &path, |bulk| bulk["state"] == "done").await;
    assert_eq!((&bulk["done"], &bulk["skipped"]["count"]), (&json!(ids.len()), &json!(0)), "{bulk}");
    assert_eq!(bulk["failed"]["count"], 0, "{bulk}");
    for id in &ids {
        let run = world.wait_for(1, &format!("/v1/runs/{id}"), |run| run["status"] == "undone").await;
        let timeline = run["timeline"].as_array().unwrap();
        let decided: Vec<&Value> = timeline.iter().filter(|moment| moment["what"] == "decided").collect();
        assert_eq!((decided.len(), &decided[0]["by"]), (1, &json!("dev")), "{run}");
    }

    let asked = json!({ "action": "rerun", "select": { "status": "undone" }, "rate": 1000 }).to_string();
    let bulk = world.post(0, "/v1/bulk", &asked).await.expect(202).json();
    let path = format!("/v1/bulk/{}", bulk["id"].as_str().unwrap());
    let bulk = world.wait_for(2, &path, |bulk| bulk["state"] == "done").await;
    assert_eq!((&bulk["done"], &bulk["failed"]["count"]), (&json!(ids.len()), &json!(0)), "{bulk}");
    for id in &ids {
        world.wait_for(0, &format!("/v1/runs/{id}.again"), |run| run["status"] == "undone").await;
    }
}
