//! JSON Schemas: a schema and, after a line of `---`, a body that is checked against it.

use serde_json::{Value, json};
use workflow::{BodyProblem, Definition};

use super::definition::check_problems;
use crate::input::{text, two_parts};
use crate::{Target, files};

pub const TARGET: Target = Target {
    name: "schema",
    run,
    seeds,
    words: &[
        "\"$ref\"",
        "\"#\"",
        "\"#/$defs/a\"",
        "\"$defs\"",
        "\"$dynamicRef\"",
        "\"allOf\"",
        "\"anyOf\"",
        "\"oneOf\"",
        "\"not\"",
        "\"pattern\"",
        "\"(a+)+$\"",
        "\"^(\\\\w{1,1000}){1,1000}$\"",
        "\"patternProperties\"",
        "\"uniqueItems\"",
        "\"format\"",
        "\"multipleOf\"",
        "\"unevaluatedProperties\"",
        "\"dependentSchemas\"",
        "\"maxLength\"",
        "\"$schema\"",
        "\"$id\"",
        "\"https://a.test/x\"",
        "\"file:///etc/passwd\"",
        "\"if\"",
        "\"then\"",
        "\"else\"",
        "\"const\"",
        "\"enum\"",
    ],
    inputs: 500,
};

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (schema, body) = two_parts(text);
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    let source = source(&schema);
    let definition = match Definition::parse(&source) {
        Ok(definition) => definition,
        Err(problems) => return check_problems(&problems, &source),
    };
    for body in [body, "{\"deliveryId\":\"d-1\"}", "[1,1]", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\""] {
        let json = workflow::json::check(body.as_bytes());
        match definition.take(body.as_bytes()) {
            Ok(_) => assert!(json.is_ok(), "{body}"),
            Err(BodyProblem::Json(problem)) => {
                let expected =
                    json.map_or_else(|problem| problem.to_string(), |_| "number out of range".to_owned());
                assert!(problem.to_string().contains(&expected), "{problem}: {body}");
            }
            Err(BodyProblem::Accept(problem)) => panic!("{problem}, though nothing is taken: {body}"),
            Err(BodyProblem::Schema(problems)) => {
                assert!(!problems.is_empty() && problems.len() <= workflow::limits::SCHEMA_PROBLEMS_MAX);
                assert!(problems.iter().all(|problem| !problem.message.is_empty()));
            }
        }
    }
}

/// A workflow whose requests must match the schema.
fn source(schema: &Value) -> String {
    let source = json!({
        "name": "w",
        "accept": {"schema": schema},
        "services": {"a": {"url": "http://a.test"}},
        "steps": {"one": {"call": {"service": "a", "method": "GET", "path": "/x"}}},
    });
    source.to_string()
}

fn seeds() -> Vec<Vec<u8>> {
    let delivery = files::text("crates/core/workflow/tests/fixtures/delivery-request.schema.json");
    let own = [
        r##"{"$defs":{"a":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/a"}}]}},"$ref":"#/$defs/a"}"##,
        r#"{"type":"string","pattern":"^(a|aa)+$","maxLength":100,"format":"date-time"}"#,
        r#"{"oneOf":[{"const":1},{"enum":[2,3]},{"multipleOf":0.1}],"not":{"minimum":9}}"#,
        r#"{"properties":{"a":{"if":{"type":"object"},"then":{"required":["b"]}}},"patternProperties":{"^x":true},"additionalProperties":false,"uniqueItems":true}"#,
        "true",
    ];
    let with_body =
        |schema: &str| format!("{schema}\n---\n{{\"deliveryId\":\"d\",\"a\":[[],null]}}").into_bytes();
    own.into_iter().map(with_body).chain([with_body(&delivery)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_every_seed_is_accepted() {
        for seed in seeds() {
            let (schema, body) = two_parts(text(&seed).expect("seeds are text"));
            Definition::parse(&source(&serde_json::from_str(schema).unwrap())).unwrap();
            workflow::json::check(body.as_bytes()).unwrap();
        }
    }
}
