//! Partitions that nobody holds, for a while or for longer.

use std::sync::Arc;

use types::PartitionId;

use crate::world::{PARTITIONS, World, an_id_of_each};

// guards: 30
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_holds_is_waited_for_and_then_refused() {
    let world = World::without_holders().await;
    let missing = PartitionId(5);
    for partition in (0..PARTITIONS).map(PartitionId).filter(|id| *id != missing) {
        world.give(usize::from(partition.0) % 3, partition).await;
    }
    let ids = an_id_of_each("gone");
    let path = format!("/v1/workflows/parcels/runs/{}", ids[&missing]);
    let (put, run, list, shown, partitions) = tokio::join!(
        world.put(0, &path, "{}"),
        world.get(1, "/v1/runs/may-be-there"),
        world.get(2, "/v1/runs"),
        world.get(2, "/v1/queues"),
        world.get(0, "/v1/partitions"),
    );
    assert_eq!(put.headers["retry-after"], "1");
    assert_eq!(put.problem(503).0, "not_held");
    for unsure in [run, list, shown] {
        assert_eq!(unsure.headers["retry-after"], "1");
        assert_eq!(unsure.problem(503).0, "incomplete");
    }
    let partitions = partitions.expect(200).json();
    assert_eq!(partitions["items"][5]["state"], "unheld");
    // Everything else goes on, and so does what is taken without asking for an id.
    world.post(1, "/v1/workflows/parcels/runs", "{}").await.expect(202);
    world.put(1, &format!("/v1/workflows/parcels/runs/{}", ids[&PartitionId(0)]), "{}").await.expect(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_is_answered_when_somebody_takes_the_partition() {
    let world = Arc::new(World::without_holders().await);
    let waiting: Vec<_> = an_id_of_each("soon")
        .into_values()
        .map(|id| {
            let world = world.clone();
            let path = format!("/v1/workflows/parcels/runs/{id}");
            tokio::spawn(async move { world.put(0, &path, "{}").await.status.as_u16() })
        })
        .collect();
    let list = tokio::spawn({
        let world = world.clone();
        async move { world.get(1, "/v1/queues").await.status.as_u16() }
    });
    for partition in (0..PARTITIONS).map(PartitionId) {
        world.give(usize::from(partition.0) % 3, partition).await;
    }
    for call in waiting {
        assert_eq!(call.await.unwrap(), 202);
    }
    assert_eq!(list.await.unwrap(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_taken_by_instances_that_hold_nothing_and_become_runs_later() {
    let world = World::without_holders().await;
    let mut ids = Vec::new();
    for at in 0..3 {
        let answer = world.post(at, "/v1/workflows/parcels/runs", r#"{"n":1}"#).await.expect(202).json();
        ids.push(answer["id"].as_str().unwrap().to_owned());
    }
    for partition in (0..PARTITIONS).map(PartitionId) {
        world.give(2, partition).await;
    }
    for (at, id) in ids.iter().enumerate() {
        world.wait_for(at, &format!("/v1/runs/{id}"), |run| run["status"] == "completed").await;
    }
    // Also afterwards, at those that still hold nothing; and the answer is never that there is no such run.
    for at in [0, 1, 0, 1] {
        let answer =
            world.post(at, "/v1/workflows/parcels/runs", r#"{"wait":true}"#).await.expect(202).json();
        let id = answer["id"].as_str().unwrap();
        world.get(at, &format!("/v1/runs/{id}")).await.expect(200);
        world.wait_for(at, &format!("/v1/runs/{id}"), |run| run["status"] == "running").await;
        world.put(at, &format!("/v1/workflows/parcels/runs/{id}"), r#"{"wait":true}"#).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_was_taken_over_is_answered_for_by_its_new_holder() {
    let world = World::start().await;
    let (partition, id) = an_id_of_each("moved").into_iter().next().unwrap();
    let path = format!("/v1/workflows/parcels/runs/{id}");
    world.put(1, &path, r#"{"wait":true}"#).await.expect(202);
    world.wait_for(1, &format!("/v1/runs/{id}"), |run| run["status"] == "running").await;
    let before = usize::from(partition.0) % 3;
    let next = (before + 1) % 3;
    world.give(next, partition).await;
    for at in 0..3 {
        let run = world.wait_for(at, &format!("/v1/runs/{id}"), |run| run["status"] == "running").await;
        assert_eq!(run["partition"], partition.0);
    }
    let cancelled = world.post(before, &format!("/v1/runs/{id}/cancel"), "").await;
    assert!(cancelled.status == 202 || cancelled.status == 503, "{}", cancelled.text);
    assert!(world.instances[next].engine.holds(partition));
}
