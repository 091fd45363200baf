//! What a workflow can say beyond plain steps: alternatives, notices, time limits.

use drone_delivery::{Service, workflows};
use http::Method;
use kernel::drill::drill_saga;
use serde_json::{Value, json};
use workflow::Definition;

use crate::client::{call, request};
use crate::world::World;

/// Whether the account is active: the services' one fact that an action can change and a test can read.
async fn account(world: &World, id: &str) -> Value {
    let get = request(Method::GET, &format!("/api/accounts/{id}"), "");
    call(world.fleet.addresses()[&Service::Account], get).await.expect(200).json()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_drone_workflows_survive_their_drill() {
    let world = World::start().await;
    for source in workflows::ready(&world.fleet.addresses()) {
        let definition = Definition::parse(&source).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(drill_saga(definition.plan()), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alternative_completes_the_step_when_its_retries_are_used_up() {
    let world = World::start().await;
    world.switch(Service::Drone, json!({ "error_rate": 1.0 }));
    let (account_url, drone_url) = (world.fleet.url(Service::Account), world.fleet.url(Service::Drone));
    world
        .apply(&format!(
            "name: fallback
services:
  account: {{ url: \"{account_url}\" }}
  drone: {{ url: \"{drone_url}\" }}
steps:
  fly:
    call: {{ service: drone, method: PUT, path: \"/api/dronedeliveries/${{.run.id}}\", body: {{ deliveryId: \"${{.run.id}}\" }} }}
    alternative: {{ call: {{ service: account, method: PUT, path: \"/api/accounts/by-road\", body: {{ active: false }} }} }}
    retry: {{ type: fixed, delay: 5ms, attempts: 3 }}
"
        ))
        .await;
    world.send(Method::PUT, "/v1/workflows/fallback/runs/f-1", &json!({})).await.expect(202);
    let run = world.wait("f-1", "completed").await;
    assert_eq!(
        (run["steps"][0]["by"].as_str(), run["steps"][0]["attempts"].as_u64()),
        (Some("alternative"), Some(4))
    );
    assert_eq!(account(&world, "by-road").await, json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_run_and_its_end_are_reported_also_when_the_first_notice_fails() {
    let world = World::start().await;
    let url = world.fleet.url(Service::Account);
    let source = workflows::ready(&world.fleet.addresses())[0].clone();
    let tell = |word: &str| {
        format!(
            "on_{word}: {{ action: {{ type: http, method: PUT, url: \"{url}/api/accounts/told-{word}-${{.run.id}}\", body: {{ active: false }} }}, retry: {{ type: fixed, delay: 10ms, attempts: 100 }} }}\n"
        )
    };
    world.apply(&format!("{source}{}{}", tell("parked"), tell("undone"))).await;
    world.switch(Service::Account, json!({ "seed": 11, "error_rate": 0.5 }));
    world.switch(Service::Drone, json!({ "refuse": ["d-1"] }));
    world.switch(Service::Package, json!({ "undo_refuse": ["d-1", "mypackage"] }));
    world.post_delivery("d-1").await.expect(202);
    world.wait("d-1", "parked").await;
    world.switch(Service::Package, json!({ "undo_refuse": [] }));
    world.send(Method::POST, "/v1/runs/d-1/decide", &json!({ "decision": "retry" })).await.expect(200);
    world.wait("d-1", "undone").await;
    world.switch(Service::Account, json!({ "error_rate": 0.0 }));
    for word in ["parked", "undone"] {
        while account(&world, &format!("told-{word}-d-1")).await != json!(false) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_does_not_end_before_its_deadline_is_undone() {
    let world = World::start().await;
    world.switch(Service::Drone, json!({ "error_rate": 1.0 }));
    let source = workflows::ready(&world.fleet.addresses())[0].clone();
    let source = source.replace("deadline: 1h", "deadline: 300ms").replace("attempts: 5", "attempts: 500");
    world.apply(&source.replace("first: 500ms", "first: 5ms").replace("max: 60s", "max: 20ms")).await;
    world.post_delivery("d-1").await.expect(202);
    let run = world.wait("d-1", "undone").await;
    assert_eq!(run["reason"], "the run did not end before its deadline");
    assert_eq!(world.left_by("d-1"), []);
}
