//! How everything is doing: the overview, services set by hand, the settings.

use std::time::Duration;

use drone_delivery::Service;
use http::Method;
use serde_json::{Value, json};
use server::{Config, TokenConfig};
use types::Timestamp;

use crate::client::{Answer, call, request};
use crate::world::World;

/// Asks until an answer is as it must become.
async fn wait_for(world: &World, path: &str, good: impl Fn(&Value) -> bool) -> Value {
    // Two minutes in all: far more than anything here takes, on a machine however slow.
    for _ in 0..2400 {
        let seen = world.get(path).await.expect(200).json();
        if good(&seen) {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited in vain at {path}: {}", world.get(path).await.text);
}

async fn say(world: &World, service: &str, said: &Value) -> Answer {
    world.send(Method::PUT, &format!("/v1/services/{service}"), said).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_shows_rates_in_and_out_and_the_backlog() {
    let world = World::start().await;
    world.send(Method::PUT, "/v1/collections/c", &json!({})).await.expect(201);
    let action = json!({ "type": "Http", "request": { "uri": "http://127.0.0.1:9/", "method": "GET" } });
    for (job, hours) in [("later", 2), ("sooner", 1)] {
        let start = Timestamp(host::Clock::start().wall().0 + hours * 3_600_000);
        let start = schedule::Date(start.into()).to_string();
        let job = (
            format!("/v1/collections/c/jobs/{job}"),
            json!({ "properties": { "startTime": start, "action": action } }),
        );
        world.send(Method::PUT, &job.0, &job.1).await.expect(201);
    }
    let mut posted = 0;
    let seen = loop {
        world.post_delivery(&format!("d-{posted}")).await.expect(202);
        world.wait(&format!("d-{posted}"), "completed").await;
        posted += 1;
        let seen = world.get("/v1/overview").await.expect(200).json();
        let moves =
            ["accepted", "ended", "attempts"].iter().all(|rate| seen["rates"][rate].as_f64() > Some(0.0));
        if moves && seen["latency"]["run_p99_ms"].is_f64() && seen["latency"]["accept_p50_ms"].is_f64() {
            break seen;
        }
        assert!(posted < 2000, "{seen}");
    };
    assert_eq!(seen["backlog"], json!({ "unfinished": 0, "waiting": 0, "live": 0 }));
    assert_eq!((&seen["parked"], &seen["rates"]["refused"]), (&json!(0), &json!(0.0)));
    assert_eq!(seen["partitions"], json!({ "total": 4, "running": 4, "stopped": 0, "unheld": 0 }));
    let next: Vec<_> =
        seen["firings"]["next"].as_array().unwrap().iter().map(|firing| &firing["job"]).collect();
    assert_eq!((json!(next), &seen["firings"]["late"]), (json!(["sooner", "later"]), &json!(0)));
    let services = seen["services"].as_array().unwrap();
    let named =
        |name: &str| services.iter().find(|one| one["names"].as_array().unwrap().contains(&json!(name)));
    assert!(named("drone-delivery/drone").is_some_and(|one| one["p99_ms"].is_f64()), "{seen}");
    // One that cannot go on, and one more for a person.
    say(&world, "drone", &json!({ "breaker": "open" })).await.expect(200);
    world.post_delivery("stays").await.expect(202);
    let seen = wait_for(&world, "/v1/overview", |seen| seen["backlog"]["live"] == 1).await;
    assert_eq!(seen["backlog"]["unfinished"], 1);
    // The series has a value for each ten seconds.
    let seen = wait_for(&world, "/v1/overview", |seen| {
        seen["series"]["unfinished"].as_array().unwrap().ends_with(&[json!(1)])
    })
    .await;
    assert_eq!(seen["series"]["every_seconds"], 10);
    assert!(
        seen["series"]["accepted"].as_array().unwrap().iter().any(|rate| rate.as_f64() > Some(0.0)),
        "{seen}"
    );
}

// guards: 52
#[tokio::test(flavor = "multi_thread")]
async fn calls_to_a_service_that_is_held_open_wait_through_a_restart_and_none_fails() {
    let mut world = World::start().await;
    let held =
        say(&world, "drone", &json!({ "breaker": "open", "note": "new firmware" })).await.expect(200).json();
    assert_eq!(
        (&held["breaker"], &held["by_hand"]["note"], &held["by_hand"]["by"]),
        (&json!("held_open"), &json!("new firmware"), &json!("dev"))
    );
    for n in 0..3 {
        world.post_delivery(&format!("d-{n}")).await.expect(202);
    }
    wait_for(&world, "/v1/services/drone", |seen| seen["waiting"] == 3).await;
    world.restart().await;
    let seen = wait_for(&world, "/v1/services/drone", |seen| seen["waiting"] == 3).await;
    assert_eq!(
        (&seen["breaker"], &seen["by_hand"]["note"], &seen["in_flight"]),
        (&json!("held_open"), &json!("new firmware"), &json!(0))
    );
    for n in 0..3 {
        assert_eq!(world.run(&format!("d-{n}")).await["status"], "running");
        assert!(!world.left_by(&format!("d-{n}")).contains(&Service::Drone), "no call went out");
    }
    let freed = say(&world, "drone-delivery%2Fdrone", &json!({ "breaker": "auto" })).await.expect(200).json();
    assert_eq!((&freed["breaker"], &freed["by_hand"]), (&json!("closed"), &Value::Null));
    for n in 0..3 {
        let run = world.wait(&format!("d-{n}"), "completed").await;
        let drone = run["steps"].as_array().unwrap().iter().find(|step| step["name"] == "drone").unwrap();
        assert_eq!(drone["attempts"], 1, "{run}");
    }
    world.restart().await;
    assert_eq!(world.get("/v1/services/drone").await.expect(200).json()["by_hand"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_occurrence_of_a_job_goes_in_as_it_comes_out() {
    let world = World::start().await;
    world.send(Method::PUT, "/v1/collections/c", &json!({})).await.expect(201);
    let uri = format!("{}/api/accounts/a", world.fleet.url(Service::Account));
    let action = json!({ "type": "http", "request": { "method": "GET", "uri": uri } });
    let job = json!({ "properties": { "action": action } });
    world.send(Method::PUT, "/v1/collections/c/jobs/j", &job).await.expect(201);
    let out = |seen: &Value| seen["rates"]["ended"].as_f64() > Some(0.0);
    let seen = wait_for(&world, "/v1/overview", out).await;
    assert!(seen["rates"]["accepted"].as_f64() > Some(0.0), "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_by_hand_bounds_the_calls_until_it_is_taken_back() {
    let world = World::start().await;
    world.switch(Service::Drone, json!({ "latency_ms": 300 }));
    let seen = say(&world, "drone", &json!({ "limit": 1 })).await.expect(200).json();
    assert_eq!(
        (&seen["limit"], &seen["by_hand"]["limit"], &seen["breaker"]),
        (&json!(1), &json!(1), &json!("closed"))
    );
    for n in 0..4 {
        world.post_delivery(&format!("d-{n}")).await.expect(202);
    }
    let seen = wait_for(&world, "/v1/services/drone", |seen| {
        seen["in_flight"] == 1 && seen["waiting"].as_u64() > Some(0)
    })
    .await;
    assert_eq!(seen["limit"], 1);
    for n in 0..4 {
        world.wait(&format!("d-{n}"), "completed").await;
    }
    let seen = say(&world, "drone", &json!({})).await.expect(200).json();
    assert_eq!(seen["by_hand"], Value::Null);
    // Held closed, a service gets its calls whatever they come to.
    let seen = say(&world, "drone", &json!({ "breaker": "closed" })).await.expect(200).json();
    assert_eq!(seen["breaker"], "held_closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_said_of_a_service_is_refused_by_its_field() {
    let world = World::start().await;
    for (said, named) in [
        (json!({ "breaker": "ajar" }), "breaker: 'ajar' is not auto, open or closed"),
        (json!({ "limit": 0 }), "limit: give 1 to 10000"),
        (json!({ "note": "x".repeat(501) }), "note: at most 500"),
        (json!({ "braker": "open" }), "unknown field `braker`"),
        (json!([1]), "what can be said"),
    ] {
        let (code, text) = say(&world, "drone", &said).await.problem(400);
        assert!(code == "bad_request" && text.contains(named), "{text}");
    }
    let (code, text) = say(&world, "drones", &json!({ "breaker": "open" })).await.problem(404);
    assert!(code == "not_found" && text.contains("did you mean 'drone'?"), "{text}");
    world.get("/v1/services/nobody").await.expect(404);
    // Nothing of it was kept.
    let seen = world.get("/v1/services/drone").await.expect(200).json();
    assert_eq!((&seen["breaker"], &seen["by_hand"]), (&json!("closed"), &Value::Null));
}

// guards: 53
#[tokio::test(flavor = "multi_thread")]
async fn settings_are_shown_without_secrets_and_services_are_not_for_viewers_to_hold() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = Config::dev(directory.path().join("data"), 0);
    config.limits.calls_max = 77;
    for (name, role) in [("ops", "admin"), ("eyes", "viewer")] {
        let secret = Some(format!("{name}-secret-of-16-characters"));
        config.tokens.insert(name.to_owned(), TokenConfig { role: role.to_owned(), sha256: None, secret });
    }
    let running = server::start(config).await.unwrap();
    let ask = async |who: &str, method: Method, path: &str, body: &str| {
        let mut request = request(method, path, body.to_owned());
        let token = format!("Bearer {who}-secret-of-16-characters");
        request.headers_mut().insert("authorization", token.parse().unwrap());
        call(running.address(), request).await
    };
    let admin = ask("ops", Method::GET, "/v1/settings", "").await.expect(200);
    assert!(!admin.text.contains("secret-of-16"), "{}", admin.text);
    let tokens = json!([{ "name": "eyes", "role": "viewer" }, { "name": "ops", "role": "admin" }]);
    assert_eq!(admin.json()["tokens"], tokens);
    let viewer = ask("eyes", Method::GET, "/v1/settings", "").await.expect(200).json();
    assert_eq!(viewer["tokens"], Value::Null);
    let settings = viewer["settings"].as_array().unwrap();
    let calls = settings.iter().find(|setting| setting["key"] == "limits.calls_max").unwrap();
    assert_eq!(
        *calls,
        json!({ "key": "limits.calls_max", "variable": "SORTIE_LIMITS__CALLS_MAX", "value": 77, "changed": true })
    );
    ask("nobody", Method::GET, "/v1/settings", "").await.expect(401);
    ask("eyes", Method::GET, "/v1/overview", "").await.expect(200);
    ask("eyes", Method::PUT, "/v1/services/x", r#"{"breaker":"open"}"#).await.expect(403);
    running.stop().await;
}

/// A form as a browser sends it.
async fn fill_in(world: &World, path: &str, form: &str) -> Answer {
    let mut request = request(Method::POST, path, form.to_owned());
    request.headers_mut().insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    world.call(request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_the_overview_and_holds_a_service_by_its_page() {
    let world = World::start().await;
    world.post_delivery("d-1").await.expect(202);
    world.wait("d-1", "completed").await;
    let overview = world.get("/").await.expect(200).text;
    for text in ["Runs started", "Backlog", "drone-delivery/drone", "4 of 4 running"] {
        assert!(overview.contains(text), "{text} in {overview}");
    }
    let drone =
        world.get("/v1/services/drone").await.expect(200).json()["service"].as_str().unwrap().to_owned();
    let page = format!("/ui/services/{}", drone.replace(':', "%3A").replace('/', "%2F"));
    world.get(&page).await.expect(200);
    let again = fill_in(&world, &page, "breaker=open&limit=many&note=Keep+this").await.expect(422).text;
    assert!(again.contains("limit: ") && again.contains("Keep this"), "{again}");
    let done = fill_in(&world, &page, "breaker=open&limit=&note=new+firmware").await.expect(303);
    assert_eq!(done.headers["location"], "/ui/services");
    let list = world.get("/ui/services").await.expect(200).text;
    assert!(list.contains("paused") && list.contains("new firmware"), "{list}");
    let overview = world.get("/").await.expect(200).text;
    assert!(overview.contains("paused"), "{overview}");
    let settings = world.get("/ui/settings").await.expect(200).text;
    assert!(settings.contains("SORTIE_LIMITS__CALLS_MAX"), "{settings}");
}
