//! Bad input gets a clear error that names the place and the fix, and has no effect.

use http::Method;
use serde_json::{Value, json};

use crate::world::{World, delivery};

const RUNS: &str = "/v1/workflows/drone-delivery/runs";

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_refused_with_the_place_and_leave_no_run() {
    let world = World::start().await;
    let (code, text) = world.send_text(Method::POST, RUNS, "{ not json").await.problem(400);
    assert_eq!(code, "not_json", "{text}");
    let mut body = delivery("d-1");
    body["packageInfo"]["size"] = json!("Gigantic");
    body.as_object_mut().unwrap().remove("ownerId");
    let answer = world.send(Method::POST, RUNS, &body).await.expect(400).json();
    assert_eq!(answer["code"], "schema");
    let pointers: Vec<_> =
        answer["errors"].as_array().unwrap().iter().map(|e| e["pointer"].clone()).collect();
    assert!(pointers.contains(&json!("/packageInfo/size")), "{answer}");
    let (code, text) =
        world.send(Method::POST, "/v1/workflows/dron-delivery/runs", &delivery("d-1")).await.problem(404);
    assert_eq!(code, "unknown_workflow");
    assert!(text.contains("did you mean 'drone-delivery'?"), "{text}");
    let (code, _) = world.send(Method::PUT, &format!("{RUNS}/other"), &delivery("d-1")).await.problem(400);
    assert_eq!(code, "bad_id");
    let (code, _) = world.send(Method::POST, RUNS, &delivery("not an id!")).await.problem(400);
    assert!(code == "bad_id" || code == "schema", "{code}");
    let mut large = delivery("d-1");
    large["deadline"] = Value::String("x".repeat(300 << 10));
    assert_eq!(world.send(Method::POST, RUNS, &large).await.problem(413).0, "too_large");
    let mut typed = crate::client::request(Method::POST, RUNS, delivery("d-1").to_string());
    typed.headers_mut().insert("content-type", "text/csv".parse().unwrap());
    assert_eq!(world.call(typed).await.problem(415).0, "media_type");
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    world.send_text(Method::POST, RUNS, &deep).await.problem(400);

    assert_eq!(world.get("/v1/runs").await.expect(200).json()["items"], json!([]));
    world.get("/v1/runs/d-1").await.problem(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_queries_name_the_parameter() {
    let world = World::start().await;
    for (query, word) in [
        ("status=finished", "finished"),
        ("limit=0", "limit"),
        ("limit=5000", "limit"),
        ("from=yesterday", "yesterday"),
        ("colour=red", "colour"),
        ("cursor=nonsense", "cursor"),
        ("status=accepted", "inbox"),
    ] {
        let (code, text) = world.get(&format!("/v1/runs?{query}")).await.problem(400);
        assert_eq!(code, "bad_request");
        assert!(text.contains(word), "{query}: {text}");
    }
    assert_eq!(world.get("/v1/nothing").await.problem(404).0, "not_found");
    assert_eq!(world.get("/v1/runs/%ff").await.problem(400).0, "bad_request");
    assert_eq!(world.get("/v1/workflows/drone-delivery/runs").await.problem(405).0, "method_not_allowed");
    assert_eq!(world.send_text(Method::DELETE, "/v1/runs", "").await.problem(405).0, "method_not_allowed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_method_is_answered_with_the_allowed_ones() {
    let world = World::start().await;
    for (path, methods) in [
        (RUNS, "POST"),
        ("/v1/workflows/drone-delivery/runs/d-1", "PUT"),
        ("/v1/workflows/drone-delivery/runs:batch", "POST"),
        ("/v1/collections/c", "GET,HEAD,PUT,PATCH,DELETE"),
        ("/v1/collections/c/jobs/j", "GET,HEAD,PUT,PATCH,DELETE"),
        ("/v1/runs", "GET,HEAD"),
        ("/api/deliveryrequests", "POST"),
        ("/api/deliveryrequests/d-1", "GET, PUT, DELETE"),
    ] {
        let answer = world.send_text(Method::OPTIONS, path, "").await.expect(405);
        assert!(
            answer.headers["allow"].to_str().unwrap().starts_with(methods),
            "{path}: {:?}",
            answer.headers
        );
        assert_eq!(answer.problem(405).0, "method_not_allowed");
    }
    world.send_text(Method::HEAD, "/v1/collections/c", "").await.expect(404);
}

// guards: 55
#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_a_page_of_another_site_is_turned_away() {
    let world = World::start().await;
    let mut posted = crate::client::request(Method::POST, RUNS, delivery("d-1").to_string());
    posted.headers_mut().insert("origin", "http://evil.example".parse().unwrap());
    assert_eq!(world.call(posted).await.problem(403).0, "forbidden");
    let mut rebound = crate::client::request(Method::POST, "/v1/workflows", "name: x");
    rebound.headers_mut().insert("host", "evil.example".parse().unwrap());
    assert_eq!(world.call(rebound).await.problem(403).0, "forbidden");
    world.get("/v1/runs/d-1").await.problem(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_definition_is_refused_whole() {
    let world = World::start().await;
    let source = "name: broken\nsteps:\n  one:\n    aftr: [two]\n    call: { service: nobody, method: GET, path: / }\n";
    let answer = world.send_text(Method::POST, "/v1/workflows", source).await.expect(400).json();
    assert_eq!(answer["code"], "invalid_definition");
    let errors = answer["errors"].as_array().unwrap();
    assert!(errors.iter().any(|error| error["line"] == 4), "{answer}");
    world.get("/v1/workflows/broken").await.problem(404);

    let taken = "name: other\naccept: { route: /api/deliveryrequests }\nservices: { a: { url: \"http://127.0.0.1:1\" } }\nsteps:\n  one:\n    call: { service: a, method: GET, path: / }\n";
    assert_eq!(world.send_text(Method::POST, "/v1/workflows", taken).await.problem(409).0, "route_taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_over_another_edit_is_refused() {
    let world = World::start().await;
    let shown = world.get("/v1/workflows/drone-reschedule").await.expect(200);
    assert_eq!(shown.headers["etag"], "\"1\"");
    let source = format!("{}\n# a change\n", shown.json()["source"].as_str().unwrap());
    let apply = |source: &str, version: &'static str| {
        let mut request = crate::client::request(Method::POST, "/v1/workflows", source.to_owned());
        request.headers_mut().insert("if-match", version.parse().unwrap());
        request
    };
    world.call(apply(&source, "\"1\"")).await.expect(201);
    let (code, _) = world.call(apply(&format!("{source}# another\n"), "\"1\"")).await.problem(412);
    assert_eq!(code, "changed");
    let again = world.send_text(Method::POST, "/v1/workflows", &source).await.expect(200).json();
    assert_eq!((again["version"].as_u64(), again["changed"].as_bool()), (Some(2), Some(false)));
}
