//! The same request twice is one run; another request under its id is refused.

use http::Method;
use serde_json::json;

use crate::world::{World, delivery};

const RUNS: &str = "/v1/workflows/drone-delivery/runs";

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_answers_with_the_run_it_already_has() {
    let world = World::start().await;
    world.send(Method::POST, RUNS, &delivery("d-1")).await.expect(202);
    let again = world.send(Method::POST, RUNS, &delivery("d-1")).await.expect(200);
    assert_eq!(again.headers["idempotent-replay"], "true");
    world.wait("d-1", "completed").await;
    // Also when the run has ended and left memory.
    let again = world.send(Method::PUT, &format!("{RUNS}/d-1"), &delivery("d-1")).await.expect(200);
    assert_eq!(again.json()["status"], "completed");
    assert_eq!(world.fleet.audit().unwrap().double_effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_body_under_a_used_id_is_refused_while_it_runs_and_after() {
    let world = World::start().await;
    world.send(Method::POST, RUNS, &delivery("d-1")).await.expect(202);
    let mut other = delivery("d-1");
    other["ownerId"] = json!("somebody-else");
    assert_eq!(world.send(Method::POST, RUNS, &other).await.problem(409).0, "id_conflict");
    world.wait("d-1", "completed").await;
    assert_eq!(world.send(Method::POST, RUNS, &other).await.problem(409).0, "id_conflict");
}

// guards: 16
#[tokio::test(flavor = "multi_thread")]
async fn many_clients_with_one_id_start_one_run() {
    let world = World::start().await;
    let posts = (0..50).map(|_| world.post_delivery("d-1"));
    let answers: Vec<_> =
        futures_util::future::join_all(posts).await.iter().map(|a| a.status.as_u16()).collect();
    assert!(answers.iter().all(|status| *status == 202 || *status == 200), "{answers:?}");
    world.wait("d-1", "completed").await;
    let page = world.get("/v1/runs").await.expect(200).json();
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert_eq!(world.fleet.audit().unwrap().double_effects(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_stands_for_a_missing_id() {
    let world = World::start().await;
    let mut body = delivery("x");
    body.as_object_mut().unwrap().remove("deliveryId");
    let mut request = crate::client::request(Method::POST, RUNS, body.to_string());
    request.headers_mut().insert("idempotency-key", "order-7".parse().unwrap());
    let answer = world.call(request).await.expect(202);
    assert_eq!(answer.headers["location"], "/v1/runs/order-7");
    world.wait("order-7", "completed").await;
    // Without either, Sortie makes an id.
    let answer = world.send(Method::POST, RUNS, &body).await.expect(202).json();
    world.wait(answer["id"].as_str().unwrap(), "completed").await;
}
