//! What a step sends, as people see it: the same as what arrives, but for secrets.

use serde_json::{Value, json};

use crate::jobs_target::{Call, Target};
use crate::jobs_world::Scheduler;
use crate::world::World;

fn workflow(target: &Target) -> String {
    let url = target.url("");
    format!(
        r#"
name: parcels
services:
  parcels: {{ url: "{url}", headers: {{ x-api-key: hush-hush }} }}
steps:
  pack:
    call: {{ service: parcels, method: PUT, path: "/pack/${{.run.id}}", query: {{ size: "${{.request.size}}" }}, body: {{ size: "${{.request.size}}" }} }}
    undo: {{ service: parcels, method: DELETE, path: "/pack/${{.run.id}}" }}
    output: "${{ {{ bay: 7 }} }}"
  send:
    after: [pack]
    call: {{ service: parcels, method: POST, path: "/409/send", body: {{ bay: "${{.steps.pack.bay}}" }} }}
    undo: {{ service: parcels, method: DELETE, path: "/send/${{.run.id}}" }}
"#
    )
}

/// Whether a call as it is shown is the one that arrived.
#[track_caller]
fn same(shown: &Value, arrived: &Call, secret: &[&str]) {
    let http = &shown["http"];
    assert_eq!(http["method"], arrived.method.as_str(), "{shown}");
    let url = http["url"].as_str().unwrap();
    let path = url.split_once("://").unwrap().1.split_once('/').unwrap().1;
    assert_eq!(format!("/{}", path.split('?').next().unwrap()), arrived.path, "{shown}");
    assert_eq!(http["body"].as_str().unwrap_or_default(), arrived.body, "{shown}");
    let mut shown_lines: Vec<(String, String)> = http["headers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|header| ["name", "value"].map(|part| header[part].as_str().unwrap().to_owned()).into())
        .collect();
    shown_lines.sort();
    let of_connection = ["host", "content-length", "x-ms-client-request-id"];
    let sent = arrived.headers.iter().filter(|(name, _)| !of_connection.contains(&name.as_str()));
    let mut sent: Vec<(String, String)> = sent
        .map(|(name, value)| match secret.contains(&name.as_str()) {
            true => (name.to_string(), "***".to_owned()),
            false => (name.to_string(), value.to_str().unwrap().to_owned()),
        })
        .collect();
    sent.sort();
    assert_eq!(shown_lines, sent);
}

// guards: 53
#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_shown_as_it_was_sent_while_a_run_lives_and_after_it() {
    let (world, target) = (World::start().await, Target::start().await);
    world.apply(&workflow(&target)).await;
    let request = json!({ "size": 3 });
    world.send(http::Method::PUT, "/v1/workflows/parcels/runs/p-1", &request).await.expect(202);
    world.wait("p-1", "undone").await;
    let call = async |step: &str, work: &str| {
        world.get(&format!("/v1/runs/p-1/steps/{step}/call?work={work}")).await.expect(200).json()
    };
    let pack = call("pack", "do").await;
    assert_eq!(pack["works"], json!(["do", "undo"]));
    assert_eq!(pack["idempotency_key"], "p-1/pack/do");
    let arrived = target.calls("/");
    let at = |path: &str, method: &str| {
        arrived.iter().find(|call| call.path == path && call.method == method).unwrap().clone()
    };
    same(&pack, &at("/pack/p-1", "PUT"), &["x-api-key"]);
    assert!(pack["http"]["url"].as_str().unwrap().ends_with("/pack/p-1?size=3"), "{pack}");
    same(&call("send", "do").await, &at("/409/send", "POST"), &["x-api-key"]);
    same(&call("pack", "undo").await, &at("/pack/p-1", "DELETE"), &["x-api-key"]);
    assert!(!pack.to_string().contains("hush-hush"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_shown_is_said() {
    let world = World::start().await;
    world.post_delivery("d-1").await.expect(202);
    world.wait("d-1", "completed").await;
    let refused = async |path: &str, status: u16| world.get(path).await.problem(status);
    let (code, text) = refused("/v1/runs/d-1/steps/dron/call", 404).await;
    assert!(code == "not_found" && text.contains("the steps are"), "{text}");
    assert_eq!(refused("/v1/runs/d-1/steps/drone/call?work=alternative", 404).await.0, "not_found");
    assert_eq!(refused("/v1/runs/d-1/steps/drone/call?work=dance", 400).await.0, "bad_request");
    assert_eq!(refused("/v1/runs/d-2/steps/drone/call", 404).await.0, "not_found");
}

// guards: 53
#[tokio::test(flavor = "multi_thread")]
async fn the_call_of_a_job_is_shown_without_its_secrets() {
    let (world, target) = (Scheduler::start().await, Target::start().await);
    world.put("/v1/collections/c", &json!({})).await.expect(201);
    let action = json!({ "type": "Http", "request": {
        "uri": target.url("/tick"), "method": "POST", "body": "now", "headers": { "x-own": "kept" },
        "authentication": { "type": "Basic", "username": "u", "password": "hush-hush" },
    } });
    world.put("/v1/collections/c/jobs/j", &json!({ "properties": { "action": action } })).await.expect(201);
    let arrived = target.wait("/tick", 1).await.remove(0);
    let runs = world.get("/v1/runs").await;
    let id = runs["items"][0]["id"].as_str().unwrap().to_owned();
    let mut shown = world.get(&format!("/v1/runs/{id}/steps/action/call")).await;
    let headers = shown["http"]["headers"].as_array_mut().unwrap();
    let authorization = headers.iter_mut().find(|header| header["name"] == "authorization").unwrap();
    assert_eq!(authorization["value"], "Basic ***");
    authorization["value"] = json!("***");
    same(&shown, &arrived, &["authorization"]);
    let text = shown.to_string();
    assert!(!text.contains("hush-hush") && !text.contains("dTpodXNo"), "{text}");
}
