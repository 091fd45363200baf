//! What is taken from a body is what is found in it when it is looked into piece by piece.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::expression::Input;
use crate::json::Segment;
use crate::json::tests::random::json_text;

struct Pieces<'a>(JsonDocument<'a>);

impl Input for Pieces<'_> {
    fn find(&self, path: &[Segment]) -> Result<Cow<'_, str>, String> {
        self.0.find(path).map(Cow::Borrowed)
    }

    fn fields(&self) -> Option<&'static [&'static str]> {
        None
    }
}

const EXPRESSIONS: [&str; 8] = [
    ".a",
    ".",
    ".[0]",
    ".a.b",
    ".b[-1]",
    ".a // .b",
    ".aa | tostring",
    ". | if .a == \"a\" then .b else .a end",
];

/// A definition with an id and a key.
fn definition(id: &str, key: &str) -> Definition {
    let source = serde_json::json!({
        "name": "w",
        "accept": {"id": id, "key": key},
        "services": {"a": {"url": "http://a.test"}},
        "steps": {"one": {"call": {"service": "a", "method": "GET", "path": "/x"}}},
    });
    Definition::parse(&source.to_string()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn piece<T, E: fmt::Display>(
    field: &'static str,
    source: &str,
    body: &str,
    new: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, AcceptProblem> {
    let fail = |message: String| {
        let message = format!("expression {}: {message}", quote(source));
        AcceptProblem { field, message }
    };
    let found = Expression::compile(source)
        .unwrap()
        .evaluate(&Pieces(JsonDocument::new(body)), OUTPUT_BYTES_MAX)
        .map(|found| found.map(Cow::into_owned))
        .map_err(fail);
    let text = match found?.as_deref() {
        None | Some("null") => return Ok(None),
        Some(found) => {
            match serde_json::from_str::<&serde_json::value::RawValue>(found).unwrap().get().as_bytes()[0] {
                b'"' => serde_json::from_str::<String>(found).unwrap(),
                b'-' | b'0'..=b'9' => found.to_owned(),
                _ => return Err(fail(format!("is {}, not text or a number", json::kind(found)))),
            }
        }
    };
    new(&text).map(Some).map_err(|error| AcceptProblem { field, message: error.to_string() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_id_and_the_key_are_those_that_are_looked_up(body in json_text()) {
        thread_local!(static DEFINITIONS: Vec<(&'static str, &'static str, Definition)> = {
            let keys = EXPRESSIONS.into_iter().cycle().skip(3);
            EXPRESSIONS.into_iter().zip(keys).map(|(id, key)| (id, key, definition(id, key))).collect()
        });
        DEFINITIONS.with(|definitions| {
            for (id, key, definition) in definitions {
                let taken = definition.take(body.as_bytes());
                let Ok(text) = json::check(body.as_bytes()) else {
                    prop_assert!(matches!(taken, Err(BodyProblem::Json(_))));
                    continue;
                };
                let expected = piece("id", id, text, RunId::new).and_then(|id| {
                    Ok(Taken { id, key: piece("key", key, text, Key::new)? })
                });
                prop_assert_eq!(taken, expected.map_err(BodyProblem::Accept), "{} {}", id, key);
            }
            Ok(())
        })?;
    }
}
