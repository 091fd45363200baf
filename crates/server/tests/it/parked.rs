//! Runs that only a person can help.

use drone_delivery::Service;
use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

use crate::world::World;

async fn park(world: &World, id: &str) -> Value {
    world.switch(Service::Drone, json!({ "refuse": [id] }));
    world.switch(Service::Package, json!({ "undo_refuse": [id] }));
    world.switch(Service::Package, json!({ "undo_refuse": [id, "mypackage"] }));
    world.post_delivery(id).await.expect(202);
    world.wait(id, "parked").await
}

async fn decide(world: &World, id: &str, decision: Value) -> crate::client::Answer {
    world.send(Method::POST, &format!("/v1/runs/{id}/decide"), &decision).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undo_that_fails_parks_the_run_until_a_person_retries_it() {
    let world = World::start().await;
    let run = park(&world, "d-1").await;
    assert_eq!(run["open_steps"], json!(["package"]));
    assert!(run["reason"].as_str().unwrap().starts_with("undo of step package failed"), "{run}");
    let listed = world.get("/v1/parked").await.expect(200).json();
    assert_eq!(listed["items"][0]["id"], "d-1");
    let metrics = world.get("/metrics").await.expect(200).text;
    assert!(metrics.contains("\nsortie_parked 1\n"), "{metrics}");

    world.switch(Service::Package, json!({ "undo_refuse": [] }));
    let decision = json!({ "decision": "retry", "note": "the package service is well again" });
    decide(&world, "d-1", decision).await.expect(200);
    let run = world.wait("d-1", "undone").await;
    let decided =
        run["timeline"].as_array().unwrap().iter().find(|moment| moment["what"] == "decided").unwrap();
    assert_eq!((decided["by"].as_str(), decided["detail"].as_str()), (Some("dev"), Some("retry")));
    assert_eq!(decided["note"], "the package service is well again");
    assert_eq!(world.left_by("d-1"), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_can_skip_do_by_hand_call_instead_or_give_up() {
    let world = World::start().await;
    let cases = [
        (json!({ "decision": "skip", "step": "package", "note": "lost" }), "undone", "skipped"),
        (json!({ "decision": "by_hand", "step": "package", "note": "called them" }), "undone", "hand"),
        (json!({ "decision": "give_up", "note": "too old" }), "given_up", ""),
    ];
    for (n, (decision, status, by)) in cases.into_iter().enumerate() {
        let id = format!("d-{n}");
        park(&world, &id).await;
        decide(&world, &id, decision).await.expect(200);
        let run = world.wait(&id, status).await;
        let package = run["steps"].as_array().unwrap().iter().find(|step| step["name"] == "package").unwrap();
        assert_eq!(package["by"].as_str().unwrap_or(""), by);
    }
    park(&world, "d-9").await;
    let url = world.fleet.url(Service::Account);
    let action = json!({ "type": "http", "method": "GET", "url": format!("{url}/api/accounts/x") });
    let instead =
        json!({ "decision": "instead", "step": "package", "action": action, "note": "ask the account" });
    decide(&world, "d-9", instead).await.expect(200);
    let run = world.wait("d-9", "undone").await;
    let package = run["steps"].as_array().unwrap().iter().find(|step| step["name"] == "package").unwrap();
    assert_eq!(package["by"], "instead");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_concurrent_decisions_one_wins_and_the_others_get_a_conflict() {
    let world = World::start().await;
    for round in 0..10 {
        let id = format!("d-{round}");
        park(&world, &id).await;
        let decision = json!({ "decision": "give_up", "note": "too old" });
        let decided = (0..8).map(|_| decide(&world, &id, decision.clone()));
        let statuses: Vec<u16> =
            join_all(decided).await.into_iter().map(|answer| answer.status.as_u16()).collect();
        let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        assert_eq!((count(200), count(409)), (1, 7), "{statuses:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_called_instead_is_shown_with_its_attempts() {
    let world = World::start().await;
    park(&world, "d-1").await;
    let none = world.get("/v1/runs/d-1/steps/package/call?work=undo_instead").await;
    assert!(none.problem(404).1.contains("no undo_instead of step package"));
    let call_instead = async |method: &str, url: &str| {
        let action = json!({ "type": "http", "method": method, "url": url });
        let instead = json!({ "decision": "instead", "step": "package", "action": action, "note": "ask" });
        decide(&world, "d-1", instead).await.expect(200);
    };
    let shown = async || {
        let call = world.get("/v1/runs/d-1/steps/package/call?work=undo_instead").await.expect(200).json();
        assert_eq!(call["works"], json!(["do", "undo", "undo_instead"]));
        (call["http"]["url"].clone(), call["idempotency_key"].clone())
    };
    // Refused as the undo itself was: the run is parked again, and the call is shown with the key that it was sent with.
    let package = format!("{}/api/packages/mypackage", world.fleet.url(Service::Package));
    call_instead("DELETE", &package).await;
    world.wait("d-1", "parked").await;
    assert_eq!(shown().await, (json!(package), json!("d-1/package/undo-instead/1")));
    let url = format!("{}/api/accounts/x", world.fleet.url(Service::Account));
    call_instead("GET", &url).await;
    world.wait("d-1", "undone").await;
    assert_eq!(shown().await, (json!(url), json!("d-1/package/undo-instead/2")));
    let step = world.get("/ui/runs/d-1/steps/package?work=undo_instead").await.expect(200).text;
    assert!(step.contains("Attempt 1") && step.contains(">undo instead<"), "{step}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_does_not_fit_changes_nothing() {
    let world = World::start().await;
    park(&world, "d-1").await;
    let code = async |mut decision: Value, status: u16| {
        decision["note"] = json!("as agreed");
        decide(&world, "d-1", decision).await.problem(status).0
    };
    assert_eq!(code(json!({ "decision": "skip" }), 400).await, "bad_request");
    assert_eq!(code(json!({ "decision": "skip", "step": "dron" }), 400).await, "bad_request");
    assert_eq!(code(json!({ "decision": "skip", "step": "drone" }), 409).await, "step_not_open");
    assert_eq!(code(json!({ "decision": "retry_from", "step": "drone" }), 409).await, "only_back");
    assert_eq!(code(json!({ "decision": "shrug" }), 400).await, "bad_request");
    assert_eq!(code(json!({ "decision": "instead", "step": "package" }), 400).await, "bad_request");
    let bad = json!({ "decision": "instead", "step": "package", "action": { "type": "smoke signal" } });
    assert_eq!(code(bad, 400).await, "invalid_definition");
    assert_eq!(world.run("d-1").await["status"], "parked");
    world.switch(Service::Drone, json!({ "refuse": [] }));
    world.post_delivery("d-2").await.expect(202);
    world.wait("d-2", "completed").await;
    let too_late = json!({ "decision": "give_up", "note": "too late" });
    let (code, _) = decide(&world, "d-2", too_late).await.problem(409);
    assert_eq!(code, "run_ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_says_why_unless_it_is_another_try() {
    let world = World::start().await;
    park(&world, "d-1").await;
    for decision in ["retry_from", "skip", "by_hand", "instead", "give_up"] {
        for note in [json!(null), json!(""), json!("  ")] {
            let mut asked = json!({ "decision": decision, "step": "package" });
            if !note.is_null() {
                asked["note"] = note;
            }
            let (code, text) = decide(&world, "d-1", asked).await.problem(400);
            assert!(code == "bad_request" && text.contains("note: say why"), "{decision}: {text}");
        }
    }
    assert_eq!(world.run("d-1").await["status"], "parked");
    decide(&world, "d-1", json!({ "decision": "retry" })).await.expect(200);
}
