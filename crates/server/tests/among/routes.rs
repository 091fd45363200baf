//! Every route that can be read, through every instance: the table of routes says who answers, and all answers agree.

use serde_json::Value;

use crate::world::World;

/// What differs between instances: it is about the instance that answers, or about the moment.
const OF_AN_INSTANCE: [&str; 6] =
    ["/livez", "/readyz", "/metrics", "/v1/cluster", "/v1/settings", "/v1/overview"];

#[tokio::test(flavor = "multi_thread")]
async fn every_route_answers_the_same_from_every_instance() {
    let world = World::start().await;
    world.put(1, "/v1/workflows/parcels/runs/r-1", "{}").await.expect(202);
    world.wait_for(1, "/v1/runs/r-1", |run| run["status"] == "completed").await;
    world.put(2, "/v1/queues/r-1", "{}").await.expect(201);
    world.put(0, "/v1/collections/r-1", "{}").await.expect(201);
    let document = world.get(0, "/openapi.json").await.expect(200).json();
    let mut compared = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        if methods.get("get").is_none() || OF_AN_INSTANCE.contains(&path.as_str()) {
            continue;
        }
        let part = |part: &str| if part.starts_with('{') { "r-1".to_owned() } else { part.to_owned() };
        let path = path.split('/').map(part).collect::<Vec<_>>().join("/");
        let first = world.get(0, &path).await;
        for at in 1..3 {
            let other = world.get(at, &path).await;
            assert_eq!(other.status, first.status, "{path} at {at}");
            let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
            assert_eq!(parsed(&other.text), parsed(&first.text), "{path} at {at}");
        }
        compared += 1;
    }
    assert!(compared > 25, "the document lists what can be read: {compared}");
}
