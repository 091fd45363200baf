//! The drone delivery workflow: read, rendered, judged.

use crate::common::{REQUEST, Run, call, drone, drone_source};
use bytes::Bytes;
use expect_test::{Expect, expect};
use http::HeaderMap;
use types::plan::Notice;
use types::{RunStatus, StepIndex, StepName, Work};
use workflow::{BodyProblem, Definition, Ending, ExpressionContext, RenderedCall, ResponseVerdict};

fn show(request: &RenderedCall) -> String {
    let mut text = format!("{} {}\n", request.method, request.url);
    for (name, value) in &request.headers {
        text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    }
    if let Some(body) = &request.body {
        text.push_str(&String::from_utf8_lossy(body));
        text.push('\n');
    }
    text
}

fn check(definition: &Definition, work: Work, context: &ExpressionContext<'_>, expected: Expect) {
    let shown = match definition.render(work, context) {
        Ok(rendered) => show(&call(rendered)),
        Err(error) => format!("error: {error}\n"),
    };
    expected.assert_eq(&shown);
}

fn judge(step: u16, status: u16, body: &str) -> ResponseVerdict {
    let (definition, run) = (drone(), Run::new(REQUEST));
    let body = Bytes::copy_from_slice(body.as_bytes());
    definition.judge(Work::Do(StepIndex(step)), &run.context(), status, &HeaderMap::new(), &body)
}

fn done(output: &'static str) -> ResponseVerdict {
    ResponseVerdict::Done { output: Bytes::from_static(output.as_bytes()) }
}

