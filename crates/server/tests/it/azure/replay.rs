//! Recorded requests, sent at the time they were recorded at; the answers are those that were recorded.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};
use types::{Span, Ticks};

use super::recording::{Recording, differences, shape};
use crate::client::Answer;
use crate::jobs_world::{Scheduler, ticks};

/// Recordings of what jobs did: `runs` brings them about.
const OF_RUNS: [u32; 3] = [12, 22, 23];

const NEXT: &str = "/properties/status/nextExecutionTime";

/// Where a recorded next execution is "at once": 20 s after the job was written. Recording, step, and the job's place.
const AT_ONCE: [(u32, usize, &str); 4] = [(11, 1, ""), (11, 4, "/value/0"), (17, 0, ""), (18, 0, "")];
const AT_ONCE_AFTER: Span = Span::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_request_is_answered_as_it_was() {
    for recording in Recording::all() {
        if !OF_RUNS.contains(&recording.number) {
            Replay::new(&recording).await.run().await;
        }
    }
}

struct Replay<'a> {
    recording: &'a Recording,
    world: Scheduler,
    /// Between which times each job was written, by its id.
    written: BTreeMap<String, (Ticks, Ticks)>,
    /// The answers so far.
    answers: Vec<Value>,
}

impl Replay<'_> {
    async fn new(recording: &Recording) -> Replay<'_> {
        let world = Scheduler::start_at(recording.now).await;
        Replay { recording, world, written: BTreeMap::new(), answers: Vec::new() }
    }

    async fn run(mut self) {
        let number = self.recording.number;
        let mut compared = 0;
        for (index, step) in self.recording.steps.iter().enumerate() {
            for (method, path, body) in presupposed(number, index) {
                let answer = self.world.send(method, &path, &body).await;
                assert!(answer.status.is_success(), "{}", answer.text);
            }
            self.step(index, step.clone()).await;
            compared += 1;
        }
        self.recording.finish(compared);
        self.world.stop().await;
    }

    async fn step(&mut self, index: usize, mut step: Value) {
        let number = self.recording.number;
        let what = format!("{}, step {index}", self.recording.name);
        if number == 7 {
            fill_in_certificate(&mut step);
        }
        let method: Method = step["request"]["method"].as_str().unwrap().parse().unwrap();
        let path = step["request"]["path"].as_str().unwrap();
        let before = Ticks::from(self.world.clock.wall());
        let answer = self.world.send(method, path, &step["request"]["body"]).await;
        let after = Ticks::from(self.world.clock.wall());
        let recorded = &mut step["response"];
        assert_eq!(answer.status.as_u16(), recorded["status"], "{what}: {}", answer.text);
        check_headers(recorded, &answer, &what);
        let mut answered = if answer.text.is_empty() { Value::Null } else { answer.json() };
        if let (Some(id), true) = (answered["id"].as_str(), recorded["status"] == 201) {
            self.written.insert(id.to_owned(), (before, after));
        }
        let recorded = &mut recorded["body"];
        self.settle(index, recorded, &mut answered, &what);
        assert_eq!(differences(recorded, &answered), [""; 0], "{what}");
        self.answers.push(answered);
    }

    /// Compares what cannot be equal by the rule that it follows, and makes it equal then.
    fn settle(&self, index: usize, recorded: &mut Value, answered: &mut Value, what: &str) {
        let number = self.recording.number;
        for (_, _, job) in AT_ONCE.iter().filter(|at| (at.0, at.1) == (number, index)) {
            let id = answered.pointer(&format!("{job}/id")).and_then(Value::as_str).unwrap();
            let (before, after) = self.written[id];
            let next = answered.pointer_mut(&format!("{job}{NEXT}")).unwrap();
            let was = recorded.pointer(&format!("{job}{NEXT}")).unwrap();
            let now = Ticks::from(self.recording.now);
            let about = now + AT_ONCE_AFTER..now + AT_ONCE_AFTER + Span::from_secs(1);
            assert!(about.contains(&ticks(was)), "{what}: {was} was recorded at {now:?}");
            let exact = before + AT_ONCE_AFTER..=after + AT_ONCE_AFTER;
            assert!(exact.contains(&ticks(next)), "{what}: {next} is not 20 s after {before:?} to {after:?}");
            *next = was.clone();
        }
        match (number, index) {
            (7, 1) => settle_certificate(recorded, answered),
            // Azure said only "Malformed Job Object", which people complained of. Sortie names the member.
            (16, 0) => {
                assert_eq!(recorded["error"]["message"], "Malformed Job Object");
                let message = answered["error"]["message"].take();
                assert!(message.as_str().unwrap().starts_with("properties: "), "{message}");
                answered["error"]["message"] = recorded["error"]["message"].clone();
            }
            // Recorded in words alone: the list is made of jobs as they were answered one by one.
            (21, 1) => {
                assert_eq!(*recorded, json!("JSON array of such job objects"));
                *recorded = json!([self.answers[0]]);
            }
            _ => {}
        }
    }
}

