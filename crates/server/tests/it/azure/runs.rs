//! What the recordings show of jobs that ran, brought about by jobs that run.

use http::Method;
use serde_json::{Value, json};
use types::{Span, Ticks, Timestamp};

use super::recording::{Recording, differences, shape};
use crate::jobs_target::Target;
use crate::jobs_world::{Scheduler, retries, ticks};

const SUBSCRIPTION: &str = "/subscriptions/00000000-0000-0000-0000-000000000000";
const VERSION: &str = "api-version=2016-03-01";

/// .NET counts in steps of 100 ns from the year 1, up to this.
const DOTNET_MAX: i64 = 3_155_378_975_999_999_999;
const DOTNET_1970: i64 = 621_355_968_000_000_000;

const MINUTE: Span = Span::from_secs(60);
const LATE: Span = Span::from_secs(5);
/// What people wrote goes by the clock on the wall, records by one that never goes back: they differ by a little.
const CLOCKS_DIFFER: Span = Span::from_secs(1);

fn at(text: &str) -> Timestamp {
    ticks(&text.into()).floor()
}

/// A collection, and the path of a job in it.
async fn job_in(world: &Scheduler, group: &str, collection: &str, job: &str) -> String {
    let provider = "providers/Microsoft.Scheduler/jobCollections";
    let path = format!("{SUBSCRIPTION}/resourceGroups/{group}/{provider}/{collection}");
    let body = json!({ "location": "West US", "properties": { "sku": { "name": "Standard" } } });
    world.put(&format!("{path}?{VERSION}"), &body).await.expect(201);
    format!("{path}/jobs/{job}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_of_a_job_looks_as_it_was_recorded() {
    const DONE: usize = 6;
    let recording = Recording::numbered(12);
    let target = Target::start().await;
    let mut world = Scheduler::start_at(at("2016-03-30T18:00:00Z")).await;
    let job = job_in(&world, "CS-SouthCentralUS-scheduler", "sdk-test", "http_job").await;
    let action = |path: &str| {
        let request = json!({ "uri": target.url(path), "method": "GET" });
        json!({ "type": "Http", "request": request, "retryPolicy": { "retryType": "None" } })
    };
    let recurrence = json!({ "frequency": "Minute" });
    let body = json!({ "properties": { "action": action("/long"), "recurrence": recurrence } });
    world.put(&format!("{job}?{VERSION}"), &body).await.expect(201);
    for count in 1..=DONE + 1 {
        if count > DONE {
            let change = json!({ "properties": { "action": action("/500") } });
            world.send(Method::PATCH, &format!("{job}?{VERSION}"), &change).await.expect(200);
        }
        let shown = world.get(&format!("{job}?{VERSION}")).await;
        let next = ticks(&shown["properties"]["status"]["nextExecutionTime"]);
        // Nobody waits for a minute. The job fires a little late, which shows where the next is counted from.
        world.restart_at(next.ceil() + LATE).await;
        let all = format!("{job}/history?{VERSION}");
        world.wait(&all, |page| page["value"].as_array().unwrap().len() == count).await;
    }

    let recorded = &recording.steps[0];
    let path = recorded["request"]["path"].as_str().unwrap();
    assert!(path.starts_with(&format!("{job}/history?")), "{path}");
    let page = world.get(path).await;
    assert_eq!(recorded["response"]["status"], 200);
    assert_eq!(shape(&page["nextLink"]), shape(&recorded["response"]["body"]["nextLink"]));
    let records = page["value"].as_array().unwrap();
    assert_eq!(records.len(), DONE);
    let recorded = recorded["response"]["body"]["value"].as_array().unwrap();
    check_records(records, DONE as u64);
    check_records(recorded, 135);
    for (record, before) in recorded.iter().zip(&recorded[1..]) {
        assert_eq!(expected(record), time(before, "startTime") + MINUTE);
    }
    for (record, before) in records.iter().zip(&records[1..]) {
        // From when it fired, not from when it was expected.
        assert!(expected(record) >= expected(before) + LATE + MINUTE, "{before}");
        assert!(expected(record) <= time(before, "endTime") + MINUTE + CLOCKS_DIFFER, "{before}");
    }
    for (answered, recorded) in records.iter().zip(recorded) {
        assert_eq!(differences(&steady(recorded), &steady(answered)), [""; 0]);
        check_message(answered);
    }
    assert!(records.len() > recorded.len());

    // The other step names four more calls without their answers.
    let named = recording.steps[1]["requests"].as_array().unwrap();
    for (request, count, more) in named.iter().map(|request| other_call(request.as_str().unwrap(), DONE)) {
        let page = world.get(&format!("{job}/{request}&{VERSION}")).await;
        assert_eq!(page["value"].as_array().unwrap().len(), count, "{request}");
        assert_eq!(page["nextLink"].is_string(), more, "{request}");
        let failed = page["value"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|record| !record["properties"]["status"].is_null());
        assert!(failed.clone().count() <= 1, "{page}");
        assert!(failed.into_iter().all(|record| record["properties"]["status"] == "failed"), "{page}");
    }
    recording.finish(2);
}

/// What a call of the recording's second step finds here: how many records, and whether there are more.
fn other_call(request: &str, done: usize) -> (String, usize, bool) {
    let (count, more) = match request {
        "GET .../history?$filter=status%20eq%20Failed" => (1, false),
        "GET .../history?$top=5" => (5, true),
        "GET .../history?$top=5&$skip=5" => (done + 1 - 5, false),
        "GET .../history" => (done + 1, false),
        other => panic!("{other} was not compared"),
    };
    let request = request.trim_start_matches("GET .../");
    let start = if request.contains('?') { request.to_owned() } else { format!("{request}?") };
    (start, count, more)
}

fn time(record: &Value, member: &str) -> Ticks {
    ticks(&record["properties"][member])
}

fn expected(record: &Value) -> Ticks {
    time(record, "expectedExecutionTime")
}

/// Newest first, each id made of its start.
fn check_records(records: &[Value], newest: u64) {
    for (index, record) in records.iter().enumerate() {
        let properties = &record["properties"];
        let start = ticks(&properties["startTime"]);
        let id = record["id"].as_str().unwrap().rsplit('/').next().unwrap();
        assert_eq!(record["name"].as_str().unwrap().rsplit('/').next().unwrap(), id);
        let (inverse, counter) = id.split_once(':').unwrap();
        assert_eq!(inverse, format!("{:020}", DOTNET_MAX - DOTNET_1970 - start.0), "{record}");
        assert!(counter.len() == 20 && counter.bytes().all(|digit| digit.is_ascii_digit()), "{id}");
        assert_eq!(properties["repeatCount"], newest - index as u64);
        assert!(properties["status"].is_null(), "{record}");
        assert!(start <= ticks(&properties["endTime"]), "{record}");
    }
}

/// A record without what differs from run to run.
fn steady(record: &Value) -> Value {
    let mut record = record.clone();
    for member in ["startTime", "endTime", "expectedExecutionTime", "message", "repeatCount"] {
        record["properties"][member] = shape(&record["properties"][member]);
    }
    for member in ["id", "name"] {
        let text = record[member].as_str().unwrap();
        record[member] = text.rsplit_once('/').unwrap().0.into();
    }
    record
}

fn check_message(record: &Value) {
    let message = record["properties"]["message"].as_str().unwrap();
    let start = "Http Action - Response from host '127.0.0.1': 'OK' Response Headers: ";
    let rest = message.strip_prefix(start).unwrap_or_else(|| panic!("{message}"));
    let (headers, body) = rest.split_once(" Body: ").unwrap();
    assert!(headers.contains("Content-Length: 3000\r\n"), "{headers}");
    assert_eq!(body, "x".repeat(1024));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_after_an_occurrence_that_failed_for_good_counts_as_documented() {
    let recording = Recording::numbered(22);
    let target = Target::start().await;
    let world = Scheduler::start_at(at("2016-03-16T19:05:58Z")).await;
    let job = job_in(&world, "rg", "southeastasiajc", "httpjob").await;
    assert_eq!(recording.steps[0]["response"]["status"], 200);
    let mut recorded = recording.steps[0]["response"]["body"].clone();
    let (start, recurrence) = (&recorded["properties"]["startTime"], &recorded["properties"]["recurrence"]);
    let request = json!({ "uri": target.url("/500"), "method": "GET" });
    let action = json!({ "type": "Http", "request": request, "retryPolicy": retries(4) });
    let body = json!({ "properties": { "startTime": start, "action": action, "recurrence": recurrence } });
    let path = format!("{job}?{VERSION}");
    let created = world.put(&path, &body).await.expect(201).json();
    assert_eq!(created["properties"]["status"]["nextExecutionTime"], "2016-03-16T19:06:00Z");
    let faulted = |job: &Value| job["properties"]["status"]["faultedCount"] == 1;
    let mut answered = world.wait(&path, faulted).await;
    assert_eq!(target.calls("/500").len(), 5);

    let status = &mut answered["properties"]["status"];
    let last = ticks(&status["lastExecutionTime"]);
    let (planned, next) = (at("2016-03-16T19:06:00Z").into(), at("2016-03-16T19:07:00Z").into());
    assert!(last + CLOCKS_DIFFER >= planned && last < next, "{last:?}");
    // On the grid of the start, whenever the retries were.
    assert_eq!(status["nextExecutionTime"], "2016-03-16T19:07:00Z");
    assert_eq!(shape(status), shape(&recorded["properties"]["status"]));
    for time in ["lastExecutionTime", "nextExecutionTime"] {
        status[time] = recorded["properties"]["status"][time].clone();
    }
    // The documentation leaves out these, and writes the state as clients send it, not as it was answered.
    let members = answered.as_object_mut().unwrap();
    assert!(members.remove("id").is_some() && members.remove("type").is_some());
    assert!(members["properties"].as_object_mut().unwrap().remove("action").is_some());
    assert_eq!(recorded["properties"]["state"].take(), "Enabled");
    recorded["properties"]["state"] = "enabled".into();
    assert_eq!(differences(&recorded, &answered), [""; 0]);
    recording.finish(1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completed_job_has_a_last_execution_and_no_next() {
    let recording = Recording::numbered(23);
    let target = Target::start().await;
    let mut world = Scheduler::start_at(at("2015-06-14T06:58:43Z")).await;
    let job = job_in(&world, "foo", "jc1", "j1").await;
    assert_eq!(recording.steps[0]["response"]["status"], 200);
    let mut recorded = recording.steps[0]["response"]["body"].clone();
    let request = json!({ "uri": target.url("/"), "method": "GET" });
    let action = json!({ "type": "Http", "request": request });
    let recurrence = &recorded["properties"]["recurrence"];
    let path = format!("{job}?{VERSION}");
    let body = json!({ "properties": { "action": action, "recurrence": recurrence } });
    world.put(&path, &body).await.expect(201);
    // 20 s after it was written; a minute later its end has passed.
    world.restart_at(at("2015-06-14T06:59:02Z")).await;
    let mut answered = world.wait(&path, |job| job["properties"]["state"] == "completed").await;

    // A queue needs a storage account, so that a call takes its place; thousands of executions are one.
    recorded["properties"]["action"] = answered["properties"]["action"].clone();
    let status = &mut answered["properties"]["status"];
    assert_eq!(status["executionCount"], 1);
    let last = ticks(&status["lastExecutionTime"]);
    assert!(last + CLOCKS_DIFFER >= at("2015-06-14T06:59:03Z").into(), "{last:?}");
    assert_eq!(shape(status), shape(&recorded["properties"]["status"]));
    for member in ["lastExecutionTime", "executionCount"] {
        status[member] = recorded["properties"]["status"][member].clone();
    }
    assert_eq!(differences(&recorded, &answered), [""; 0]);
    recording.finish(1);
}
