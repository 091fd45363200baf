//! Lists of everything, through every instance.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::world::{PARTITIONS, World, an_id_of_each};

fn texts(page: &Value, items: &str, field: &str) -> Vec<String> {
    let all = page[items].as_array().unwrap().iter();
    all.map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

/// All pages of a list of runs.
async fn pages(world: &World, at: usize, query: &str, limit: usize) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/runs?limit={limit}{query}{cursor}");
        let page = world.get(at, &path).await.expect(200).json();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= limit, "{page}");
        all.extend(items.iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

// guards: 30
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_runs_is_complete_and_in_order_in_pages_of_any_size() {
    let world = World::start().await;
    let mut expected = BTreeSet::new();
    for (prefix, wait) in [("done-a", false), ("live-a", true), ("done-b", false), ("live-b", true)] {
        for (partition, id) in an_id_of_each(prefix) {
            let at = usize::from(partition.0 + 1) % 3;
            let path = format!("/v1/workflows/parcels/runs/{id}");
            world.put(at, &path, &format!(r#"{{"wait":{wait}}}"#)).await.expect(202);
            let status = if wait { "running" } else { "completed" };
            world.wait_for(at, &format!("/v1/runs/{id}"), |run| run["status"] == status).await;
            expected.insert(id);
        }
    }
    let one = pages(&world, 0, "", 100).await;
    let live = one.iter().take_while(|run| run["status"] == "running").count();
    assert_eq!(live, 2 * usize::from(PARTITIONS));
    for part in [&one[..live], &one[live..]] {
        let times: Vec<_> = part.iter().map(|run| run["accepted_at"].as_str().unwrap()).collect();
        assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    }
    for at in 0..3 {
        for limit in [1, 3, 7, 16, 100] {
            let all = pages(&world, at, "", limit).await;
            let ids: BTreeSet<_> = all.iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
            assert_eq!((ids, all.len()), (expected.clone(), expected.len()), "at {at}, by {limit}");
            assert_eq!(all, one, "at {at}, by {limit}");
        }
        let completed = pages(&world, at, "&status=completed", 5).await;
        assert_eq!(completed.len(), 2 * usize::from(PARTITIONS));
        let key = completed[0]["key"].as_str().unwrap();
        assert_eq!(pages(&world, at, &format!("&key={key}"), 5).await, completed[..1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_queues_topics_collections_and_partitions_are_complete() {
    let world = World::start().await;
    let names = |prefix: &str| (0..9).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
    for (n, ((queue, topic), collection)) in names("q").iter().zip(names("t")).zip(names("c")).enumerate() {
        world.put(n % 3, &format!("/v1/queues/{queue}"), "{}").await.expect(201);
        world.put(n % 3, &format!("/v1/topics/{topic}"), "{}").await.expect(201);
        world.put(n % 3, &format!("/v1/collections/{collection}"), "").await.expect(201);
    }
    let azure =
        "/subscriptions/00000000-0000-0000-0000-000000000000/providers/Microsoft.Scheduler/jobCollections";
    for at in 0..3 {
        let get = async |path: &str| world.get(at, path).await.expect(200).json();
        assert_eq!(texts(&get("/v1/queues").await, "items", "name"), names("q"));
        assert_eq!(texts(&get("/v1/topics").await, "items", "name"), names("t"));
        assert_eq!(texts(&get("/v1/collections").await, "items", "collection"), names("c"));
        let first = get("/v1/queues?limit=4").await;
        assert_eq!(
            (texts(&first, "items", "name"), &first["next"]),
            (names("q")[..4].to_vec(), &"q3".into())
        );
        let last = get("/v1/queues?limit=5&after=q3").await;
        assert_eq!((texts(&last, "items", "name"), &last["next"]), (names("q")[4..].to_vec(), &Value::Null));
        let first = get(&format!("{azure}?api-version=2016-03-01&$top=4")).await;
        assert_eq!(texts(&first, "value", "name"), names("c")[..4]);
        let next = first["nextLink"].as_str().unwrap().strip_prefix("http://localhost").unwrap().to_owned();
        assert_eq!(texts(&get(&next).await, "value", "name"), names("c")[4..8]);
        let partitions = get("/v1/partitions").await;
        let numbers: Vec<_> =
            partitions["items"].as_array().unwrap().iter().map(|p| p["partition"].as_u64()).collect();
        assert_eq!(numbers, (0..PARTITIONS).map(|n| Some(n.into())).collect::<Vec<_>>());
    }
    // What is wrong with a question is said as by one instance.
    assert_eq!(world.get(0, "/v1/runs?limit=0").await.problem(400).0, "bad_request");
    assert_eq!(world.get(1, "/v1/runs?cursor=e.00").await.problem(400).0, "bad_request");
}
