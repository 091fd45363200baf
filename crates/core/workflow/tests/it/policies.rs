//! What a definition may leave out, and what then holds; alternatives; files put in.

use std::path::Path;

use crate::common::{Run, fixtures};
use bytes::Bytes;
use expect_test::expect;
use http::HeaderMap;
use types::{Retry, Span, StepIndex, Work};
use workflow::{Definition, ResponseVerdict, inline_files};

const BASE: &str = "name: w\nservices: { a: { url: 'http://a.test' } }\n";

fn parse(rest: &str) -> Definition {
    Definition::parse(&format!("{BASE}{rest}")).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn what_is_left_out_has_a_default() {
    let definition = parse(
        "steps:\n  one: { call: { service: a, method: GET, path: /x }, undo: { service: a, method: DELETE, path: /x } }",
    );
    let (plan, service) = (definition.plan(), &definition.services()[0]);
    assert_eq!((plan.steps[0].retry, plan.steps[0].undo), (Retry::STEP, Some(Retry::UNDO)));
    assert_eq!((plan.deadline, plan.serial), (Some(Span::from_secs(86_400)), false));
    assert_eq!((service.timeout, service.concurrency), (Span::from_secs(30), 64));
    assert_eq!(definition.accept().route(), None);
    assert_eq!(definition.take(b"{\"id\": 1}").unwrap().id, None);
}

#[test]
fn the_nearest_retry_policy_holds() {
    let definition = parse(
        "retry: { type: fixed, delay: 30s, attempts: 4 }
undo_retry: { type: exponential, first: 2s, attempts: 3 }
serial: true
accept: { key: '${.owner | ascii_downcase}' }
steps:
  one:
    call: { service: a, method: GET, path: /x }
    retry: { type: none }
    alternative: { call: { service: a, method: GET, path: /y } }
    undo: { service: a, method: DELETE, path: /x }
  two:
    call: { service: a, method: GET, path: /x }
    alternative:
      action: { type: http, method: GET, url: 'http://b.test/y' }
      retry: { type: exponential, factor: 1.5 }
    undo: { service: a, method: DELETE, path: /x, retry: { type: exponential, patience: 2h } }
    complete_by: 90s",
    );
    let [one, two] = &definition.plan().steps[..] else { panic!("two steps") };
    let exponential = |first, factor_percent, max, attempts| Retry::Exponential {
        first: Span::from_ms(first),
        factor_percent,
        max: Span::from_secs(max),
        attempts,
    };
    assert_eq!(one.retry, Retry::None);
    assert_eq!(one.alternative, Some(Retry::None));
    assert_eq!(one.undo, Some(exponential(2000, 200, 3600, 3)));
    assert_eq!(two.retry, Retry::Fixed { delay: Span::from_secs(30), attempts: 4 });
    assert_eq!(two.alternative, Some(exponential(500, 150, 60, 5)));
    let patience = Span::from_secs(7200);
    let (first, max) = (Span::from_ms(500), Span::from_secs(3600));
    assert_eq!(two.undo, Some(Retry::Patient { first, factor_percent: 200, max, patience }));
    assert_eq!(two.complete_by, Some(Span::from_secs(90)));
    assert!(definition.plan().serial);
    assert_eq!(definition.take(b"{\"owner\": \"ANN\"}").unwrap().key.unwrap().as_str(), "ann");
}

#[test]
fn an_alternative_is_judged_as_its_step_unless_it_says_otherwise() {
    let definition = parse(
        "steps:
  one:
    call: { service: a, method: GET, path: /x }
    accept_if: .response.body.ok
    output: .response.headers[\"x-id\"]
    alternative: { call: { service: a, method: GET, path: /y } }
  two:
    call: { service: a, method: GET, path: /x }
    accept_if: .response.body.ok
    output: .response.body.id
    alternative: { call: { service: a, method: GET, path: /y }, accept_if: .response.status == 201, output: .response.body.other }",
    );
    let run = Run::new("{}");
    let headers: HeaderMap =
        [("x-id", "7")].into_iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect();
    let judge = |work, status, body: &'static str| {
        let body = Bytes::from_static(body.as_bytes());
        match definition.judge(work, &run.context(), status, &headers, &body) {
            ResponseVerdict::Done { output } => String::from_utf8(output.to_vec()).unwrap(),
            ResponseVerdict::Refused { reason } => reason,
        }
    };
    let (one, two) = (Work::Alternative(StepIndex(0)), Work::Alternative(StepIndex(1)));
    assert_eq!(judge(one, 200, r#"{"ok":true}"#), "\"7\"");
    assert_eq!(judge(one, 200, r#"{"ok":null}"#), "accept_if '.response.body.ok' is null");
    assert_eq!(judge(two, 201, r#"{"id":1,"other":2}"#), "2");
    assert_eq!(judge(two, 200, r#"{"ok":true}"#), "accept_if '.response.status == 201' is false");
    assert_eq!(judge(Work::Undo(StepIndex(0)), 200, "7"), "null");
}

#[test]
fn a_file_is_put_in_its_place_and_nothing_else_changes() {
    let source = "# mine\nname: w\naccept:\n  schema: 'delivery-request.schema.json' # ours\n  id: .a\n";
    let inlined = inline_files(source, fixtures()).unwrap();
    assert!(inlined.starts_with("# mine\nname: w\naccept:\n  schema: {\""), "{inlined}");
    assert!(inlined.ends_with("} # ours\n  id: .a\n"), "{inlined}");
    assert_eq!(inlined.lines().count(), source.lines().count());
    assert_eq!(inline_files(&inlined, fixtures()).unwrap(), inlined);
    let without = "name: w\nsteps: {}\n";
    assert_eq!(inline_files(without, fixtures()).unwrap(), without);
}

#[test]
fn a_file_that_cannot_be_put_in_is_named() {
    let error = inline_files("accept: { schema: none.json }", Path::new("/nowhere")).unwrap_err();
    expect!["line 1: accept.schema: cannot read /nowhere/none.json: No such file or directory (os error 2)"]
        .assert_eq(&error.to_string());
    let error = inline_files("accept: { schema: [", fixtures()).unwrap_err();
    expect!["line 1: unclosed bracket '['"].assert_eq(&error.to_string());
    let error = inline_files("accept: { schema: ../it/common.rs }", fixtures()).unwrap_err();
    assert!(error.to_string().contains("common.rs: line "), "{error}");
}