/// What a recording takes for granted before a step.
fn presupposed(number: u32, step: usize) -> Vec<(Method, String, Value)> {
    let collection = |group: &str, name: &str, location: &str, sku: &str, jobs: u32| {
        let quota = json!({ "maxJobCount": jobs, "maxRecurrence": { "frequency": "Minute", "interval": 1 } });
        let body = json!({ "location": location, "properties": { "sku": { "name": sku }, "quota": quota } });
        (Method::PUT, collection_path(group, name), body)
    };
    let standard = |group, name| collection(group, name, "South Central US", "Standard", 50);
    let of_powershell = "CreateJobCollectionWithStandardPlan";
    match (number, step) {
        (15 | 17 | 18, 0) => vec![standard("rg1", of_powershell)],
        (15, 1) => vec![(Method::DELETE, collection_path("rg1", of_powershell), Value::Null)],
        (16, 0) => vec![standard("rg1", "jc")],
        (19, 0) => vec![
            standard("newCU15RG", "newCU15JC"),
            collection("newCU15RG", "newResourceNameForJC", "westus", "P20Premium", 1000),
        ],
        (21, 0) => vec![standard("cloud_service_x", "job_collection_x")],
        _ => Vec::new(),
    }
}

fn collection_path(group: &str, name: &str) -> String {
    let subscription = "/subscriptions/00000000-0000-0000-0000-000000000000";
    let provider = "providers/Microsoft.Scheduler/jobCollections";
    format!("{subscription}/resourceGroups/{group}/{provider}/{name}?api-version=2016-03-01")
}

/// Recorded headers are answered, but for those that count what was left of a budget on that day.
fn check_headers(recorded: &Value, answer: &Answer, what: &str) {
    let headers = recorded["headers"].as_object().into_iter().flatten();
    for (name, value) in headers.filter(|(name, _)| !name.starts_with("x-ms-ratelimit-")) {
        let answered = answer.headers.get(name).and_then(|value| value.to_str().ok());
        assert_eq!(answered, value.as_str(), "{what}: {name}");
    }
}

/// The recording holds no certificate file, so that a real one takes the place of its words.
fn fill_in_certificate(step: &mut Value) {
    const AUTHENTICATION: &str = "/request/body/properties/action/request/authentication";
    let Some(authentication) = step.pointer_mut(AUTHENTICATION) else { return };
    assert_eq!(authentication["pfx"], "<base64 pfx redacted>");
    authentication["pfx"] = base64(include_bytes!("../../../../storage/vault/tests/data/modern.pfx")).into();
    authentication["password"] = "correct horse".into();
}

/// The facts of another certificate look alike.
fn settle_certificate(recorded: &Value, answered: &mut Value) {
    const AUTHENTICATION: &str = "/properties/action/request/authentication";
    let recorded = recorded.pointer(AUTHENTICATION).unwrap();
    let answered = answered.pointer_mut(AUTHENTICATION).unwrap();
    assert_eq!(shape(recorded), shape(answered));
    let thumbprint = answered["certificateThumbprint"].as_str().unwrap();
    let is_upper_hex = |c: char| c.is_ascii_digit() || ('A'..='F').contains(&c);
    assert!(thumbprint.len() == 40 && thumbprint.chars().all(is_upper_hex), "{thumbprint}");
    assert!(ticks(&answered["certificateExpiration"]) > Ticks(0));
    assert!(answered["certificateSubjectName"].as_str().unwrap().contains("CN="), "{answered}");
    assert_eq!(answered["type"], recorded["type"]);
    *answered = recorded.clone();
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |chunk: &[u8]| {
        let bits =
            chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let digit = |place: usize| DIGITS[(bits >> (18 - 6 * place)) as usize & 63] as char;
        (0..4).map(move |place| if place <= chunk.len() { digit(place) } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(encode).collect()
}
