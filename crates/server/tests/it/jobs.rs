//! Jobs through the native API: real targets, real time, a real disk.

use std::path::Path;

use http::Method;
use serde_json::{Value, json};

use crate::jobs_target::{Target, nowhere};
use crate::jobs_world::{Scheduler, retries, ticks};

const COLLECTION: &str = "/v1/collections/c";
const JOB: &str = "/v1/collections/c/jobs/j";
const HISTORY: &str = "/v1/collections/c/jobs/j/history";

fn call(uri: &str, method: &str) -> Value {
    json!({ "type": "Http", "request": { "uri": uri, "method": method } })
}

fn job(action: Value) -> Value {
    json!({ "properties": { "action": action } })
}

/// A server with a collection.
async fn with_collection() -> Scheduler {
    let world = Scheduler::start().await;
    world.put(COLLECTION, &json!({})).await.expect(201);
    world
}

async fn wait_for_state(world: &Scheduler, state: &str) -> Value {
    world.wait(JOB, |job| job["properties"]["state"] == state).await
}

async fn names(world: &Scheduler) -> Vec<String> {
    let page = world.get("/v1/collections/c/jobs").await;
    page["items"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_down_is_tried_again_and_then_the_error_action_runs() {
    let (world, target) = (with_collection().await, Target::start().await);
    let mut action = call(&nowhere().await, "GET");
    action["retryPolicy"] = retries(3);
    action["errorAction"] = call(&target.url("/error"), "POST");
    world.put(JOB, &job(action)).await.expect(201);
    let ended = wait_for_state(&world, "faulted").await;
    let status = &ended["properties"]["status"];
    assert_eq!(
        json!([status["executionCount"], status["failureCount"], status["faultedCount"]]),
        json!([5, 4, 1])
    );
    assert!(status["nextExecutionTime"].is_null(), "{status}");

    let history = world.get(HISTORY).await;
    let items = history["items"].as_array().unwrap();
    let row = |item: &Value| {
        let member = |name: &str| item[name].clone();
        json!(["actionName", "status", "retryCount", "repeatCount"].map(member))
    };
    let rows: Vec<Value> = items.iter().map(row).collect();
    let expected = [
        json!(["ErrorAction", "completed", 0, 1]),
        json!(["MainAction", "failed", 3, 1]),
        json!(["MainAction", "failed", 2, 1]),
        json!(["MainAction", "failed", 1, 1]),
        json!(["MainAction", "failed", 0, 1]),
    ];
    assert_eq!(rows, expected);
    for item in &items[1..] {
        let message = item["message"].as_str().unwrap();
        assert!(message.starts_with("Http Action - Request to host '127.0.0.1' failed: "), "{message}");
    }
    assert!(items[0]["message"].as_str().unwrap().contains("'OK'"), "{}", items[0]);
    for pair in items.windows(2) {
        // One after another, never two at a time.
        assert!(ticks(&pair[0]["startTime"]) >= ticks(&pair[1]["endTime"]), "{history}");
    }
    let calls = target.calls("/error");
    assert_eq!((calls.len(), &calls[0].method), (1, &Method::POST));
    let failed = world.get(&format!("{HISTORY}?status=failed")).await;
    assert_eq!(failed["items"].as_array().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_between_two_attempts_goes_on_after_a_restart() {
    let (mut world, target) = (with_collection().await, Target::start().await);
    target.switch(503);
    let mut action = call(&target.url("/switch"), "GET");
    action["retryPolicy"] = retries(20);
    let created = world.put(JOB, &job(action)).await.expect(201);
    target.wait("/switch", 2).await;
    world.stop().await;
    let before = target.calls("/switch");
    target.switch(200);
    world.restart().await;
    let ended = wait_for_state(&world, "completed").await;
    assert_eq!(ended["id"], created.json()["id"]);
    let calls = target.calls("/switch");
    assert_eq!(calls.len(), before.len() + 1);
    let tags: Vec<_> = calls.iter().map(|call| &call.headers["x-ms-execution-tag"]).collect();
    assert!(tags.iter().all(|tag| *tag == tags[0]), "one occurrence, one tag: {tags:?}");
    let history = world.get(HISTORY).await;
    let items = history["items"].as_array().unwrap();
    let attempts: Vec<u64> = items.iter().map(|item| item["retryCount"].as_u64().unwrap()).collect();
    assert_eq!(attempts, (0..calls.len() as u64).rev().collect::<Vec<_>>());
    assert_eq!((&items[0]["status"], &items[1]["status"]), (&json!("completed"), &json!("failed")));
    assert_eq!(ended["properties"]["status"]["executionCount"], calls.len());
    // What has ended is still there, and is not done again.
    world.restart().await;
    assert_eq!(world.get(JOB).await, ended);
    assert_eq!(world.get(HISTORY).await, history);
    assert_eq!(target.calls("/switch").len(), calls.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_password_is_on_the_disk_and_the_target_gets_the_right_one() {
    let target = Target::start().await;
    let mut world = Scheduler::start_with(host::Clock::start(), 0).await;
    world.put(COLLECTION, &json!({})).await.expect(201);
    let basic = |password: &str| json!({ "type": "Basic", "username": "visible-user", "password": password });
    let mut action = call(&target.url("/500/main"), "POST");
    action["request"]["authentication"] = basic("first-p4ssw0rd");
    action["retryPolicy"] = json!({ "retryType": "None" });
    action["errorAction"] = call(&target.url("/error"), "POST");
    action["errorAction"]["request"]["authentication"] = basic("second-p4ssw0rd");
    let created = world.put(JOB, &job(action)).await.expect(201);
    assert!(!created.text.contains("p4ssw0rd"), "{}", created.text);
    wait_for_state(&world, "faulted").await;
    // base64 of visible-user:first-p4ssw0rd and visible-user:second-p4ssw0rd
    let (first, second) =
        ("dmlzaWJsZS11c2VyOmZpcnN0LXA0c3N3MHJk", "dmlzaWJsZS11c2VyOnNlY29uZC1wNHNzdzByZA==");
    assert_eq!(target.calls("/500/main")[0].headers["authorization"], format!("Basic {first}"));
    assert_eq!(target.calls("/error")[0].headers["authorization"], format!("Basic {second}"));
    for path in [JOB, HISTORY, "/v1/collections/c/export", "/v1/collections/c/jobs"] {
        assert!(!world.get(path).await.to_string().contains("p4ssw0rd"), "{path}");
    }
    let snapshots = world.data().join("snapshots");
    while std::fs::read_dir(&snapshots).map_or(0, |entries| entries.count()) == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    world.stop().await;
    let files = files_below(&world.data());
    for folder in ["journal", "view", "snapshots"] {
        assert!(
            files.iter().any(|(name, _)| name.contains(&format!("/{folder}/"))),
            "no file of the {folder}"
        );
    }
    let holders = |text: &str| {
        let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        files.iter().filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_ne!(holders("visible-user"), [""; 0], "what is not a secret is found");
    for secret in ["p4ssw0rd", first, second, "cDRzc3cwcmQ"] {
        assert_eq!(holders(secret), [""; 0], "{secret}");
    }
}

fn files_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_starts_a_workflow_once_per_occurrence() {
    let (world, target) = (with_collection().await, Target::start().await);
    let step = "{ service: t, method: POST, path: /by-workflow, body: { night: \"${.request.night}\" } }";
    let service = target.url("");
    let source = format!(
        "name: nightly\nservices: {{ t: {{ url: \"{service}\" }} }}\nsteps:\n  tell:\n    call: {step}\n"
    );
    world.apply(&source).await;
    let action = json!({ "type": "Workflow", "workflow": { "name": "nightly", "body": { "night": 7 } } });
    world.put(JOB, &job(action)).await.expect(201);
    let calls = target.wait("/by-workflow", 1).await;
    assert_eq!(serde_json::from_str::<Value>(&calls[0].body).unwrap(), json!({ "night": 7 }));
    wait_for_state(&world, "completed").await;
    let runs =
        world.wait("/v1/runs?workflow=nightly&status=completed", |page| page["items"][0].is_object()).await;
    let [run] = runs["items"].as_array().unwrap().as_slice() else { panic!("{runs}") };
    let history = world.get(HISTORY).await;
    let message = history["items"][0]["message"].as_str().unwrap();
    let id = run["id"].as_str().unwrap();
    assert_eq!(message, format!("Workflow Action - Run '{id}' of workflow 'nightly' started"));
    assert_eq!(target.calls("/by-workflow").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_takes_as_many_jobs_as_its_quota_and_none_that_recur_too_often() {
    let world = Scheduler::start().await;
    let recurrence = json!({ "frequency": "Hour", "interval": 1 });
    let quota = json!({ "maxJobCount": 2, "maxRecurrence": recurrence });
    world.put(COLLECTION, &json!({ "properties": { "quota": quota } })).await.expect(201);
    let mut body = job(call("http://127.0.0.1:9/", "GET"));
    body["properties"]["state"] = "Disabled".into();
    for name in ["a", "b"] {
        world.put(&format!("{COLLECTION}/jobs/{name}"), &body).await.expect(201);
    }
    let (code, text) = world.put(&format!("{COLLECTION}/jobs/third"), &body).await.problem(409);
    assert_eq!(code, "quota");
    assert!(text.contains("quota of 2 jobs"), "{text}");
    // A job that is there already is not one more.
    world.put(&format!("{COLLECTION}/jobs/b"), &body).await.expect(200);
    body["properties"]["recurrence"] = json!({ "frequency": "Minute", "interval": 59 });
    let (code, _) = world.put(&format!("{COLLECTION}/jobs/b"), &body).await.problem(409);
    assert_eq!((code.as_str(), names(&world).await), ("quota", vec!["a".to_owned(), "b".to_owned()]));
    let lower = json!({ "properties": { "quota": { "maxJobCount": 1 } } });
    let (code, _) = world.send(Method::PATCH, COLLECTION, &lower).await.problem(409);
    assert_eq!(code, "quota");
    world.send(Method::DELETE, &format!("{COLLECTION}/jobs/a"), &Value::Null).await.expect(204);
    body["properties"]["recurrence"] = recurrence;
    world.put(&format!("{COLLECTION}/jobs/third"), &body).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_version_that_was_read_is_changed() {
    let world = with_collection().await;
    let mut body = job(call("http://127.0.0.1:9/", "GET"));
    body["properties"]["state"] = "Disabled".into();
    let etag = world.put(JOB, &body).await.expect(201).headers["etag"].to_str().unwrap().to_owned();
    let changed = world.put(JOB, &body).await.expect(200);
    assert_ne!(changed.headers["etag"], etag);
    let old = ("if-match", etag.as_str());
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let (code, _) = world.send_with(method.clone(), JOB, old, &body).await.problem(412);
        assert_eq!(code, "changed", "{method}");
    }
    let (code, _) = world.send_with(Method::PUT, JOB, ("if-none-match", "*"), &body).await.problem(412);
    assert_eq!(code, "exists");
    let current = changed.headers["etag"].to_str().unwrap();
    let patched = world.send_with(Method::PATCH, JOB, ("if-match", current), &body).await.expect(200);
    let current = patched.headers["etag"].to_str().unwrap();
    world.send_with(Method::DELETE, JOB, ("if-match", current), &Value::Null).await.expect(204);
    world.send_with(Method::PUT, JOB, ("if-none-match", "*"), &body).await.expect(201);
    let (code, _) =
        world.send_with(Method::PUT, COLLECTION, ("if-match", "\"9\""), &json!({})).await.problem(412);
    assert_eq!(code, "changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_collection_fires_nothing() {
    let (world, target) = (with_collection().await, Target::start().await);
    world.put("/v1/collections/other", &json!({})).await.expect(201);
    let at = |ms: u64| {
        let time = world.clock.wall() + types::Span::from_ms(ms);
        schedule::Date(time.into()).to_string()
    };
    let (soon, later) = (at(1500), at(2000));
    let mut body = job(call(&target.url("/not-yet"), "GET"));
    body["properties"]["startTime"] = soon.into();
    world.put(JOB, &body).await.expect(201);
    world.send(Method::POST, &format!("{COLLECTION}/disable"), &Value::Null).await.expect(204);
    let mut body = job(call(&target.url("/after"), "GET"));
    body["properties"]["startTime"] = later.into();
    world.put("/v1/collections/other/jobs/after", &body).await.expect(201);
    target.wait("/after", 1).await;
    assert_eq!(target.calls("/not-yet").len(), 0);
    assert_eq!(world.get(JOB).await["properties"]["state"], "disabled");
    assert_eq!(world.get(HISTORY).await["items"], json!([]));
    // Its time has passed: with the collection it is made up for, as any start in the past.
    world.send(Method::POST, &format!("{COLLECTION}/enable"), &Value::Null).await.expect(204);
    wait_for_state(&world, "completed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_without_jobs_prunes_nothing() {
    let world = Scheduler::start().await;
    world.put(COLLECTION, &json!({})).await.expect(201);
    let mut old = job(call("http://127.0.0.1:9/", "GET"));
    old["properties"]["state"] = "Disabled".into();
    world.put(&format!("{COLLECTION}/jobs/old"), &old).await.expect(201);
    let prune = format!("{COLLECTION}/import?prune=true");
    let (_, text) = world.send(Method::POST, &prune, &Value::Null).await.problem(400);
    assert!(text.contains("the body is missing"), "{text}");
    let (_, text) = world.send(Method::POST, &prune, &json!({ "collection": {} })).await.problem(400);
    assert!(text.contains("jobs: required to prune"), "{text}");
    assert_eq!(names(&world).await, ["old"]);
    world.send(Method::POST, &prune, &json!({ "jobs": [] })).await.expect(200);
    assert_eq!(names(&world).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_is_not_understood_changes_nothing() {
    let world = Scheduler::start().await;
    for (name, value) in [("if-none-match", "\"3\""), ("if-match", "+1"), ("if-match", "\"abc\"")] {
        let put = world.send_with(Method::PUT, COLLECTION, (name, value), &json!({})).await;
        let (_, text) = put.problem(400);
        assert!(text.to_lowercase().contains(name), "{text}");
    }
    world.send(Method::GET, COLLECTION, &Value::Null).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_made_whole_or_not_at_all() {
    let world = Scheduler::start().await;
    let quota = json!({ "properties": { "quota": { "maxJobCount": 3 } } });
    world.put(COLLECTION, &quota).await.expect(201);
    let named = |name: &str, uri: &str| {
        let mut job = job(call(uri, "GET"));
        job["name"] = name.into();
        job["properties"]["state"] = "Disabled".into();
        job
    };
    let good = |name: &str| named(name, "http://127.0.0.1:9/");
    world.put(&format!("{COLLECTION}/jobs/old"), &good("old")).await.expect(201);
    let import = format!("{COLLECTION}/import");
    let (_, text) = world
        .send(Method::POST, &import, &json!({ "jobs": [good("a"), named("b", "no uri")] }))
        .await
        .problem(400);
    assert!(text.contains("jobs[1] 'b'") && text.contains("uri"), "{text}");
    // Each is well, but there are too many of them: that shows only when they are written.
    let many = json!({ "jobs": [good("a"), good("b"), good("c")] });
    let (code, _) = world.send(Method::POST, &import, &many).await.problem(409);
    assert_eq!((code.as_str(), names(&world).await), ("quota", vec!["old".to_owned()]));
    assert_eq!(world.get(COLLECTION).await["jobs"], 1);

    let dry = world.send(Method::POST, &format!("{import}?dry_run=true&prune=true"), &many).await.expect(200);
    assert_eq!(names(&world).await, ["old"]);
    let done = world.send(Method::POST, &format!("{import}?prune=true"), &many).await.expect(200);
    assert_eq!(dry.json(), done.json());
    assert_eq!(names(&world).await, ["a", "b", "c"]);
    let exported = world.get(&format!("{COLLECTION}/export")).await;
    let again = world.send(Method::POST, &import, &exported).await.expect(200).json();
    let changes = again["jobs"].as_array().unwrap().iter().map(|job| &job["change"]);
    assert!(changes.chain([&again["collection"]]).all(|change| change == "unchanged"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_deleted_while_it_runs_stays_deleted() {
    let (mut world, target) = (with_collection().await, Target::start().await);
    let mut action = call(&target.url("/held"), "GET");
    action["retryPolicy"] = retries(3);
    let mut body = job(action);
    body["properties"]["recurrence"] = json!({ "frequency": "Hour", "interval": 1 });
    world.put(JOB, &body).await.expect(201);
    target.wait("/held", 1).await;
    world.send(Method::DELETE, JOB, &Value::Null).await.expect(204);
    let (code, _) = world.send(Method::GET, JOB, &Value::Null).await.problem(404);
    assert_eq!((code.as_str(), names(&world).await.len()), ("unknown_job", 0));
    let (code, _) = world.send(Method::GET, HISTORY, &Value::Null).await.problem(404);
    assert_eq!(code, "unknown_job");
    // The same name is another job: it has no past, and what the one before still does is not counted as its own.
    body["properties"]["action"]["request"]["uri"] = target.url("/new").into();
    world.put(JOB, &body).await.expect(201);
    world.wait(HISTORY, |page| page["items"][0].is_object()).await;
    target.let_go();
    world.restart().await;
    let history = world.get(HISTORY).await;
    assert_eq!(history["items"].as_array().unwrap().len(), 1, "{history}");
    assert_eq!(history["items"][0]["repeatCount"], 1);
    assert_eq!(world.get(JOB).await["properties"]["status"]["executionCount"], 1);
    assert_eq!((target.calls("/held").len(), target.calls("/new").len()), (1, 1));
    world.send(Method::DELETE, COLLECTION, &Value::Null).await.expect(204);
    let (code, _) = world.send(Method::GET, JOB, &Value::Null).await.problem(404);
    assert_eq!(code, "unknown_collection");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_looks_while_occurrences_end_sees_each_once_and_none_lost() {
    let (world, target) = (with_collection().await, Target::start().await);
    let mut body = job(call(&target.url("/slow"), "GET"));
    let later = world.clock.wall() + types::Span::from_secs(24 * 3600);
    body["properties"]["startTime"] = schedule::Date(later.into()).to_string().into();
    world.put(JOB, &body).await.expect(201);
    let run = async {
        for _ in 0..60 {
            // One that is still under way keeps the next from being fired.
            while world.send(Method::POST, &format!("{JOB}/run"), &Value::Null).await.status != 202 {}
        }
    };
    let look = async {
        let (mut executions, mut records) = (0, 0);
        while records < 60 {
            for path in [JOB, "/v1/collections/c/jobs"] {
                let seen = world.get(path).await;
                let job = if path == JOB { &seen } else { &seen["items"][0] };
                let now = job["properties"]["status"]["executionCount"].as_u64().unwrap();
                assert!(now >= executions, "{path} shows {now} executions after {executions}");
                executions = now;
            }
            let history = world.get(&format!("{HISTORY}?limit=1000")).await;
            let runs = history["items"].as_array().unwrap().iter().map(|item| item["run"].as_str().unwrap());
            let distinct = runs.collect::<std::collections::BTreeSet<_>>().len();
            assert_eq!(distinct, history["items"].as_array().unwrap().len(), "a record is there twice");
            assert!(distinct >= records, "{distinct} records after {records}");
            records = distinct;
        }
    };
    tokio::join!(run, look);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_is_read_in_several_parts_is_whole() {
    const RUNS: usize = 210;
    let (world, target) = (with_collection().await, Target::start().await);
    let mut document = job(call(&target.url("/often"), "GET"));
    document["properties"]["overlap"] = "allow".into();
    document["properties"]["recurrence"] = json!({ "cron": "0 0 1 1 *" });
    world.put(JOB, &document).await.expect(201);
    for _ in 0..RUNS {
        world.send(Method::POST, &format!("{JOB}/run"), &Value::Null).await.expect(202);
    }
    let all = format!("{HISTORY}?limit=1000");
    let history = world.wait(&all, |page| page["items"].as_array().unwrap().len() == RUNS).await;
    let mut numbers: Vec<u64> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["repeatCount"].as_u64().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=RUNS as u64).collect::<Vec<_>>());
}
