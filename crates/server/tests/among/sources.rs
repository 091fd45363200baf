//! Sources among instances: whoever takes a message, its run and its poison come to who holds them.

use engine::queues::{QueueAnswer, QueueCommand, partition_of};
use kernel::queue::{MessageNo, QueueRef, SubQueue};
use serde_json::json;
use sources::PartitionOwners;
use types::{Message, QueueName};

use crate::world::{PARTITIONS, World, an_id_of_each};

const WORKFLOW: &str = "
name: named
accept: { id: .id }
services: { a: { url: 'http://a.test' } }
sources: [{ type: queue, queue: incoming }]
steps:
  one: { call: { service: a, method: PUT, path: /x, body: .request } }
";

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_body_names_a_used_id_is_parked_whoever_holds_its_run() {
    let world = World::start().await;
    world.put(0, "/v1/queues/incoming", "{}").await.expect(201);
    let ids = an_id_of_each("m");
    // Each has a run of another workflow already, at every instance.
    for id in ids.values() {
        world.put(0, &format!("/v1/workflows/parcels/runs/{id}"), "{}").await.expect(202);
    }
    world.post(0, "/v1/workflows", WORKFLOW).await.expect(201);
    for id in ids.values() {
        let fresh = json!({ "id": format!("{id}-fresh") }).to_string();
        world.post(0, "/incoming/messages", &json!({ "id": id }).to_string()).await.expect(201);
        world.post(0, "/incoming/messages", &fresh).await.expect(201);
    }
    let sources = world.take_messages();
    let settled =
        |counts: &serde_json::Value| counts["counts"]["ready"] == 0 && counts["counts"]["locked"] == 0;
    let queue = world.wait_for(1, "/v1/queues/incoming", settled).await;
    assert_eq!(queue["counts"]["dead"], ids.len(), "all with a used id, and no other");
    for id in ids.values() {
        let completed = |run: &serde_json::Value| run["status"] == "completed";
        let run = world.wait_for(2, &format!("/v1/runs/{id}-fresh"), completed).await;
        assert_eq!(run["workflow"], "named");
    }
    let dead = world.get(2, "/v1/queues/incoming/messages?sub_queue=dead").await.expect(200).json();
    assert!(
        dead["items"][0]["dead"]["description"].as_str().unwrap().contains("exists with another body"),
        "{dead}"
    );
    for sources in sources {
        sources.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn poison_comes_to_a_queue_that_another_instance_holds_and_makes() {
    let world = World::start().await;
    for number in 0..10 {
        let queue = QueueName::new(&format!("poison-{number}")).unwrap();
        let partition = partition_of(&queue, PARTITIONS);
        let holder = world.instances.iter().position(|one| one.engine.holds(partition)).unwrap();
        let owners = &world.instances[(holder + 1) % 3].remote_owners;
        for _ in 0..2 {
            owners.park(queue.clone(), Message::new("m-1", vec![0xff, 0])).await.unwrap();
        }
        let peek = QueueCommand::Peek {
            at: QueueRef::queue(queue),
            sub_queue: SubQueue::Main,
            from: MessageNo(0),
            max: 10,
        };
        let answer = world.instances[holder].engine.queue(partition, peek).await.unwrap();
        let QueueAnswer::Peeked(peeked) = answer else { panic!("{answer:?}") };
        assert_eq!(peeked.len(), 1, "once, however often it is parked");
        assert_eq!(peeked[0].message.body, vec![0xff, 0]);
    }
}
