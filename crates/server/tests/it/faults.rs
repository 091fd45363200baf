//! Services that fail, hang and lose answers: every run still ends, and no effect is doubled or left.

use drone_delivery::Service;
use serde_json::json;

use crate::world::World;

/// The ids of all runs that stand so.
async fn ids(world: &World, status: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut path = format!("/v1/runs?status={status}&limit=1000");
    loop {
        let page = world.get(&path).await.expect(200).json();
        ids.extend(
            page["items"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/runs?status={status}&limit=1000&cursor={next}"),
            None => return ids,
        }
    }
}

/// Whether a request waits or a run is live.
async fn has_work(world: &World) -> bool {
    let partitions = world.get("/v1/partitions").await.expect(200).json();
    let waits = |partition: &serde_json::Value| {
        partition["inbox_tail"] != partition["inbox_through"]
            || partition["live_runs"].as_u64() > partition["parked_runs"].as_u64()
    };
    partitions["items"].as_array().unwrap().iter().any(waits)
}

// guards: 5
#[tokio::test(flavor = "multi_thread")]
async fn under_refusals_lost_answers_and_faults_every_run_ends_and_nothing_is_left() {
    // More by `DELIVERIES=10000 cargo test --release -p server --test it under_refusals`.
    let runs = std::env::var("DELIVERIES").map_or(300, |count| count.parse().unwrap());
    let world = World::start().await;
    for service in [Service::Package, Service::Transport, Service::Drone, Service::Delivery] {
        world.switch(service, json!({ "seed": 7, "lost_rate": 0.1, "error_rate": 0.05 }));
    }
    world.switch(Service::Drone, json!({ "seed": 7, "lost_rate": 0.1, "refuse_rate": 0.1 }));
    for n in 0..runs {
        world.post_delivery(&format!("d-{n}")).await.expect(202);
    }
    while has_work(&world).await {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(ids(&world, "parked").await, [""; 0]);
    let (completed, undone) = (ids(&world, "completed").await, ids(&world, "undone").await);
    println!("{} completed, {} undone", completed.len(), undone.len());
    assert_eq!(completed.len() + undone.len(), runs);
    assert!(!undone.is_empty() && completed.len() > undone.len(), "{} undone", undone.len());
    let audit = world.fleet.audit().unwrap();
    assert_eq!(audit.double_effects(), 0);
    for id in &undone {
        assert_eq!(audit.services_of(id), [], "{id} was undone");
    }
    for id in &completed {
        assert_eq!(audit.services_of(id).len(), 4, "{id} completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_recovers_is_retried_not_given_up() {
    let world = World::start().await;
    let delivery = drone_delivery::workflows::ready(&world.fleet.addresses())[0].clone();
    world
        .apply(&delivery.replace("first: 500ms", "first: 5ms").replace("attempts: 5", "attempts: 1000"))
        .await;
    world.switch(Service::Package, json!({ "seed": 3, "error_rate": 0.5 }));
    for n in 0..20 {
        world.post_delivery(&format!("d-{n}")).await.expect(202);
    }
    world.switch(Service::Package, json!({ "error_rate": 0.0 }));
    for n in 0..20 {
        world.wait(&format!("d-{n}"), "completed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_arrival_after_its_undo_has_no_effect() {
    let world = World::start().await;
    // The drone service holds a request for longer than the workflow waits for its answer.
    let delivery = drone_delivery::workflows::ready(&world.fleet.addresses())[0].clone();
    world
        .apply(&delivery.replace("timeout: 5s", "timeout: 200ms").replace("attempts: 5", "attempts: 1"))
        .await;
    world.switch(Service::Drone, json!({ "late_rate": 1.0, "late_ms": 1500 }));
    world.post_delivery("d-1").await.expect(202);
    loop {
        if world.fleet.hits(Service::Drone).late > 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    world.switch(Service::Drone, json!({ "late_rate": 0.0 }));
    world.wait("d-1", "undone").await;
    // The undo came first; the late request finds its tombstone.
    loop {
        if world.fleet.totals(Service::Drone).gone > 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(world.left_by("d-1"), []);
}
