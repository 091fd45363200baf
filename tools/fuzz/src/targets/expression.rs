//! Expressions: the first line is the expression, the rest is the request it sees. Bounded in work and in size.

use bytes::Bytes;
use serde_json::json;
use types::{Key, RunId, StepIndex, Work};
use workflow::json::check;
use workflow::limits::BODY_BYTES_MAX;
use workflow::{Definition, ExpressionContext, RenderedAction};

use super::definition::check_problems;
use crate::Target;
use crate::input::{first_line, text};

pub const TARGET: Target = Target {
    name: "expression",
    run,
    seeds,
    words: &[
        ".request",
        ".run.id",
        ".steps",
        "map(",
        "select(",
        "range(",
        "reduce ",
        "foreach ",
        " as $x ",
        "limit(",
        "first(",
        "recurse",
        "..",
        "test(",
        "sub(",
        "gsub(",
        "split(",
        "join(",
        "tojson",
        "fromjson",
        "tostring",
        "tonumber",
        "keys",
        "length",
        "add",
        "sort_by(",
        "group_by(",
        "unique",
        "to_entries",
        "from_entries",
        "with_entries(",
        "paths",
        "if ",
        " then ",
        " else ",
        " end",
        "try ",
        " catch ",
        " | ",
        " // ",
        "?",
        "ascii_downcase",
        "ltrimstr(",
        "@base64",
        "@uri",
        "@json",
        "env",
        "input",
        "def f: ",
        "repeat(",
        "until(",
        "while(",
        "splits(",
        "tojson|",
        "strftime(",
        "mktime",
        "now",
        "explode",
        "implode",
        "infinite",
        "nan",
        "* 1000000",
        "1e1000",
        "reverse",
        "flatten",
        "getpath(",
        "error",
    ],
    inputs: 1200,
};

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (expression, request) = first_line(text);
    let request =
        if check(request.as_bytes()).is_ok() { request } else { r#"{"a":[1,"x",null],"b":{"c":2}}"# };
    let source = source(expression);
    let definition = match Definition::parse(&source) {
        Ok(definition) => definition,
        Err(problems) => return check_problems(&problems, &source),
    };
    let request = Bytes::copy_from_slice(request.as_bytes());
    let (id, key) = (RunId::new("d-1").expect("a valid id"), Key::new("k").expect("a valid key"));
    let context = ExpressionContext { run: &id, key: &key, request: &request, outputs: &[], ending: None };
    let rendered = definition.render(Work::Do(StepIndex(0)), &context);
    if let Ok(RenderedAction::Call(call)) = &rendered {
        let body = call.body.as_ref().expect("the call has a body");
        assert!(body.len() <= BODY_BYTES_MAX, "{} bytes", body.len());
    }
    assert_eq!(rendered, definition.render(Work::Do(StepIndex(0)), &context), "the same each time");
    let _ = definition.take(&request);
}

/// A workflow that uses the expression for the id and in a body.
fn source(expression: &str) -> String {
    let source = json!({
        "name": "w",
        "accept": {"id": format!("${{{expression}}}")},
        "services": {"a": {"url": "http://a.test"}},
        "steps": {"one": {"call": {"service": "a", "method": "POST", "path": "/x", "body": {"x": format!("${{{expression}}}"), "y": expression}}}},
    });
    source.to_string()
}

fn seeds() -> Vec<Vec<u8>> {
    [
        ".request.a",
        ".request | map(.) | length",
        "[.request.items[] | select(.price > 10) | {name, total: (.price * .count)}]\n{\"items\":[{\"name\":\"n\",\"price\":12,\"count\":3}]}",
        "reduce range(10) as $x (0; . + $x)",
        "[limit(3; range(9))]",
        ".request.a // \"none\" | tostring | ascii_downcase | ltrimstr(\"n\")",
        "if .request.b then .run.id else (try error(\"x\") catch .) end",
        "[.request | .. | numbers] | add",
        ".request | to_entries | map(\"\\(.key)=\\(.value | tojson)\") | join(\"&\")",
        "\"a-b-c\" | split(\"-\") | group_by(length) | flatten | unique | reverse | first",
        "[range(1000) | . * 1000000] | map(tostring) | add",
        ".request.b.c as $x | [foreach (1,2,3) as $y ($x; . + $y)]",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_accepted() {
        let refused = |seed: &Vec<u8>| {
            let (expression, _) = first_line(text(seed).expect("seeds are text"));
            Definition::parse(&source(expression)).err().map(|problems| problems.to_string())
        };
        assert_eq!(seeds().iter().filter_map(refused).collect::<Vec<_>>(), [""; 0]);
    }
}
