//! Calls about one thing, through every instance.

use cluster::Roles;
use http::Method;
use serde_json::{Value, json};
use types::PartitionId;

use crate::client::{call, request};
use crate::world::{PARTITIONS, SECRET, World, an_id_of_each, partition_of};

// guards: 30
#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_an_id_is_taken_once_whichever_instance_gets_it() {
    let world = World::start().await;
    for (partition, id) in an_id_of_each("put") {
        let path = format!("/v1/workflows/parcels/runs/{id}");
        for at in 0..3 {
            let answer = world.put(at, &path, r#"{"a":1}"#).await;
            assert_eq!(answer.status, if at == 0 { 202 } else { 200 }, "{partition} {at} {}", answer.text);
            assert_eq!(answer.headers["location"], format!("/v1/runs/{id}"));
            assert_eq!(answer.headers.get("idempotent-replay").is_some(), at != 0);
            assert!(!answer.headers.keys().any(|name| name.as_str().starts_with("sortie-")));
        }
        for at in 0..3 {
            let (code, _) = world.put(at, &path, r#"{"a":2}"#).await.problem(409);
            assert_eq!(code, "id_conflict");
            let run = world.wait_for(at, &format!("/v1/runs/{id}"), |run| run["status"] == "completed").await;
            assert_eq!(run["partition"], partition.0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_made_falls_to_the_instance_that_made_it() {
    let world = World::start().await;
    for at in 0..3 {
        for _ in 0..4 {
            let answer = world.post(at, "/v1/workflows/parcels/runs", "{}").await.expect(202).json();
            let id = answer["id"].as_str().unwrap();
            assert_eq!(usize::from(partition_of(id).0) % 3, at);
            world.wait_for((at + 1) % 3, &format!("/v1/runs/{id}"), |run| run["status"] == "completed").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_a_key_of_its_own_is_found_wherever_it_is() {
    let world = World::start().await;
    for number in 0..12 {
        let at = number % 3;
        let body = format!(r#"{{"customer":"c-{number}","wait":true}}"#);
        // An id that is made here for a key that belongs elsewhere goes to the holder of the key.
        let answer = world.post(at, "/v1/workflows/orders/runs", &body).await.expect(202).json();
        let id = answer["id"].as_str().unwrap().to_owned();
        for asked in 0..3 {
            let run =
                world.wait_for(asked, &format!("/v1/runs/{id}"), |run| run["status"] == "running").await;
            assert_eq!(run["key"], format!("c-{number}"));
        }
        let path = format!("/v1/runs/{id}/cancel");
        world.post((at + 2) % 3, &path, "").await.expect(202);
    }
    let (code, _) = world.get(0, "/v1/runs/nobody-has-this").await.problem(404);
    assert_eq!(code, "not_found");
    world.post(1, "/v1/runs/nobody-has-this/cancel", "").await.problem(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_has_its_own_route_at_every_instance() {
    let world = World::start().await;
    for at in 0..3 {
        for number in 0..4 {
            let (id, sent) =
                (format!("o-{at}-{number}"), format!(r#"{{"customer":"k-{number}","wait":true}}"#));
            let answer = world.put(at, &format!("/api/orders/{id}"), &sent).await.expect(202);
            assert_eq!(answer.json()["id"], id.as_str());
            let other = (at + 1) % 3;
            world.get(other, &format!("/api/orders/{id}")).await.expect(200);
            let change = format!(r#"{{"number":{number}}}"#);
            let patched = world.send(other, Method::PATCH, &format!("/api/orders/{id}"), &change).await;
            assert_eq!(patched.expect(200).text, id);
            world.send(other, Method::DELETE, &format!("/api/orders/{id}"), "").await.expect(204);
        }
    }
    // Every change has become a run of its own, with the order as its key.
    let all = world.wait_for(2, "/v1/runs?workflow=changes&status=completed", |page| {
        page["items"].as_array().unwrap().len() == 12
    });
    let keys: std::collections::BTreeSet<_> =
        all.await["items"].as_array().unwrap().iter().map(|run| run["key"].to_string()).collect();
    assert_eq!(keys.len(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_and_topics_are_reached_through_every_instance() {
    let world = World::start().await;
    for number in 0..6 {
        let name = format!("q-{number}");
        world.put(number % 3, &format!("/v1/queues/{name}"), "{}").await.expect(201);
        world.post((number + 1) % 3, &format!("/{name}/messages"), "hello").await.expect(201);
        let received = world.post((number + 2) % 3, &format!("/{name}/messages/head?timeout=30"), "").await;
        let received = received.expect(201);
        assert_eq!(received.text, "hello");
        let location = received.headers["location"].to_str().unwrap();
        let path = location.strip_prefix("http://localhost").unwrap();
        world.send(number % 3, Method::DELETE, path, "").await.expect(200);
        let nothing = world.post(number % 3, &format!("/{name}/messages/head?timeout=0"), "").await;
        nothing.expect(204);
        let (code, _) = world.get((number + 1) % 3, &format!("/v1/queues/not-{name}")).await.problem(404);
        assert_eq!(code, "unknown_queue");
    }
    world.put(0, "/v1/topics/t", "{}").await.expect(201);
    world.put(1, "/v1/topics/t/subscriptions/s", "{}").await.expect(201);
    world.post(2, "/t/messages", "news").await.expect(201);
    let received = world.send(0, Method::DELETE, "/t/subscriptions/s/messages/head?timeout=30", "").await;
    assert_eq!(received.expect(200).text, "news");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_message_elsewhere_gets_it_when_it_comes() {
    let world = std::sync::Arc::new(World::start().await);
    for number in 0..3 {
        let name = format!("later-{number}");
        world.put(0, &format!("/v1/queues/{name}"), "{}").await.expect(201);
        let waiting = {
            let (world, path) = (world.clone(), format!("/{name}/messages/head?timeout=60"));
            tokio::spawn(async move { world.send(number, Method::DELETE, &path, "").await })
        };
        world.post((number + 1) % 3, &format!("/{name}/messages"), "at last").await.expect(201);
        assert_eq!(waiting.await.unwrap().expect(200).text, "at last");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn collections_and_jobs_are_reached_through_every_instance() {
    let world = World::start().await;
    let action = json!({ "type": "http", "request": { "method": "GET", "uri": "http://a.test/" } });
    let next_month = types::Timestamp(host::Clock::start().wall().0 + 30 * 24 * 3600 * 1000);
    let start = serde_json::to_value(api_types::Time(next_month)).unwrap();
    let body = json!({ "properties": { "action": action, "startTime": start } }).to_string();
    for number in 0..6 {
        let [a, b, c] = [0, 1, 2].map(|step| (number + step) % 3);
        let base = format!("/v1/collections/c{number}");
        world.put(a, &base, "").await.expect(201);
        world.put(b, &format!("{base}/jobs/j"), &body).await.expect(201);
        let job = world.get(c, &format!("{base}/jobs/j")).await.expect(200);
        assert_eq!(job.headers["etag"], "\"1\"");
        let run = world.post(a, &format!("{base}/jobs/j/run"), "").await.expect(202).json();
        let run = run["run"].as_str().unwrap().to_owned();
        world.wait_for(b, &format!("/v1/runs/{run}"), |run| run["status"] == "completed").await;
        let path = format!("{base}/jobs/j/history");
        let history = world.wait_for(c, &path, |page| page["items"] != json!([])).await;
        assert_eq!(history["items"][0]["run"], run.as_str());
        let azure = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/default/providers\
                     /Microsoft.Scheduler/jobCollections";
        let path = format!("{azure}/c{number}/jobs/j?api-version=2016-03-01");
        let shown = world.get(a, &path).await.expect(200).json();
        assert_eq!(shown["name"], format!("c{number}/j"));
        let unknown = format!("{azure}/nothing-{number}?api-version=2016-03-01");
        assert_eq!(world.get(b, &unknown).await.expect(404).json()["error"]["code"], "ResourceNotFound");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_has_one_free_collection_whoever_holds_it() {
    let world = World::start().await;
    let path = |n: usize| {
        format!(
            "/subscriptions/s-{}/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c{n}?api-version=2016-03-01",
            n % 2
        )
    };
    let body = json!({ "location": "x", "properties": { "sku": { "name": "Free" } } }).to_string();
    for n in 0..8 {
        let answer = world.put(n % 3, &path(n), &body).await;
        assert_eq!(answer.status, if n < 2 { 201 } else { 409 }, "{n}: {}", answer.text);
    }
    // Writing the existing one again does not make a second one.
    world.put(2, &path(0), &body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_passed_on_is_never_passed_on_again() {
    let world = World::start().await;
    let passed = |method, path: &str, at: usize| {
        let mut request = request(method, path, "{}");
        request.headers_mut().insert("sortie-forwarded", "instance-9".parse().unwrap());
        call(world.instances[at].address, request)
    };
    for (partition, id) in an_id_of_each("once") {
        for at in 0..3 {
            let answer = passed(Method::PUT, &format!("/v1/workflows/parcels/runs/{id}"), at).await;
            let holds = usize::from(partition.0) % 3 == at;
            if holds {
                assert!(answer.status.is_success(), "{}", answer.text);
            } else {
                assert_eq!(answer.headers["retry-after"], "1");
                assert_eq!(answer.problem(503).0, "not_held");
            }
        }
    }
    for at in [0, 2] {
        assert_eq!(passed(Method::DELETE, "/v1/workflows/parcels", at).await.problem(503).0, "not_held");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_instances_hand_over_messages_whole() {
    let world = World::start().await;
    world.put(0, "/v1/queues/posts", "{}").await.expect(201);
    let mut message = types::Message::new("m-1", "text");
    message.label = Some("about".to_owned());
    let send = |secret: Option<&str>| {
        let mut request = request(Method::POST, "/posts/messages", journal::codec::encode(&message));
        let headers = request.headers_mut();
        headers.insert("content-type", rest::MESSAGE_TYPE.parse().unwrap());
        headers.insert(rest::MESSAGE_KIND, "queue".parse().unwrap());
        if let Some(secret) = secret {
            headers.insert(rest::PEER, secret.parse().unwrap());
        }
        request
    };
    let name = types::QueueName::new("posts").unwrap();
    let holder = usize::from(engine::queues::partition_of(&name, PARTITIONS).0) % 3;
    let receive = || world.send(1, Method::DELETE, "/posts/messages/head?timeout=30", "");
    let label = |answer: &crate::client::Answer| {
        let properties: Value =
            serde_json::from_str(answer.headers["brokerproperties"].to_str().unwrap()).unwrap();
        properties["Label"].clone()
    };
    call(world.instances[holder].address, send(Some(SECRET))).await.expect(201);
    let received = receive().await.expect(200);
    assert_eq!((received.text.as_str(), label(&received)), ("text", json!("about")));
    // From anybody else it is a message like any other, whatever it says of itself.
    for secret in [None, Some("guessed")] {
        call(world.instances[holder].address, send(secret)).await.expect(201);
        assert_eq!(label(&receive().await.expect(200)), Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_answers_clients_only_in_its_roles_and_the_others_always() {
    let none = Roles { ingest: false, engine: false, rest: false };
    let (ingest_only, owner) = (Roles { ingest: true, ..none }, Roles { engine: true, ..none });
    let world = World::with_roles([ingest_only, owner, Roles::ALL]).await;
    for partition in (0..PARTITIONS).map(PartitionId) {
        world.give(1, partition).await;
    }
    for (partition, id) in an_id_of_each("role") {
        let path = format!("/v1/workflows/parcels/runs/{id}");
        world.put(0, &path, "{}").await.expect(202);
        assert_eq!(world.put(1, &path, "{}").await.problem(421).0, "wrong_role", "{partition}");
        world.put(2, &path, "{}").await.expect(200);
        let path = format!("/v1/runs/{id}");
        for at in [0, 1] {
            assert_eq!(world.get(at, &path).await.problem(421).0, "wrong_role");
        }
        world.wait_for(2, &path, |run| run["status"] == "completed").await;
    }
    let listed = world.get(2, "/v1/runs").await.expect(200).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), usize::from(PARTITIONS));
    for path in ["/livez", "/readyz", "/metrics"] {
        world.get(0, path).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_instance_shows_the_others_and_what_they_hold() {
    let world = World::start().await;
    for at in 0..3 {
        let shown = world.get(at, "/v1/cluster").await.expect(200).json();
        assert_eq!(shown["instance"], format!("instance-{at}"));
        assert_eq!(shown["instances"].as_array().unwrap().len(), 3);
        let partitions = shown["partitions"].as_array().unwrap();
        let holders: Vec<_> = partitions.iter().map(|held| held["holder"].as_str().unwrap()).collect();
        let expected = (0..8).map(|number| format!("instance-{}", number % 3));
        assert_eq!(holders, expected.chain(["instance-1".to_owned()]).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_ready_while_it_is_heard_whatever_it_can_take() {
    let world = World::start().await;
    let ready = world.get(0, "/readyz").await.expect(200).json();
    assert_eq!(ready, serde_json::json!({ "ready": true, "disk_accepts": true, "stopped": [] }));

    let instance = &world.instances[0];
    instance.engine.hold_calls(true);
    let silent = world.get(0, "/readyz").await.expect(503).json();
    assert_eq!((&silent["ready"], &silent["reason"]), (&false.into(), &"unheard".into()));
    world.get(1, "/readyz").await.expect(200);
    instance.engine.hold_calls(false);
    world.get(0, "/readyz").await.expect(200);

    world.change(|view| drop(view.members.remove(&instance.id)));
    assert_eq!(world.get(0, "/readyz").await.expect(503).json()["reason"], "unheard", "it has just started");
}
