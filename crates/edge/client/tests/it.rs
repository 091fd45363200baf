//! The client against a real server with the drone services around it, and against servers that misbehave.

#![allow(clippy::unwrap_used)]

#[path = "../examples/first_run.rs"]
#[expect(dead_code, reason = "its main is for cargo run")]
mod first_run;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use client::{DecisionKind, DecisionRequest, Error, Retries, RunQuery, RunStatus, Sortie, Span};
use drone_delivery::{Fleet, Settings, workflows};
use serde_json::{Value, json};
use server::{Config, Running};

const LONG: Duration = Duration::from_secs(60);

/// A server with the drone services around it; all ends with it.
struct World {
    running: Running,
    fleet: Fleet,
    directory: tempfile::TempDir,
    url: String,
}

impl World {
    async fn start() -> World {
        let directory = tempfile::tempdir().unwrap();
        let fleet = Fleet::start(Settings::on_any_ports()).await.unwrap();
        let running = server::start(Config::dev(directory.path().join("server"), 0)).await.unwrap();
        for source in workflows::ready(&fleet.addresses()) {
            running.apply(&source).await.unwrap();
        }
        let url = format!("http://{}", running.address());
        World { running, fleet, directory, url }
    }

    fn sortie(&self) -> Sortie {
        Sortie::connect(&self.url).unwrap()
    }

    async fn stop(self) {
        self.running.stop().await;
        self.fleet.stop().await;
        drop(self.directory);
    }
}

fn delivery(id: &str) -> Value {
    json!({
        "deliveryId": id, "ownerId": "ann", "pickupLocation": "a", "dropOffLocation": "b",
        "pickupTime": "2030-05-08T20:00:00.000Z", "deadline": "", "expedited": true,
        "confirmationRequired": "None",
        "packageInfo": { "packageId": "p", "size": "Small", "weight": 10, "tag": "t" },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_delivers() {
    let world = World::start().await;
    first_run::deliver(&world.url).await.unwrap();
    let run = world.sortie().run("delivery-rust").await.unwrap();
    assert_eq!(run.summary.status, RunStatus::Completed);
    assert_eq!(world.sortie().queue("delivered-rust").await.unwrap().counts.ready, 0);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_started_once_listed_in_pages_and_refused_with_a_code() {
    let world = World::start().await;
    let sortie = world.sortie();
    for number in 0..205 {
        let id = format!("d-{number}");
        let run = sortie.start("drone-delivery", &delivery(&id)).id(&id).send().await.unwrap();
        assert_eq!(run.id, id);
    }
    let again = sortie.start("drone-delivery", &delivery("d-7")).id("d-7").send().await.unwrap();
    assert_eq!(again.id, "d-7");
    let other = sortie.start("drone-delivery", &json!({ "deliveryId": "d-7" })).id("d-7").send().await;
    assert!(other.is_err());
    for number in 0..205 {
        let ended = sortie.wait(&format!("d-{number}"), LONG).await.unwrap();
        assert_eq!(ended.summary.status, RunStatus::Completed);
    }
    let mut runs =
        sortie.runs(&RunQuery { workflow: Some("drone-delivery".to_owned()), ..RunQuery::default() });
    let mut seen = std::collections::BTreeSet::new();
    while let Some(run) = runs.next().await.unwrap() {
        assert!(seen.insert(run.id));
    }
    assert_eq!(seen.len(), 205, "more than one page");
    let missing = sortie.run("nobody").await.unwrap_err();
    assert_eq!(missing.code(), Some("not_found"), "{missing}");
    let cancelled = sortie.cancel("d-7").await.unwrap_err();
    assert!(matches!(cancelled, Error::Problem(problem) if problem.status == 409));
    let decision = DecisionRequest {
        decision: DecisionKind::GiveUp,
        step: None,
        output: None,
        action: None,
        note: "no".to_owned(),
    };
    assert!(
        matches!(sortie.decide("d-7", &decision).await, Err(Error::Problem(problem)) if problem.status == 409)
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workflows_and_jobs_are_kept() {
    let world = World::start().await;
    let sortie = world.sortie();
    assert!(sortie.workflows().await.unwrap().iter().any(|workflow| workflow.name == "drone-delivery"));
    let source = sortie.workflow("drone-delivery").await.unwrap().source.unwrap();
    assert!(!sortie.apply(&source).await.unwrap().changed);
    let wrong = sortie.apply("name: x\nsteps: 5\n").await.unwrap_err();
    assert!(matches!(wrong, Error::Problem(problem) if !problem.errors.is_empty()));
    sortie.put_collection("ops", &json!({})).await.unwrap();
    let job = json!({ "properties": {
        "action": { "type": "Workflow", "workflow": { "name": "drone-delivery", "body": delivery("by-job") } },
        "recurrence": { "cron": "0 3 * * *" } } });
    sortie.put_job("ops", "nightly", &job).await.unwrap();
    assert_eq!(sortie.job("ops", "nightly").await.unwrap()["collection"], "ops");
    assert_eq!(sortie.jobs("ops").await.unwrap().len(), 1);
    let fired = sortie.fire_job("ops", "nightly").await.unwrap();
    assert_eq!(sortie.wait(&fired, LONG).await.unwrap().summary.status, RunStatus::Completed);
    sortie.delete_job("ops", "nightly").await.unwrap();
    sortie.delete_workflow("drone-reschedule").await.unwrap();
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_received_under_a_lock_and_settled() {
    let world = World::start().await;
    let sortie = world.sortie();
    sortie.put_queue("orders", &json!({ "deliveries_max": 5 })).await.unwrap();
    for _ in 0..2 {
        let message = sortie.message("orders", [0, 255]).id("m-1").label("paid").property("country", "NO");
        message.content_type("x/y").send().await.unwrap();
    }
    let receive = || async { sortie.receive("orders").max(10).wait(LONG).send().await.unwrap() };
    let [message] = <[_; 1]>::try_from(receive().await).unwrap();
    assert_eq!((message.body.as_ref(), message.broker.message_id.as_str()), ([0, 255].as_slice(), "m-1"));
    assert_eq!(message.broker.sent.label.as_deref(), Some("paid"));
    assert_eq!(message.broker.sent.content_type.as_deref(), Some("x/y"));
    assert_eq!(message.properties["country"], "NO");
    message.renew().await.unwrap();
    assert!(sortie.receive("orders").send().await.unwrap().is_empty(), "it is with its consumer");
    message.abandon().await.unwrap();
    let [message] = <[_; 1]>::try_from(receive().await).unwrap();
    assert_eq!(message.broker.delivery_count, 2);
    message.dead_letter("no such customer", "").await.unwrap();
    assert_eq!(sortie.queue("orders").await.unwrap().counts.dead, 1);

    sortie.message("orders", "text").send().await.unwrap();
    let short = sortie.receive("orders").wait(LONG).lock(Span::from_secs(60)).send().await.unwrap();
    let [message] = <[_; 1]>::try_from(short).unwrap();
    message.complete().await.unwrap();
    assert_eq!(sortie.queue("orders").await.unwrap().counts.locked, 0);
    sortie.delete_queue("orders").await.unwrap();
    let gone = sortie.queue("orders").await.unwrap_err();
    assert_eq!(gone.code(), Some("unknown_queue"), "{gone}");
    world.stop().await;
}

/// A server that gives these answers, one per connection, and then the requests that it has read.
fn scripted(answers: Vec<&'static str>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let one = |answer: &str| {
            let (mut stream, _) = listener.accept().unwrap();
            let request = read_request(&mut stream);
            stream.write_all(answer.as_bytes()).unwrap();
            request
        };
        answers.into_iter().map(one).collect()
    });
    (url, served)
}

/// A request up to the end of its body, which has a length or is not there.
fn read_request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).unwrap();
        text += &String::from_utf8_lossy(&buffer[..count]);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if count == 0 || body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return text;
        }
    }
}

