//! What expressions make of a request, and what they must not be able to make of it.

use crate::common::{Run, call};
use bytes::Bytes;
use expect_test::expect;
use types::{StepIndex, Work};
use workflow::{Definition, RenderedCall};

/// The rendered call of a workflow with one step, over `request`.
fn render(written: &str, request: &str) -> Result<RenderedCall, String> {
    let source = format!(
        "name: w\nservices:\n  a: {{ url: 'http://a.test', headers: {{ x-a: service, x-b: service }} }}\nsteps:\n  one:\n    call: {written}\n"
    );
    let definition = Definition::parse(&source).map_err(|problems| problems.to_string())?;
    let run = Run::new(request);
    definition.render(Work::Do(StepIndex(0)), &run.context()).map(call).map_err(|error| error.to_string())
}

fn url(path: &str, id: &str) -> String {
    let request = serde_json::json!({ "id": id }).to_string();
    let call = format!("{{ service: a, method: GET, path: \"{path}\" }}");
    render(&call, &request).map_or_else(|error| error, |request| request.url)
}

fn body(body: &str, request: &str) -> String {
    let call = format!("{{ service: a, method: POST, path: /x, body: {body} }}");
    match render(&call, request) {
        Ok(request) => String::from_utf8(request.body.unwrap().to_vec()).unwrap(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn what_a_client_sends_stays_within_its_segment() {
    let cases = [
        ("a/b", "http://a.test/x/a%2Fb"),
        ("../admin", "http://a.test/x/..%2Fadmin"),
        ("%2f..%2f", "http://a.test/x/%252f..%252f"),
        ("a?b#c", "http://a.test/x/a%3Fb%23c"),
        ("a b+c&d;e", "http://a.test/x/a%20b%2Bc%26d%3Be"),
        ("ü\r\n\0", "http://a.test/x/%C3%BC%0D%0A%00"),
        ("\\\\evil@host:1", "http://a.test/x/%5C%5Cevil%40host%3A1"),
        ("a.b_c~d-e", "http://a.test/x/a.b_c~d-e"),
        ("...", "http://a.test/x/..."),
    ];
    for (id, expected) in cases {
        assert_eq!(url("/x/${.request.id}", id), expected);
    }
}

#[test]
fn what_would_name_another_resource_is_refused() {
    expect!["path: '..' would change the path"].assert_eq(&url("/x/${.request.id}", ".."));
    expect!["path: '.' would change the path"].assert_eq(&url("/x/${.request.id}/y", "."));
    expect!["line 6: steps.one.call.path: has a segment '.'"].assert_eq(&url("/x/.${.request.id}/y", "."));
    expect!["path: expression '.request.id' is empty"].assert_eq(&url("/x/${.request.id}", ""));
    expect!["path: expression '.request.none' is null; only text, numbers and booleans can stand here"]
        .assert_eq(&url("/x/${.request.none}", ""));
    expect!["path: expression '.request' is an object; only text, numbers and booleans can stand here"]
        .assert_eq(&url("/x/${.request}", ""));
    expect!["path: expression '.request.id.deeper': cannot look up 'deeper' in text"]
        .assert_eq(&url("/x/${.request.id.deeper}", "a"));
    expect!["path: expression '.request.id': the result is larger than 8192 bytes"]
        .assert_eq(&url("/x/${.request.id}", &"x".repeat(9000)));
}

#[test]
fn numbers_and_booleans_stand_in_a_path_as_they_were_sent() {
    let request = r#"{"n": 12345678901234567890123, "f": 1.50, "b": true, "l": [[1, "two"]]}"#;
    let path = "/${.request.n}/${.request.f}/${.request.b}/${.request.l[0][-1]}/${.request.l[0][0] + 1}";
    let request = render(&format!("{{ service: a, method: GET, path: '{path}' }}"), request).unwrap();
    assert_eq!(request.url, "http://a.test/12345678901234567890123/1.50/true/two/2");
}

#[test]
fn queries_are_encoded_and_hold_scalars_only() {
    let call =
        "{ service: a, method: GET, path: /x, query: { q: '${.request.q}', 'a&b': 'x ${.run.id}', n: 5 } }";
    assert_eq!(
        render(call, r#"{"q":"1&x=2"}"#).unwrap().url,
        "http://a.test/x?q=1%26x%3D2&a%26b=x%20d-1&n=5"
    );
    expect!["query.q: expression '.request.q' is an array; only text, numbers and booleans can stand here"]
        .assert_eq(&render(call, r#"{"q":[1]}"#).unwrap_err());
}

#[test]
fn a_url_of_its_own_keeps_its_host() {
    let call =
        "{ type: http, method: GET, url: 'https://b.test:8443/hook/${.request.id}?to=${.request.id}' }";
    let request = render(call, r#"{"id":"@evil.test/?x"}"#).unwrap();
    assert_eq!(request.url, "https://b.test:8443/hook/%40evil.test%2F%3Fx?to=%40evil.test%2F%3Fx");
    assert_eq!(request.service, None);
    expect!["path: '..' would change the path"].assert_eq(&render(call, r#"{"id":".."}"#).unwrap_err());
}

#[test]
fn headers_cannot_be_split() {
    let call = "{ service: a, method: GET, path: /x, headers: { X-B: 'for ${.request.id}' } }";
    let request = render(call, r#"{"id":"ü 1"}"#).unwrap();
    let shown: Vec<_> = request
        .headers
        .iter()
        .map(|(n, v)| format!("{n}={}", String::from_utf8_lossy(v.as_bytes())))
        .collect();
    assert_eq!(shown, ["x-a=service", "x-b=for ü 1"]);
    expect!["headers.x-b: the value has characters that a header must not have"]
        .assert_eq(&render(call, r#"{"id":"1\r\nx-evil: 1"}"#).unwrap_err());
    expect!["headers.x-b: the value has characters that a header must not have"]
        .assert_eq(&render(call, r#"{"id":"\u0000"}"#).unwrap_err());
}

#[test]
fn a_whole_expression_keeps_its_type() {
    let request = r#"{"o": {"z": 1, "a": [1.0, "x"]}, "s": "a\"b", "n": 10.50, "none": null}"#;
    assert_eq!(body("{ o: .request.o }", request), r#"{"o":{"z": 1, "a": [1.0, "x"]}}"#);
    assert_eq!(body("{ n: '${ .request.n }', s: .request.s }", request), r#"{"n":10.50,"s":"a\"b"}"#);
    assert_eq!(body("{ s: 'is ${.request.s}, ${.request.n}' }", request), r#"{"s":"is a\"b, 10.50"}"#);
    assert_eq!(body("{ x: .request.missing.deeper, y: .request.none.x }", request), r#"{"x":null,"y":null}"#);
    assert_eq!(
        body("[1, '.request.n', '$${not}', '$5', 'a.b']", request),
        r#"[1,10.50,"${not}","$5","a.b"]"#
    );
    assert_eq!(body(".request", request), request);
    assert_eq!(body(".request.o", request), r#"{"z": 1, "a": [1.0, "x"]}"#);
    expect![
        "error: body: expression '.request.o' is an object; only text, numbers and booleans can stand here"
    ]
    .assert_eq(&body("{ s: 'is ${.request.o}' }", request));
}

#[test]
fn a_body_that_is_text_is_sent_as_text() {
    let request = r#"{"s": "a\"b"}"#;
    assert_eq!(body("'hello ${.request.s}'", request), "hello a\"b");
    assert_eq!(body(".request.s", request), "a\"b");
    let content_type = |body: &str| {
        let call = format!("{{ service: a, method: POST, path: /x, body: {body} }}");
        let request = render(&call, request).unwrap();
        request.headers.iter().find(|(name, _)| name == "content-type").unwrap().1.clone()
    };
    assert_eq!(content_type("'hello'"), "text/plain; charset=utf-8");
    assert_eq!(content_type(".request.s"), "text/plain; charset=utf-8");
    assert_eq!(content_type(".request"), "application/json");
    assert_eq!(content_type("{ a: 1 }"), "application/json");
}

#[test]
fn a_part_of_the_request_is_sent_without_a_copy() {
    let source = "name: w\nservices: { a: { url: 'http://a.test' } }\nsteps: { one: { call: { service: a, method: PUT, path: /x, body: .request.p } } }";
    let definition = Definition::parse(source).unwrap();
    let run = Run::new(r#"{"p": {"a": 1}}"#);
    let request = call(definition.render(Work::Do(StepIndex(0)), &run.context()).unwrap());
    let sent: Bytes = request.body.unwrap();
    assert!(run.request.as_ptr_range().contains(&sent.as_ptr()));
}

#[test]
fn jq_does_the_rest() {
    let request =
        r#"{"items": [{"n": 2, "p": 1.5}, {"n": 1, "p": 3}], "name": "Ann", "at": "2026-11-15T10:00:00Z"}"#;
    let cases = [
        ("[.request.items[] | .n * .p] | add", "6"),
        (".request.items | map(.n) | sort | join(\"-\")", "1-2"),
        (".request.items | length > 1 and (.[0].n == 2)", "true"),
        ("if .request.name == \"Ann\" then \"a\" else \"b\" end", "a"),
        (".request.nothing // \"default\"", "default"),
        (".request | {name, first: .items[0]}", r#"{"name":"Ann","first":{"n":2,"p":1.5}}"#),
        (".request.name | ascii_downcase | test_missing? // 1", "error"),
        ("\"\\(.request.name)-\\(.run.id)\"", "Ann-d-1"),
        (".request.at | fromdate", "1794736800"),
        ("[.request.items[] | select(.n > 1)] | first | .p", "1.5"),
        (".request.items | with_entries(.value |= .n) | tojson", "error"),
        ("reduce .request.items[] as $i (0; . + $i.n)", "3"),
        (".request.items[0] | to_entries | map(.key) | @json", r#"["n","p"]"#),
        ("[limit(2; range(1e9))]", "[0,1]"),
        (".request.name | @base64", "QW5u"),
        (".request.name | has(\"a\")?", "null"),
        ("[.request | .. | numbers] | max", "3"),
        (". | keys", r#"["request","run","steps"]"#),
        ("\"a,b\" | split(\",\") | reverse", r#"["b","a"]"#),
        ("[1,2,3] | index(2)", "1"),
        (".request | del(.items) | .name", "Ann"),
    ];
    for (expression, expected) in cases {
        let body = body(&serde_json::to_string(&format!("${{{expression}}}")).unwrap(), request);
        let body = if body.starts_with("error") { "error".to_owned() } else { body };
        assert_eq!(body, expected, "{expression}");
    }
}

#[test]
fn an_expression_that_runs_away_is_stopped() {
    let request = r#"{"text": "xxxxxxxxxxxxxxxx", "times": 1000000000000, "zero": 0}"#;
    let doubled = format!(".request.text{}", " | . + .".repeat(60));
    let nested = format!("1{}", " | [., .]".repeat(60));
    let squared = format!("123456789{}", " | . * .".repeat(60));
    let cases = [
        "[range(1e12)]",
        "range(0; 1; 0) | empty",
        "last(range(1e12))",
        "[range(1e12) | try error catch .]",
        "reduce range(1e12) as $i (0; . + $i)",
        "reduce range(1e6) as $i ([]; [.])",
        "[range(1e5) as $a | range(1e5) as $b | $a] | length",
        ".request.text * .request.times",
        ".request.times * .request.text * .request.times",
        "[limit(1e12; range(1e12))] | add",
        "[range(100000) | [range(1000)]] | sort",
        "[range(3000)] | . as $l | [$l[] | $l] | tojson",
        "[range(3000)] | . as $l | [range(100000) | $l == $l]",
        "[range(3000)] | contains([range(3000)])",
        ".request.zero / .request.zero",
        "1e308 * 10",
        "[.request.text] | .[0:1e18] | implode",
        &doubled,
        &nested,
        &squared,
    ];
    for expression in cases {
        let body = body(&serde_json::to_string(&format!("${{{expression}}}")).unwrap(), request);
        assert!(body.starts_with("error: "), "{expression} gave {} bytes", body.len());
        assert!(body.len() < 500, "{body}");
    }
}

#[test]
fn sorting_numbers_that_floats_cannot_tell_apart_does_not_panic() {
    let expression = "${[range(2000) | if . % 3 == 0 then 9007199254740992.0 + 0.0 else 9007199254740992 + . % 2 end] | sort | length}";
    assert_eq!(body(&serde_json::to_string(expression).unwrap(), "{}"), "2000");
    let groups = "${[1, 1.0, 9007199254740993, 9007199254740992] | group_by(.) | length}";
    assert_eq!(body(&serde_json::to_string(groups).unwrap(), "{}"), "3");
}

#[test]
fn only_steps_that_are_surely_done_are_seen() {
    let source = "name: w\nservices: { a: { url: 'http://a.test' } }\nsteps:\n  one: { call: { service: a, method: GET, path: /x } }\n  two: { call: { service: a, method: GET, path: /x } }\n  three: { after: [one], call: { service: a, method: PUT, path: /x, body: '${.steps}' } }";
    let definition = Definition::parse(source).unwrap();
    let mut run = Run::new("{}");
    run.outputs = vec![Some(Bytes::from_static(b"1")), Some(Bytes::from_static(b"2"))];
    let request = call(definition.render(Work::Do(StepIndex(2)), &run.context()).unwrap());
    assert_eq!(request.body.unwrap(), r#"{"one":1}"#);
}
