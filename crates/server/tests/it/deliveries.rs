//! Deliveries that go well, are refused, or are cancelled.

use drone_delivery::Service;
use http::Method;
use serde_json::json;

use crate::world::{World, delivery};

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_calls_all_five_services_and_completes() {
    let world = World::start().await;
    let answer = world.post_delivery("d-1").await.expect(202);
    assert_eq!(answer.headers["location"], "/api/deliveryrequests/d-1");
    assert_eq!(answer.json()["deliveryId"], "d-1");

    let run = world.wait("d-1", "completed").await;
    let states: Vec<_> = run["steps"].as_array().unwrap().iter().map(|step| step["state"].clone()).collect();
    assert_eq!(states, ["done"; 5]);
    assert_eq!(run["timeline"][0]["what"], "accepted");
    assert_eq!(
        world.left_by("d-1"),
        [Service::Package, Service::Transport, Service::Drone, Service::Delivery]
    );
    let shown = world.get("/api/deliveryrequests/d-1").await.expect(200).json();
    assert_eq!(shown["status"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn account_package_and_transport_are_asked_side_by_side() {
    let world = World::start().await;
    world.post_delivery("d-1").await.expect(202);
    let run = world.wait("d-1", "completed").await;
    let timeline = run["timeline"].as_array().unwrap();
    let first_end = timeline.iter().position(|moment| moment["what"] == "ended").unwrap();
    let started_before = timeline[..first_end].iter().filter(|moment| moment["what"] == "started").count();
    assert_eq!(started_before, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_delivery_is_undone_and_leaves_nothing() {
    let world = World::start().await;
    world.switch(Service::Drone, json!({ "refuse": ["d-1"] }));
    world.post_delivery("d-1").await.expect(202);
    let run = world.wait("d-1", "undone").await;
    assert!(run["reason"].as_str().unwrap().starts_with("step drone was refused: 409"), "{run}");
    assert_eq!(world.left_by("d-1"), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_account_is_a_business_answer_not_a_fault() {
    let world = World::start().await;
    let url = world.fleet.addresses()[&Service::Account];
    let suspend = crate::client::request(Method::PUT, "/api/accounts/myowner", r#"{"active":false}"#);
    let answer = crate::client::call(url, suspend).await;
    assert!(answer.status.is_success(), "{}", answer.text);
    world.post_delivery("d-1").await.expect(202);
    let run = world.wait("d-1", "undone").await;
    assert!(run["reason"].as_str().unwrap().contains("accept_if"), "{run}");
    let account = &run["steps"][0];
    assert_eq!((account["state"].as_str(), account["attempts"].as_u64()), (Some("refused"), Some(1)));
    assert_eq!(world.left_by("d-1"), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_before_the_pivot_undoes_and_one_after_it_is_refused() {
    let world = World::start().await;
    world.switch(Service::Drone, json!({ "unavailable_rate": 1.0, "retry_after_s": 0 }));
    world.post_delivery("d-1").await.expect(202);
    world.send_text(Method::DELETE, "/api/deliveryrequests/d-1", "").await.expect(204);
    let run = world.wait("d-1", "undone").await;
    assert!(run["reason"].as_str().unwrap().starts_with("cancelled by"), "{run}");
    assert_eq!(world.left_by("d-1"), []);

    world.switch(Service::Drone, json!({ "unavailable_rate": 0.0 }));
    world.switch(Service::Delivery, json!({ "latency_ms": 800 }));
    world.post_delivery("d-2").await.expect(202);
    loop {
        let run = world.run("d-2").await;
        let delivery =
            run["steps"].as_array().and_then(|steps| steps.iter().find(|s| s["name"] == "delivery"));
        if delivery.is_some_and(|step| step["state"] != "waiting") {
            break;
        }
    }
    let (code, _) = world.send_text(Method::POST, "/v1/runs/d-2/cancel", "").await.problem(409);
    assert_eq!(code, "after_pivot");
    world.wait("d-2", "completed").await;
    let (code, _) = world.send_text(Method::POST, "/v1/runs/d-2/cancel", "").await.problem(409);
    assert_eq!(code, "run_ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_by_workflow_status_and_key() {
    let world = World::start().await;
    world.switch(Service::Drone, json!({ "refuse": ["d-2"] }));
    for id in ["d-1", "d-2", "d-3"] {
        world.post_delivery(id).await.expect(202);
    }
    for (id, status) in [("d-1", "completed"), ("d-2", "undone"), ("d-3", "completed")] {
        world.wait(id, status).await;
    }
    let ids = async |query: &str| {
        let page = world.get(&format!("/v1/runs?{query}")).await.expect(200).json();
        let mut ids: Vec<_> = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("workflow=drone-delivery&status=completed").await, ["d-1", "d-3"]);
    assert_eq!(ids("status=undone").await, ["d-2"]);
    assert_eq!(ids("key=d-3").await, ["d-3"]);
    assert_eq!(ids("workflow=drone-reschedule").await, [""; 0]);
    let first = world.get("/v1/runs?limit=2").await.expect(200).json();
    let next = first["next"].as_str().unwrap();
    let second = world.get(&format!("/v1/runs?limit=2&cursor={next}")).await.expect(200).json();
    assert_eq!(first["items"].as_array().unwrap().len() + second["items"].as_array().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_answers_each_line() {
    let world = World::start().await;
    let lines = format!("{}\n{{}}\n{}\n", delivery("b-1"), delivery("b-2"));
    let path = "/v1/workflows/drone-delivery/runs:batch";
    let mut request = crate::client::request(Method::POST, path, lines);
    request.headers_mut().insert("content-type", "application/x-ndjson".parse().unwrap());
    let answer = world.call(request).await.expect(200);
    let answers: Vec<serde_json::Value> =
        answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let statuses: Vec<_> = answers.iter().map(|answer| answer["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [202, 400, 202]);
    assert_eq!(answers[1]["problem"]["code"], "schema");
    world.wait("b-1", "completed").await;
    world.wait("b-2", "completed").await;
}
