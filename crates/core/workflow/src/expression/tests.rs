//! Expressions: what is a path, what is used, what is bounded.

use super::*;
use crate::context::BodyInput;
use crate::json::Tree;

fn is_path(source: &str) -> bool {
    matches!(Expression::compile(source).unwrap().program, Program::Path(_))
}

fn uses(source: &str) -> String {
    let expression = Expression::compile(source).unwrap();
    if expression.uses.all {
        return "all".to_owned();
    }
    let names: Vec<_> = expression.uses().map(|(a, b)| [a, b.unwrap_or("*")].join(".")).collect();
    names.join(" ")
}

fn evaluate(source: &str, input: &str) -> Result<Option<String>, String> {
    let expression = Expression::compile(source)?;
    let tree = Tree::new(input.as_bytes()).unwrap();
    let input = BodyInput(&tree);
    expression.evaluate(&input, 1000).map(|value| value.map(|text| text.into_owned()))
}

#[test]
fn a_plain_path_is_not_interpreted() {
    for source in [".", ".a", ".a.b.c", ".a[\"b-c\"]", ".a[0]", ".a[-1].b", ".\"a\".b", " .a "] {
        assert!(is_path(source), "{source}");
    }
    for source in [".a?", ".a[]", ".a | .b", ".a[.b]", "..", ".a[1:]", ".a + 1", "\"a\"", ".[\"\\(.a)\"]"] {
        assert!(!is_path(source), "{source}");
    }
}

#[test]
fn a_plain_path_and_the_interpreter_agree() {
    let input = r#"{"a": {"b": [1, {"c": "x"}], "n": null}, "t": "text"}"#;
    for path in [".", ".a", ".a.b", ".a.b[0]", ".a.b[-1].c", ".a.b[9]", ".a.n.x", ".none.x", ".t.x", ".a[0]"]
    {
        let strip = |json: Option<String>| json.map(|json| json.replace(' ', ""));
        let (plain, jq) = (evaluate(path, input), evaluate(&format!("({path})"), input));
        // A path in brackets is still a plain path; a pipe is not.
        let piped = evaluate(&format!("{path} | ."), input);
        assert_eq!(plain, jq);
        assert_eq!(plain.clone().ok().map(strip), piped.clone().ok().map(strip), "{path}");
        assert_eq!(plain.is_err(), piped.is_err(), "{path}: {plain:?} {piped:?}");
    }
}

#[test]
fn a_plain_comparison_and_the_interpreter_agree() {
    let inputs =
        ["true", "false", "null", "\"x\"", "\"\\u0078\"", "\"\"", "1", "1.0", "[]", "{}", "{\"a\": true}"];
    for constant in ["true", "false", "null", "\"x\"", "\"\"", "\"\\u0078\"", "\"true\""] {
        for value in inputs {
            let input = format!("{{\"v\": {value}}}");
            for path in [".v", ".v.a", ".none"] {
                let source = format!("{path} == {constant}");
                assert!(matches!(Expression::compile(&source).unwrap().program, Program::Equals(..)));
                let (plain, jq) = (evaluate(&source, &input), evaluate(&format!("{source} | ."), &input));
                assert_eq!(plain.is_err(), jq.is_err(), "{source} on {input}: {plain:?} {jq:?}");
                assert_eq!(plain.ok(), jq.ok(), "{source} on {input}");
            }
        }
    }
    for source in [".a == 1", ".a == .b", ".a != true", "true == .a", ".a == true | not", ".a == \"\\(.b)\""]
    {
        assert!(!matches!(Expression::compile(source).unwrap().program, Program::Equals(..)), "{source}");
    }
}

#[test]
fn only_the_fields_that_are_used_are_read() {
    assert_eq!(uses(".request.a.b + .run.id"), "request.a run.id");
    assert_eq!(uses(".response.body == true"), "response.body");
    assert_eq!(uses(".request | map(.x)"), "request.*");
    assert_eq!(uses(".steps[\"a\"] // .request.b"), "request.b steps.a");
    assert_eq!(uses("if .request.a then .run.id else null end"), "request.a run.id");
    assert_eq!(uses("if .request.a then .run.id end"), "all");
    assert_eq!(uses(".request as $r | .run.id"), "request.* run.id");
    assert_eq!(uses("{a: .request.x, b: [.run.key]}"), "request.x run.key");
    assert_eq!(uses("reduce .request.a[] as $x (0; . + $x)"), "request.a");
    for source in
        [". | .a", "keys", "..", ".[\"a\", \"b\"]", ".[.request.a]", ".a = 1", "any(.request[]; .x)"]
    {
        assert_eq!(uses(source), "all", "{source}");
    }
}

#[test]
fn only_the_first_result_counts() {
    assert_eq!(evaluate(".a[]", r#"{"a": [7, 8]}"#), Ok(Some("7".to_owned())));
    assert_eq!(evaluate("empty", "{}"), Ok(None));
    assert_eq!(evaluate("1, error", "{}"), Ok(Some("1".to_owned())));
}

#[test]
fn every_function_on_the_list_exists() {
    for (name, counts) in functions::ALLOWED {
        for count in *counts {
            let arguments =
                if *count == 0 { String::new() } else { format!("({})", vec!["."; *count].join("; ")) };
            let source = format!(". | {name}{arguments}");
            assert!(Expression::compile(&source).is_ok(), "{source}: {:?}", Expression::compile(&source));
        }
    }
    for format in functions::ALLOWED_FORMATS {
        assert!(Expression::compile(&format!(". | {format}")).is_ok(), "{format}");
        assert!(Expression::compile(&format!("{format} \"a\\(.a)\"")).is_ok(), "{format}");
    }
}

#[test]
fn the_meter_is_full_again_for_the_next_evaluation() {
    assert!(evaluate("[range(1e9)]", "{}").is_err());
    assert_eq!(evaluate("[range(1000)] | length", "{}"), Ok(Some("1000".to_owned())));
}

#[test]
fn results_have_a_largest_size() {
    let text = format!("{{\"a\": \"{}\"}}", "x".repeat(2000));
    assert_eq!(evaluate(".a", &text), Err("the result is larger than 1000 bytes".to_owned()));
    assert_eq!(evaluate(".a | .", &text), Err("the result is larger than 1000 bytes".to_owned()));
}

#[test]
fn numbers_have_one_order_without_contradictions() {
    use std::cmp::Ordering::Equal;
    let float = |f: f64| Val::from(f);
    let whole = |n: isize| Val::from(n);
    let near = 9_007_199_254_740_992;
    let numbers = [
        whole(near),
        whole(near + 1),
        float(9_007_199_254_740_992.0),
        float(-0.0),
        whole(0),
        float(0.5),
        float(-0.5),
        whole(isize::MAX),
        whole(isize::MIN),
        float(isize::MAX as f64),
        float(1e300),
        float(-1e300),
    ];
    for a in &numbers {
        for b in &numbers {
            assert_eq!(order::compare(a, b), order::compare(b, a).reverse(), "{a} {b}");
            for c in &numbers {
                let (ab, bc) = (order::compare(a, b), order::compare(b, c));
                if ab == bc || bc == Equal {
                    assert_eq!(order::compare(a, c), ab, "{a} {b} {c}");
                }
            }
        }
    }
}
