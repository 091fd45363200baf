//! What Azure Scheduler was recorded to answer, and what these documents answer: the same text.

use std::collections::BTreeMap;
use std::convert::Infallible;

use schedule::{
    ActionName, CertificateFacts, CollectionDocument, CollectionState, Date, Dialect, FrontEnd,
    HistoryRecord, HistoryStatus, JobDocument, JobStatus, Limits, Problems, Resource, ResourcePage, Scope,
    history_id, parse_history_id, read_collection, read_job, read_job_patch,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use types::{JobState, Ticks, Timestamp};

#[derive(Deserialize)]
struct Recording {
    #[serde(rename = "_meta")]
    meta: Value,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    request: Option<Request>,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    path: String,
    #[serde(default)]
    body: Value,
}

#[derive(Deserialize)]
struct Response {
    body: Box<RawValue>,
}

/// Plays a recording against documents and compares every answer with a body.
#[derive(Default)]
struct Player {
    now: Timestamp,
    collections: BTreeMap<String, CollectionDocument>,
    jobs: BTreeMap<String, JobDocument>,
    compared: usize,
}

#[test]
fn every_recorded_answer_is_given_again_to_the_letter() {
    for (file, answers) in [
        ("01_job_schedule_day", 2),
        ("02_job_schedule_week", 2),
        ("03_job_schedule_month_monthDays", 2),
        ("04_job_schedule_month_monthlyOccurrences", 2),
        ("05_job_http_create_replace", 3),
        ("06_job_http_auth_basic", 3),
        ("07_job_http_auth_clientcert", 3),
        ("08_job_http_auth_oauth", 3),
        ("09_job_servicebus_queue_erroraction_topic", 2),
        ("10_job_patch_deep_merge", 3),
        ("11_job_list_filter_top", 5),
        ("13_jobcollection_create_disable_enable", 4),
        ("14_free_collection_and_disabled_job", 2),
        ("17_job_once_then_patches", 4),
        ("18_job_once_with_http_erroraction", 1),
    ] {
        let recording = read(file);
        let now = recording.meta["now"].as_str().map_or(Ticks(0), |now| now.parse::<Date>().expect(file).0);
        let mut player = Player { now: now.floor(), ..Player::default() };
        for (n, step) in recording.steps.iter().enumerate() {
            let (Some(request), Some(response)) = (&step.request, &step.response) else { continue };
            player.play(request, response, &format!("{file}, step {n}"));
        }
        assert_eq!(player.compared, answers, "{file}");
    }
}

fn read(file: &str) -> Recording {
    let path = format!("{}/../../../testdata/azure-scheduler/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    serde_json::from_str(&text).expect(file)
}

impl Player {
    fn play(&mut self, request: &Request, response: &Response, place: &str) {
        let (path, query) = request.path.split_once('?').expect(place);
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let [_, subscription, _, resource_group, _, _, _, collection, rest @ ..] = &parts[..] else {
            panic!("{place}: {path}")
        };
        let scope = Scope { subscription, resource_group };
        let recorded: Value = serde_json::from_str(response.body.get()).expect(place);
        let answer = match (request.method.as_str(), rest) {
            ("PUT", []) => {
                let document = read_collection(&request.body, FrontEnd::Azure).expect(place);
                let document = CollectionDocument::from_stored(&document.stored()).expect(place);
                self.collections.insert((*collection).to_owned(), document);
                self.collection(scope, collection)
            }
            ("GET", []) => self.collection(scope, collection),
            ("POST", ["enable"]) => return self.switch(collection, CollectionState::Enabled),
            ("POST", ["disable"]) => return self.switch(collection, CollectionState::Disabled),
            ("PUT" | "PATCH", ["jobs", job]) => {
                self.write_job(request, job, &recorded, place);
                text(&self.job(scope, collection, job, &recorded))
            }
            ("GET", ["jobs"]) => {
                let jobs = recorded["value"].as_array().expect(place);
                let filter = query.split('&').find_map(|pair| pair.strip_prefix("$filter=")).expect(place);
                let state = schedule::parse_job_filter(&filter.replace("%20", " ")).expect(place);
                let name = |job: &Value| {
                    job["name"].as_str().and_then(|name| name.split('/').nth(1)).map(str::to_owned)
                };
                let value = jobs.iter().map(|job| self.job(scope, collection, &name(job).expect(place), job));
                assert!(jobs.iter().all(|job| job["properties"]["state"] == state.to_string()), "{place}");
                text(&ResourcePage { value: value.collect(), next_link: None })
            }
            ("DELETE", _) => return,
            other => panic!("{place}: {other:?}"),
        };
        assert_eq!(answer, squeeze(response.body.get()), "{place}");
        assert!(!answer.contains("redacted"), "{place}: {answer}");
        self.compared += 1;
    }

    fn collection(&self, scope: Scope, name: &str) -> String {
        text(&scope.collection(name, &self.collections[name]))
    }

    fn switch(&mut self, name: &str, state: CollectionState) {
        let document = self.collections[name].with_state(state);
        self.collections.insert(name.to_owned(), document);
    }

    fn write_job(&mut self, request: &Request, name: &str, recorded: &Value, place: &str) {
        let facts = |_: &str, _: &str, _: &str| {
            let facts = recorded["properties"]["action"]["request"]["authentication"].clone();
            serde_json::from_value::<CertificateFacts>(facts)
        };
        let limits = Limits::default();
        let document = if request.method == "PUT" {
            let mut document = read_job(&request.body, &limits, self.now).expect(place);
            document.fill_certificates(facts).expect(place);
            document.visit_secrets(seal).expect(place);
            document
        } else {
            let mut patch = read_job_patch(&request.body).expect(place);
            patch.fill_certificates(facts).expect(place);
            patch.visit_secrets(seal).expect(place);
            self.jobs[name].patched(&patch, &limits, self.now).expect(place)
        };
        let stored = JobDocument::from_stored(&document.stored()).expect(place);
        assert_eq!(stored, document, "{place}");
        self.jobs.insert(name.to_owned(), stored);
    }

    fn job(
        &self,
        scope: Scope,
        collection: &str,
        name: &str,
        recorded: &Value,
    ) -> Resource<schedule::JobView> {
        let status = status(&recorded["properties"]);
        scope.job(collection, name, self.jobs[name].render(&status, Dialect::default()))
    }
}

fn seal(_: &str, secret: &mut String) -> Result<(), Infallible> {
    assert!(!secret.starts_with("sealed"), "sealed once");
    *secret = format!("sealed {secret}");
    Ok(())
}

/// Times are the kernel's matter: they are taken from the recording.
fn status(properties: &Value) -> JobStatus {
    let state = if properties["state"] == "enabled" { JobState::Enabled } else { JobState::Disabled };
    let next = properties["status"]["nextExecutionTime"]
        .as_str()
        .map(|date| date.parse::<Date>().expect("a date").0);
    JobStatus::new(state, next)
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

/// The same JSON without white space between its tokens, members in their order.
fn squeeze(json: &str) -> String {
    let mut squeezed = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in json.chars() {
        if quoted || !c.is_whitespace() {
            squeezed.push(c);
        }
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
    }
    squeezed
}

#[test]
fn recorded_history_is_shown_again_to_the_letter() {
    let recording = read("12_job_history_list");
    let response = recording.steps[0].response.as_ref().expect("an answer");
    let recorded: Value = serde_json::from_str(response.body.get()).expect("JSON");
    let scope = Scope {
        subscription: "00000000-0000-0000-0000-000000000000",
        resource_group: "CS-SouthCentralUS-scheduler",
    };
    let record = |entry: &Value| {
        let properties = &entry["properties"];
        let date = |name: &str| properties[name].as_str().expect(name).parse::<Date>().expect(name).0;
        let record = HistoryRecord {
            start: date("startTime"),
            end: Some(date("endTime")),
            expected: date("expectedExecutionTime"),
            status: HistoryStatus::Completed,
            message: properties["message"].as_str().expect("a message").to_owned(),
            retry_count: 0,
            repeat_count: properties["repeatCount"].as_u64().expect("a count"),
            action: ActionName::Main,
        };
        let id = entry["id"].as_str().and_then(|id| id.rsplit('/').next()).expect("an id");
        let (start, counter) = parse_history_id(id).expect("an id of history");
        assert_eq!((start, history_id(start, counter)), (record.start, id.to_owned()));
        scope.history("sdk-test", "http_job", id, record.render(Dialect::default()))
    };
    let value: Vec<_> = recorded["value"].as_array().expect("a list").iter().map(record).collect();
    assert!(value.len() > 1);
    assert_eq!(text(&ResourcePage { value, next_link: None }), squeeze(response.body.get()));
}

#[test]
fn a_failed_attempt_says_so_and_a_completed_one_only_in_the_native_dialect() {
    let mut record = HistoryRecord {
        start: Ticks(0),
        end: None,
        expected: Ticks(0),
        status: HistoryStatus::Failed,
        message: "refused".to_owned(),
        retry_count: 2,
        repeat_count: 1,
        action: ActionName::Error,
    };
    assert_eq!(
        text(&record.render(Dialect::default())),
        r#"{"startTime":"1970-01-01T00:00:00Z","expectedExecutionTime":"1970-01-01T00:00:00Z","status":"failed","message":"refused","retryCount":2,"repeatCount":1,"actionName":"ErrorAction"}"#
    );
    record.status = HistoryStatus::Completed;
    assert!(!text(&record.render(Dialect::default())).contains("status"));
    let native = Dialect { native: true, ..Dialect::default() };
    assert!(text(&record.render(native)).contains(r#""status":"completed""#));
}

#[test]
fn the_documented_status_after_failures_is_shown_in_order() {
    let body = serde_json::json!({"properties": {"action": {"type": "http", "request": {"uri": "http://a.test", "method": "GET"}}}});
    let document = read_job(&body, &Limits::default(), Timestamp(0)).expect("a job");
    let date = |text: &str| Some(text.parse::<Date>().expect("a date").0);
    let status = JobStatus {
        last_execution: date("2016-03-16T19:10:00.3762123Z"),
        next_execution: date("2016-03-16T19:11:00Z"),
        executions: 5,
        failures: 5,
        faults: 1,
        extra: [("missedCount".to_owned(), 3.into())].into(),
        ..JobStatus::new(JobState::Disabled, None)
    };
    let shown = text(&document.render(&status, Dialect::default()));
    let expected = r#""state":"disabled","status":{"lastExecutionTime":"2016-03-16T19:10:00.3762123Z","nextExecutionTime":"2016-03-16T19:11:00Z","executionCount":5,"failureCount":5,"faultedCount":1}}"#;
    assert!(shown.ends_with(expected), "{shown}");
    let native = Dialect { native: true, ..Dialect::default() };
    assert!(text(&document.render(&status, native)).contains(r#""faultedCount":1,"missedCount":3}"#));
}

#[test]
fn an_error_in_a_job_names_its_field() {
    let recording = read("16_error_malformed_job");
    let request = recording.steps[0].request.as_ref().expect("a request");
    let problems: Problems =
        read_job(&request.body, &Limits::default(), Timestamp(0)).expect_err("malformed");
    assert_eq!(problems.to_string(), "properties: must be an object, not a text");
}
