//! What a script answers to which call, and how a bad one is refused.

use expect_test::{Expect, expect};
use types::{StepIndex, Work};

use super::*;

fn known() -> KnownNames {
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    KnownNames {
        services: texts(&["drone", "delivery"]),
        steps: texts(&["assign", "schedule"]),
        begin: Timestamp(0),
    }
}

fn call(service: &str, step: &str, work: Work) -> SimulatedCall {
    SimulatedCall {
        step: step.to_owned(),
        work,
        service: Some(service.to_owned()),
        method: "PUT".to_owned(),
        url: format!("http://{service}.example.com/api/things/7?x=1"),
        timeout: Span::from_secs(5),
    }
}

const DO: Work = Work::Do(StepIndex(0));
const UNDO: Work = Work::Undo(StepIndex(0));

/// What calls get, one after another: the status, or the fault.
#[track_caller]
fn answers(script: &str, calls: &[(&SimulatedCall, u64)]) -> Vec<String> {
    let mut script = read(script, &known()).unwrap_or_else(|problems| panic!("{problems}"));
    let mut answer = |(call, at): &(&SimulatedCall, u64)| {
        let given = script.answer(call, Timestamp(0) + Span::from_secs(*at));
        let result = given.result.map_or_else(|fault| fault.to_string(), |answer| answer.status.to_string());
        format!("{result} {}", given.after)
    };
    calls.iter().map(&mut answer).collect()
}

#[test]
fn answers_come_in_turn_and_the_last_one_stays() {
    let script =
        "services:\n  drone:\n    - answers: [503, timeout, { status: 201, latency: 2s, times: 2 }, 500]\n";
    let put = call("drone", "assign", DO);
    let got = answers(script, &[(&put, 0); 6]);
    let timeout = "no response by the deadline (request sent) 5s";
    assert_eq!(got, ["503 20ms", timeout, "201 2s", "201 2s", "500 20ms", "500 20ms"]);
}

#[test]
fn a_rule_that_repeats_so_often_is_used_up_then() {
    let script = "default: 418\nservices:\n  drone:\n    - { answers: [500, 503], repeat: 2 }\n    - { answers: 502, repeat: 1 }\n";
    let put = call("drone", "assign", DO);
    let got = answers(script, &[(&put, 0); 6]);
    assert_eq!(got, ["500 20ms", "503 20ms", "500 20ms", "503 20ms", "502 20ms", "418 20ms"]);
    let script = "services:\n  drone: { answers: [500, 503], repeat: forever }\n";
    assert_eq!(answers(script, &[(&put, 0); 3]), ["500 20ms", "503 20ms", "500 20ms"]);
}

#[test]
fn a_rule_counts_for_what_it_names() {
    let script = "services:
  drone:
    - { step: assign, work: undo, method: put, path: /api/*/7, answers: 500 }
    - { path: /api/*/8, answers: 501 }
    - { during: +10s..+20s, answers: refused connection }
  http://delivery.*:
    answers: lost connection\n";
    let [put, undo, other] =
        [call("drone", "assign", DO), call("drone", "assign", UNDO), call("drone", "schedule", UNDO)];
    let delivery = call("delivery", "schedule", DO);
    let got = answers(script, &[(&put, 0), (&undo, 0), (&other, 0), (&put, 10), (&put, 20), (&delivery, 0)]);
    let lost = "connection lost before the response: connection reset 20ms";
    let refused = "connecting failed: connection refused 20ms";
    assert_eq!(got, ["200 20ms", "500 20ms", "200 20ms", refused, "200 20ms", lost]);
}

#[test]
fn an_answer_after_the_deadline_does_not_count() {
    let script = "services:\n  drone: { answers: { status: 201, latency: 6s } }\n";
    let got = answers(script, &[(&call("drone", "assign", DO), 0)]);
    assert_eq!(got, ["no response by the deadline (request sent) 5s"]);
}

#[test]
fn rules_that_answered_nothing_are_reported() {
    let mut script =
        read("services:\n  drone:\n    - answers: 500\n    - answers: 501\n", &known()).expect("a script");
    script.answer(&call("drone", "assign", DO), Timestamp(0));
    assert_eq!(script.unused().collect::<Vec<_>>(), [4]);
}

#[track_caller]
fn check_bad(script: &str, known: &KnownNames, expected: Expect) {
    let problems = read(script, known).err().map(|problems| format!("{problems}\n"));
    expected.assert_eq(&problems.expect("a bad script"));
}

#[test]
fn a_bad_script_is_refused_with_line_field_and_fix() {
    check_bad(
        "time_zone: Mars/Olympus
service: {}
services:
  dron:
    - answers: 503
  drone:
    - { step: asign, work: redo, path: api, during: noon, answers: [99, timeouts, { status: 200, fault: timeout }] }
    - { when: x, repeat: never, answers: [] }
    - { step: assign }
    - { answers: { stauts: 1, headers: { \"a b\": 1 }, times: 0 } }\n",
        &known(),
        expect![[r#"
            line 1: time_zone: unknown time zone 'Mars/Olympus'; use a name like Europe/Berlin
            line 2: service: unknown field; allowed here: time_zone, default, services, sortie_down; did you mean 'services'?
            line 4: services.dron: the workflow has no such service; it has drone, delivery; did you mean 'drone'?
            line 7: services.drone[0].step: no step 'asign'; there is assign, schedule; did you mean 'assign'?
            line 7: services.drone[0].work: 'redo' is not known; allowed: do, alternative, undo, notice
            line 7: services.drone[0].path: a path begins with '/'; '*' stands for anything
            line 7: services.drone[0].during: "noon" is not a window; write it like 02:00..05:10 for every day, +10m..+2h from the beginning, or 2026-03-01T02:00..2026-03-01T05:10
            line 7: services.drone[0].answers: name at least one answer, like 503, timeout or { status: 200 }
            line 7: services.drone[0].answers[0]: must be an HTTP status from 200 to 599
            line 7: services.drone[0].answers[1]: 'timeouts' is not known; allowed: timeout, refused connection, lost connection; did you mean 'timeout'?
            line 7: services.drone[0].answers[2].fault: an answer has a fault or a status, not both
            line 8: services.drone[1].when: unknown field; allowed here: step, work, method, path, during, answers, repeat
            line 8: services.drone[1].repeat: must be 'forever' or a number from 1 to 10000
            line 8: services.drone[1].answers: name at least one answer, like 503, timeout or { status: 200 }
            line 9: services.drone[2].answers: the field is missing
            line 10: services.drone[3].answers.stauts: unknown field; allowed here: status, body, headers, fault, latency, times; did you mean 'status'?
            line 10: services.drone[3].answers.headers.a b: not a valid HTTP header
            line 10: services.drone[3].answers.times: must be a whole number from 1 to 10000
        "#]],
    );
}

#[test]
fn a_job_has_no_services_by_name() {
    let known = KnownNames { steps: vec!["action".to_owned()], ..KnownNames::default() };
    check_bad(
        "services:\n  reports: { answers: 503 }\n",
        &known,
        expect![[r#"
        line 2: services.reports: a job has no services; write how its URL begins, like http://example.com/, or '*'
    "#]],
    );
}

#[test]
fn the_script_of_the_reference_is_one() {
    let page = include_str!("../../../../../docs/reference/simulate.md");
    let script = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a script");
    let known = KnownNames {
        services: vec!["delivery".to_owned()],
        steps: vec!["delivery".to_owned()],
        ..KnownNames::default()
    };
    let script = read(script, &known).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((script.rules.len(), script.down.len()), (2, 1));
}