#[test]
fn the_plan_is_what_was_written() {
    expect![[r#"
        Plan {
            steps: [
                PlanStep {
                    name: account,
                    after: [],
                    retry: Exponential {
                        first: 500ms,
                        factor_percent: 200,
                        max: 1m,
                        attempts: 5,
                    },
                    alternative: None,
                    undo: None,
                    pivot: false,
                    complete_by: None,
                },
                PlanStep {
                    name: package,
                    after: [],
                    retry: Exponential {
                        first: 500ms,
                        factor_percent: 200,
                        max: 1m,
                        attempts: 5,
                    },
                    alternative: None,
                    undo: Some(
                        Patient {
                            first: 500ms,
                            factor_percent: 200,
                            max: 1h,
                            patience: 1d,
                        },
                    ),
                    pivot: false,
                    complete_by: None,
                },
                PlanStep {
                    name: transport,
                    after: [],
                    retry: Exponential {
                        first: 500ms,
                        factor_percent: 200,
                        max: 1m,
                        attempts: 5,
                    },
                    alternative: None,
                    undo: Some(
                        Patient {
                            first: 500ms,
                            factor_percent: 200,
                            max: 1h,
                            patience: 1d,
                        },
                    ),
                    pivot: false,
                    complete_by: None,
                },
                PlanStep {
                    name: drone,
                    after: [
                        StepIndex(
                            0,
                        ),
                        StepIndex(
                            1,
                        ),
                        StepIndex(
                            2,
                        ),
                    ],
                    retry: Exponential {
                        first: 500ms,
                        factor_percent: 200,
                        max: 1m,
                        attempts: 5,
                    },
                    alternative: None,
                    undo: Some(
                        Patient {
                            first: 1s,
                            factor_percent: 200,
                            max: 10m,
                            patience: 2h,
                        },
                    ),
                    pivot: false,
                    complete_by: None,
                },
                PlanStep {
                    name: delivery,
                    after: [
                        StepIndex(
                            3,
                        ),
                    ],
                    retry: Exponential {
                        first: 500ms,
                        factor_percent: 200,
                        max: 1m,
                        attempts: 5,
                    },
                    alternative: None,
                    undo: None,
                    pivot: true,
                    complete_by: None,
                },
            ],
            deadline: Some(
                1h,
            ),
            serial: false,
            notices: NoticeEvents {
                completed: false,
                undone: false,
                parked: true,
            },
            notice_retry: Patient {
                first: 500ms,
                factor_percent: 200,
                max: 1h,
                patience: 1d,
            },
        }
    "#]]
    .assert_debug_eq(drone().plan());
}

#[test]
fn the_description_is_what_was_written() {
    let description = serde_json::to_string_pretty(&drone().describe()).unwrap();
    expect![[r#"
        {
          "name": "drone-delivery",
          "description": "Takes a delivery request and books account, package, transport, drone and delivery.",
          "route": "/api/deliveryrequests",
          "serial": false,
          "deadline": "1h",
          "services": [
            {
              "name": "account",
              "url": "http://127.0.0.1:7101",
              "timeout": "5s",
              "concurrency": 512
            },
            {
              "name": "package",
              "url": "http://127.0.0.1:7102",
              "timeout": "5s",
              "concurrency": 512
            },
            {
              "name": "transport",
              "url": "http://127.0.0.1:7103",
              "timeout": "5s",
              "concurrency": 512
            },
            {
              "name": "drone",
              "url": "http://127.0.0.1:7104",
              "timeout": "5s",
              "concurrency": 512
            },
            {
              "name": "delivery",
              "url": "http://127.0.0.1:7105",
              "timeout": "5s",
              "concurrency": 512
            }
          ],
          "steps": [
            {
              "name": "account",
              "after": [],
              "call": "GET http://127.0.0.1:7101/api/accounts/${.request.ownerId}",
              "accept_if": ".response.body == true",
              "retry": "5 attempts, 500ms apart, growing 2-fold to 1m",
              "pivot": false
            },
            {
              "name": "package",
              "after": [],
              "call": "PUT http://127.0.0.1:7102/api/packages/${.request.packageInfo.packageId}",
              "retry": "5 attempts, 500ms apart, growing 2-fold to 1m",
              "undo": "DELETE http://127.0.0.1:7102/api/packages/${.request.packageInfo.packageId}",
              "pivot": false
            },
            {
              "name": "transport",
              "after": [],
              "call": "PUT http://127.0.0.1:7103/api/thirdpartydeliveries/${.run.id}",
              "accept_if": ".response.body == false",
              "retry": "5 attempts, 500ms apart, growing 2-fold to 1m",
              "undo": "DELETE http://127.0.0.1:7103/api/thirdpartydeliveries/${.run.id}",
              "pivot": false
            },
            {
              "name": "drone",
              "after": [
                "account",
                "package",
                "transport"
              ],
              "call": "PUT http://127.0.0.1:7104/api/dronedeliveries/${.run.id}",
              "output": ".response.body.droneId",
              "retry": "5 attempts, 500ms apart, growing 2-fold to 1m",
              "undo": "DELETE http://127.0.0.1:7104/api/dronedeliveries/${.run.id}",
              "pivot": false
            },
            {
              "name": "delivery",
              "after": [
                "drone"
              ],
              "call": "PUT http://127.0.0.1:7105/api/deliveries/${.run.id}",
              "retry": "5 attempts, 500ms apart, growing 2-fold to 1m",
              "pivot": true
            }
          ],
          "notices": [
            [
              "parked",
              "POST http://127.0.0.1:7106/parked"
            ]
          ]
        }"#]].assert_eq(&description);
}

#[test]
fn every_call_is_rendered() {
    let (definition, mut run) = (drone(), Run::new(REQUEST));
    run.outputs = vec![None, None, None, Some(Bytes::from_static(b"\"drone-9\""))];
    let work = |n| Work::Do(StepIndex(n));
    let context = run.context();
    check(
        &definition,
        work(0),
        &context,
        expect![[r#"
        GET http://127.0.0.1:7101/api/accounts/owner%207
    "#]],
    );
    check(
        &definition,
        work(1),
        &context,
        expect![[r#"
        PUT http://127.0.0.1:7102/api/packages/p%2F1
        content-type: application/json
        {"packageId":"p/1","size":"Small","weight":10.50,"tag":"mytag"}
    "#]],
    );
    check(
        &definition,
        work(2),
        &context,
        expect![[r#"
        PUT http://127.0.0.1:7103/api/thirdpartydeliveries/d-1
        content-type: application/json
        {"pickup":"0,37.4,-78.6","dropoff":"0,37.5,-78.7"}
    "#]],
    );
    check(
        &definition,
        work(3),
        &context,
        expect![[r#"
        PUT http://127.0.0.1:7104/api/dronedeliveries/d-1
        content-type: application/json
        {"deliveryId":"d-1","pickup":"0,37.4,-78.6","dropoff":"0,37.5,-78.7","packageDetails":[{"id":"p/1","size":"Small"}],"expedited":true}
    "#]],
    );
    check(
        &definition,
        work(4),
        &context,
        expect![[r#"
        PUT http://127.0.0.1:7105/api/deliveries/d-1
        content-type: application/json
        {"id":"d-1","owner":{"userId":"owner 7","accountId":"owner 7"},"pickup":"0,37.4,-78.6","dropoff":"0,37.5,-78.7","deadline":"","expedited":true,"confirmationRequired":"None","droneId":"drone-9"}
    "#]],
    );
}

#[test]
fn every_undo_is_rendered_and_what_has_none_says_so() {
    let (definition, run) = (drone(), Run::new(REQUEST));
    let context = run.context();
    check(
        &definition,
        Work::Undo(StepIndex(1)),
        &context,
        expect![[r#"
        DELETE http://127.0.0.1:7102/api/packages/p%2F1
    "#]],
    );
    check(
        &definition,
        Work::Undo(StepIndex(3)),
        &context,
        expect![[r#"
        DELETE http://127.0.0.1:7104/api/dronedeliveries/d-1
    "#]],
    );
    check(
        &definition,
        Work::Undo(StepIndex(0)),
        &context,
        expect![[r#"
        error: call: the workflow declares none
    "#]],
    );
    check(
        &definition,
        Work::Do(StepIndex(99)),
        &context,
        expect![[r#"
        error: call: the workflow declares none
    "#]],
    );
    check(
        &definition,
        Work::Notice(Notice::Completed),
        &context,
        expect![[r#"
        error: call: the workflow declares none
    "#]],
    );
}

#[test]
fn a_notice_says_what_happened() {
    let (definition, run) = (drone(), Run::new(REQUEST));
    let names = [StepName::new("account").unwrap(), StepName::new("package").unwrap()];
    let ending = Ending {
        status: RunStatus::Parked,
        reason: Some("undo of \"package\" failed"),
        steps_done: &names,
        steps_undone: &names[..1],
    };
    let context = ExpressionContext { ending: Some(ending), ..run.context() };
    check(
        &definition,
        Work::Notice(Notice::Parked),
        &context,
        expect![[r#"
        POST http://127.0.0.1:7106/parked
        content-type: application/json
        {"run":{"id":"d-1","workflow":"drone-delivery","key":"d-1","status":"parked","reason":"undo of \"package\" failed"},"steps_done":["account","package"],"steps_undone":["account"]}
    "#]],
    );
}

#[test]
fn an_answer_is_done_or_refused() {
    assert_eq!(judge(0, 200, "true"), done("true"));
    expect![[r#"
        Refused {
            reason: "accept_if '.response.body == true' is false",
        }
    "#]]
    .assert_debug_eq(&judge(0, 200, "false"));
    expect![[r#"
        Refused {
            reason: "accept_if '.response.body == true' is false",
        }
    "#]]
    .assert_debug_eq(&judge(0, 200, "yes"));
    assert_eq!(judge(1, 204, ""), done("null"));
    assert_eq!(judge(1, 201, r#"{"id":"p1"}"#), done(r#"{"id":"p1"}"#));
    assert_eq!(judge(3, 200, r#"{"droneId":"drone-9","x":1}"#), done("\"drone-9\""));
    assert_eq!(judge(3, 200, "{}"), done("null"));
    expect![[r#"
        Refused {
            reason: "output '.response.body.droneId' fails: cannot look up 'droneId' in text",
        }
    "#]]
    .assert_debug_eq(&judge(3, 200, "AssignedDroneId7"));
}

#[test]
fn an_answer_becomes_the_output_only_when_it_is_small_json() {
    assert_eq!(judge(1, 200, "not json"), done("null"));
    assert_eq!(judge(1, 200, &format!("\"{}\"", "x".repeat(16 * 1024))), done("null"));
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    assert_eq!(judge(1, 200, &deep), done("null"));
}

#[test]
fn an_output_has_a_largest_size() {
    let answer = format!(r#"{{"droneId":"{}"}}"#, "x".repeat(64 * 1024));
    expect![[r#"
        Refused {
            reason: "output '.response.body.droneId' fails: the result is larger than 65536 bytes",
        }
    "#]]
    .assert_debug_eq(&judge(3, 200, &answer));
}

#[test]
fn what_a_person_names_is_rendered_and_not_refused() {
    let (definition, run) = (drone(), Run::new(REQUEST));
    let source =
        r#"{"service": "account", "method": "POST", "path": "/force/${.request.ownerId}", "body": .run}"#;
    let action = definition.parse_action(source).unwrap();
    let request = call(definition.render_action(&action, &run.context()).unwrap());
    expect![[r#"
        POST http://127.0.0.1:7101/force/owner%207
        content-type: application/json
        {"id":"d-1","workflow":"drone-delivery","key":"d-1"}
    "#]]
    .assert_eq(&show(&request));
    let body = Bytes::from_static(b"false");
    let work = Work::DoInstead(StepIndex(0));
    assert_eq!(definition.judge(work, &run.context(), 200, &HeaderMap::new(), &body), done("false"));
    let problems = definition.parse_action(r#"{"service": "acount", "method": "POST"}"#).unwrap_err();
    expect![[r#"
        line 1: path: the field is missing
        line 1: service: no service 'acount'; did you mean 'account'?"#]]
    .assert_eq(&problems.to_string());
}

#[test]
fn ids_and_keys_come_from_the_body() {
    // Without the schema, which has words of its own for an id that is not a text.
    let source = drone_source();
    let source: Vec<&str> = source.lines().filter(|line| !line.starts_with("  schema: ")).collect();
    let definition = Definition::parse(&source.join("\n")).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(!definition.accept().has_schema());
    let id = |body: &str| match definition.take(body.as_bytes()) {
        Ok(taken) => format!("{:?}", taken.id),
        Err(problem) => problem.to_string(),
    };
    assert_eq!(id(REQUEST), "Some(d-1)");
    assert_eq!(id(r#"{"deliveryId": 17}"#), "Some(17)");
    assert_eq!(id(r#"{"deliveryId": null}"#), "None");
    assert_eq!(id("{}"), "None");
    expect![[
        r#"id: run id "a b" must be 1 to 128 characters of letters, digits, '.', '_', '~', ':' and '-'"#
    ]]
    .assert_eq(&id(r#"{"deliveryId": "a b"}"#));
    expect![[r#"id: run id "" must be 1 to 128 characters of letters, digits, '.', '_', '~', ':' and '-'"#]]
        .assert_eq(&id(r#"{"deliveryId": ""}"#));
    expect!["id: expression '.deliveryId': is an array, not text or a number"]
        .assert_eq(&id(r#"{"deliveryId": ["a"]}"#));
    expect!["id: expression '.deliveryId': cannot look up 'deliveryId' in an array"].assert_eq(&id("[]"));
    assert_eq!(definition.take(REQUEST.as_bytes()).unwrap().key, None);
}

#[test]
fn a_body_is_checked_against_the_schema() {
    let definition = drone();
    let check = |body: &str| match definition.take(body.as_bytes()) {
        Ok(_) => String::new(),
        Err(BodyProblem::Json(invalid)) => format!("{invalid}\n"),
        Err(BodyProblem::Schema(problems)) => problems.iter().map(|problem| format!("{problem}\n")).collect(),
        Err(BodyProblem::Accept(problem)) => format!("{problem}\n"),
    };
    assert_eq!(check(REQUEST), "");
    expect![[r#"
        /: "ownerId" is a required property
        /: "pickupLocation" is a required property
        /: "dropOffLocation" is a required property
        /: "packageInfo" is a required property
    "#]]
    .assert_eq(&check("{}"));
    expect![[r#"
        /packageInfo/size: value is not one of "Small", "Medium" or "Large"
        /packageInfo/weight: value is not of type "number"
    "#]]
    .assert_eq(&check(&REQUEST.replace("\"Small\"", "\"Tiny\"").replace("10.50", "\"heavy\"")));
    expect![[r#"
        not valid JSON: EOF while parsing a value at line 1 column 5
    "#]]
    .assert_eq(&check("{\"a\":"));
    expect![[r#"
        nested deeper than 64 levels
    "#]]
    .assert_eq(&check(&format!("{}{}", "[".repeat(65), "]".repeat(65))));
}

#[test]
fn definitions_are_shared_by_threads() {
    fn shared<T: Send + Sync + 'static>(_: &T) {}
    shared(&drone());
}

#[test]
fn json_is_as_good_as_yaml() {
    let source = r#"{"name": "w", "services": {"a": {"url": "http://a.test/base/"}}, "steps": {"one":
        {"call": {"service": "a", "method": "POST", "path": "\/x", "query": {"a b": "${.request.q}", "n": 1},
         "body": {"text": "\ud83d\ude00 $${x} ${.run.id}", "n": 1.0, "b": true, "z": null}}}}}"#;
    let definition = Definition::parse(source).unwrap_or_else(|problems| panic!("{problems}"));
    let run = Run::new(r#"{"q":"1&2=3 ü"}"#);
    check(
        &definition,
        Work::Do(StepIndex(0)),
        &run.context(),
        expect![[r#"
        POST http://a.test/base/x?a%20b=1%262%3D3%20%C3%BC&n=1
        content-type: application/json
        {"text":"😀 ${x} d-1","n":1.0,"b":true,"z":null}
    "#]],
    );
}