const BUSY: &str =
    "HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
/// Refused before anything was done, as the server says it.
const FULL: &str = concat!(
    "HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 107\r\nconnection: close\r\n\r\n",
    r#"{"type":"/docs/errors#backlog_full","title":"Too many","status":429,"code":"backlog_full","detail":"later"}"#
);
const TAKEN: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 30\r\nconnection: close\r\n\r\n\
                     {\"id\":\"a\",\"status\":\"accepted\"}";

fn keys(requests: &[String]) -> Vec<&str> {
    requests
        .iter()
        .map(|request| request.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap())
        .collect()
}

// guards: 58
#[tokio::test]
async fn a_busy_server_and_a_lost_answer_are_tried_again_under_the_same_key() {
    // The second connection is closed without a word.
    let (url, served) = scripted(vec![BUSY, "", TAKEN]);
    let sortie = Sortie::connect(&url).unwrap();
    let run = sortie.start("notify", &json!({})).send().await.unwrap();
    assert_eq!(run.id, "a");
    let requests = served.join().unwrap();
    let keys = keys(&requests);
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0] && key.len() == 32), "{keys:?}");
}

// guards: 58
#[tokio::test]
async fn what_may_have_been_done_is_not_done_again() {
    let (url, served) = scripted(vec![FULL, ""]);
    let sortie = Sortie::connect(&url).unwrap();
    let lost = sortie.cancel("a").await.unwrap_err();
    assert!(matches!(lost, Error::Unreachable { sent: true, .. }), "{lost:?}");
    assert_eq!(served.join().unwrap().len(), 2, "after a refusal it is asked for again, after silence not");
    let (url, served) = scripted(vec![BUSY]);
    let refused = Sortie::connect(&url).unwrap().cancel("a").await.unwrap_err();
    assert!(matches!(refused, Error::Problem(_)), "{refused:?}");
    assert_eq!(served.join().unwrap().len(), 1, "who says no for no reason that is known may have done it");
}

#[tokio::test]
async fn retries_end_and_nobody_there_is_unreachable() {
    let (url, served) = scripted(vec![BUSY, BUSY]);
    let few = Retries { attempts_max: 2, patience: LONG };
    let refused = Sortie::connect(&url).unwrap().retries(few).run("a").await.unwrap_err();
    assert!(matches!(refused, Error::Problem(problem) if problem.status == 429));
    served.join().unwrap();
    let nobody = Sortie::connect(&url).unwrap().retries(Retries::NONE).run("a").await.unwrap_err();
    assert!(matches!(nobody, Error::Unreachable { sent: false, .. }), "{nobody:?}");
}

#[test]
fn the_documents_show_the_examples_as_they_are() {
    let document = include_str!("../../../../docs/reference/clients.md");
    for (language, example) in [
        ("rust", include_str!("../examples/first_run.rs")),
        ("python", include_str!("../../../../clients/python/examples/first_run.py")),
        ("ts", include_str!("../../../../clients/typescript/examples/first-run.ts")),
    ] {
        let block = format!("```{language}\n{example}```\n");
        assert!(document.contains(&block), "docs/reference/clients.md shows another {language}");
    }
}
