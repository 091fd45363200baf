//! How everything is doing, through every instance: of all of them together.

use serde_json::{Value, json};
use types::Timestamp;

use crate::world::{PARTITIONS, World, an_id_of_each};

#[tokio::test(flavor = "multi_thread")]
async fn an_overview_is_of_all_instances_together_whichever_is_asked() {
    let world = World::start().await;
    let action = json!({ "type": "Http", "request": { "uri": "http://a.test/", "method": "GET" } });
    for n in 0..6 {
        world.put(n % 3, &format!("/v1/collections/c{n}"), "").await.expect(201);
        let start = Timestamp(host::Clock::start().wall().0 + (9 - n as i64) * 3_600_000);
        let start = schedule::Date(start.into()).to_string();
        let job = json!({ "properties": { "startTime": start, "action": action } });
        world.put(n % 3, &format!("/v1/collections/c{n}/jobs/j"), &job.to_string()).await.expect(201);
    }
    let live = an_id_of_each("live");
    for (partition, id) in &live {
        let at = usize::from(partition.0 + 1) % 3;
        world.put(at, &format!("/v1/workflows/parcels/runs/{id}"), r#"{"wait":true}"#).await.expect(202);
    }
    for at in 0..3 {
        let seen = world.wait_for(at, "/v1/overview", |seen| seen["backlog"]["live"] == live.len()).await;
        assert_eq!(seen["backlog"]["unfinished"], live.len(), "at {at}");
        let running = json!({ "total": PARTITIONS, "running": PARTITIONS, "stopped": 0, "unheld": 0 });
        assert_eq!(seen["partitions"], running, "at {at}");
        let next = seen["firings"]["next"].as_array().unwrap();
        let next: Vec<_> = next.iter().map(|firing| firing["collection"].as_str().unwrap()).collect();
        assert_eq!(next, ["c5", "c4", "c3", "c2", "c1", "c0"], "at {at}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_without_an_owner_are_named_and_hold_nothing_else_back() {
    let world = World::without_holders().await;
    let seen = world.get(0, "/v1/overview").await.expect(200).json();
    let unheld = json!({ "total": PARTITIONS, "running": 0, "stopped": 0, "unheld": PARTITIONS });
    assert_eq!(seen["partitions"], unheld);
    assert_eq!(world.get(2, "/v1/services").await.expect(200).json(), json!({ "items": [] }));
}

// guards: 52
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_a_service_at_one_instance_is_known_to_all() {
    let world = World::start().await;
    world.put(0, "/v1/services/a", r#"{"breaker":"open","note":"n"}"#).await.expect(200);
    for at in 0..3 {
        let seen = world.wait_for(at, "/v1/services/a", |seen| seen["by_hand"]["breaker"] == "open").await;
        assert_eq!((&seen["service"], &seen["by_hand"]["note"]), (&json!("http://a.test"), &json!("n")));
    }
    world.put(2, "/v1/services/http%3A%2F%2Fa.test", "{}").await.expect(200);
    for at in 0..3 {
        world.wait_for(at, "/v1/services/a", |seen| seen["by_hand"] == Value::Null).await;
    }
}
