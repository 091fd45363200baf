//! `sortie run tail` and names that are nearly right, with a real server.

use std::collections::BTreeMap;

use crate::process::{Process, check, client, http};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn one_run_is_followed_to_its_end_and_the_exit_code_says_which() {
    let dev = Process::dev();
    dev.deliver("delivery-1");
    let text = check(
        &dev.url,
        "run tail delivery-1",
        0,
        &["Run delivery-1 of drone-delivery", "accepted", "done 201"],
    );
    assert!(text.trim_end().ends_with("completed"), "{text}");
    let json = check(&dev.url, "run tail delivery-1 --json", 0, &[]);
    let events: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().all(|event| event["run"] == "delivery-1"), "{json}");
    let whats: Vec<&str> = events.iter().filter_map(|event| event["what"].as_str()).collect();
    assert_eq!((whats.first(), whats.last()), (Some(&"accepted"), Some(&"completed")), "{json}");
    let ended = whats.iter().filter(|what| **what == "ended").count();
    assert_eq!((ended, whats.iter().filter(|what| **what == "started").count()), (5, 5), "{json}");

    dev.switch("drone", r#"{"refuse_rate": 1}"#);
    dev.deliver("delivery-2");
    check(&dev.url, "run tail delivery-2", 10, &["refused 409", "undo", "undone"]);
    check(&dev.url, "run tail delivery-22", 1, &["no run delivery-22; did you mean 'delivery-2'?"]);
}

#[test]
fn a_run_is_reported_while_it_goes_on_until_it_is_given_up() {
    let dev = Process::dev();
    dev.switch("drone", r#"{"refuse_rate": 1, "undo_refuse": ["delivery-1"]}"#);
    dev.deliver("delivery-1");
    let mut tail = Process::start(&["run", "tail", "delivery-1", "--url", &dev.url]);
    let text = tail.read_to("          sortie --url");
    assert!(text.contains("parked"), "{text}");
    check(&dev.url, "run give-up delivery-1 --note enough", 0, &["decision recorded"]);
    let mut rest = String::new();
    loop {
        let line = tail.line();
        if line.is_empty() {
            break;
        }
        rest += &line;
    }
    assert!(rest.contains("given up"), "{rest}");
    assert_eq!(tail.ended(), Some(11));
}

#[test]
fn nothing_is_missed_of_many_runs() {
    const RUNS: usize = 600;
    let dev = Process::dev();
    let address = dev.url.trim_start_matches("http://").to_owned();
    dev.deliver("before");
    check(&dev.url, "run wait before --timeout 1m", 0, &["completed"]);
    let mut tail = Process::start(&["run", "tail", "--json", "--url", &dev.url]);
    // Once it tells of a run that came later it has begun.
    let mut begun = 0;
    let first = loop {
        dev.deliver(&format!("begun-{begun}"));
        begun += 1;
        if let Some(line) = tail.line_within(std::time::Duration::from_secs(1)) {
            break line;
        }
    };
    let batch = |from: usize| {
        let lines = (from..from + RUNS / 6).map(|number| dev.request(&format!("many-{number}")) + "\n");
        lines.collect::<String>()
    };
    for part in 0..6 {
        let body = batch(part * RUNS / 6);
        let answer =
            http(&address, "POST", "/v1/workflows/drone-delivery/runs:batch", "application/x-ndjson", &body);
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut ended = 0;
    let mut line = first;
    loop {
        let event: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let (what, id) = (event["what"].as_str().unwrap(), event["run"]["id"].as_str().unwrap());
        assert_ne!(id, "before", "{line}");
        ended += usize::from(what == "ended" && id.starts_with("many-"));
        told.entry(id.to_owned()).or_default().push(what.to_owned());
        if ended == RUNS {
            break;
        }
        line = tail.line();
    }
    assert_eq!(tail.end_by(Signal::INT), Some(0));
    let many: Vec<_> = told.iter().filter(|(id, _)| id.starts_with("many-")).collect();
    assert_eq!(many.len(), RUNS);
    for (id, whats) in many {
        assert_eq!(whats, &["accepted", "ended"], "{id}");
    }
}

#[test]
fn names_that_are_nearly_right_are_guessed() {
    let dev = Process::dev();
    let url = &dev.url;
    dev.deliver("delivery-1");
    check(url, "run wait delivery-1 --timeout 1m", 0, &["completed"]);
    check(url, "queue create orders", 0, &[]);
    check(url, "topic create events", 0, &[]);
    check(url, "topic subscribe events/audit", 0, &[]);
    check(
        url,
        "job create ops/report --create-collection --disabled --uri http://127.0.0.1:1/ --every 5m",
        0,
        &[],
    );
    for (line, said) in [
        ("run show delivery-l", "no run delivery-l; did you mean 'delivery-1'?"),
        ("run cancel deliver-1", "did you mean 'delivery-1'?"),
        ("run list --workflow drone-deliver", "did you mean 'drone-delivery'?"),
        ("run tail --workflow drone-deliver", "did you mean 'drone-delivery'?"),
        ("workflow show dron-delivery", "did you mean 'drone-delivery'?"),
        ("queue show order", "did you mean 'orders'?"),
        ("queue peek events/audi", "did you mean 'events/audit'?"),
        ("topic show event", "did you mean 'events'?"),
        ("job show ops/reprot", "collection 'ops' has no job 'reprot'; did you mean 'report'?"),
        ("job show opps/report", "no collection is named 'opps'; did you mean 'ops'?"),
        ("job list opps", "did you mean 'ops'?"),
        ("job collection show opps", "did you mean 'ops'?"),
        ("job show ops/zzz", "see its jobs with"),
        ("partition show 999", "no partition 999; valid numbers are 0 to"),
        ("service show http://127.0.0.1:", "no service 'http://127.0.0.1:' has been called"),
        ("queue create orders", "add --replace"),
    ] {
        check(url, line, 1, &[said]);
    }
    check(url, "partition show 0", 0, &["Partition 0 is running"]);
    check(url, "cluster show", 0, &["This is a single server"]);
    check(url, "job collection show ops", 0, &["Collection ops is enabled", "1 of"]);
    check(url, "job collection update ops --max-jobs 7", 0, &["1 of max. 7"]);
    let (code, services) = client(url, "service list --json", "");
    let services: Value = serde_json::from_str(&services).unwrap();
    let name = services["items"][0]["service"].as_str().unwrap();
    check(url, &format!("service show {name}"), 0, &["breaker  closed"]);
    assert_eq!(code, 0);
}
