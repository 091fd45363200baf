//! The description against the routes, and what generators stumble over.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::compose;
use crate::routes::table;

/// Every operation, with its path and method.
fn operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let named = |(path, methods): (&String, &Value)| {
        let methods = methods.as_object().unwrap().clone();
        let path = path.clone();
        methods.into_iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
    };
    paths.iter().flat_map(named).collect()
}

/// What a reference leads to, or the value itself.
fn follow<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(to) => document.pointer(to.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

/// Every reference, wherever it stands.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

// guards: 59
#[test]
fn the_document_names_every_route_and_no_other() {
    let described: BTreeSet<String> = operations(&compose())
        .into_iter()
        .map(|(place, operation)| format!("{place} {}", operation["operationId"]))
        .collect();
    let declared = table::all().map(|route| {
        format!("{} {} {:?}", route.method.as_str().to_ascii_lowercase(), route.path, route.doc.id)
    });
    assert_eq!(declared.collect::<BTreeSet<_>>(), described);
    assert!(described.len() > 80, "the table has all areas");
}

/// The members that clients may write, as paths.
fn members_below(document: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let schema = follow(document, schema.pointer("/anyOf/0").unwrap_or(schema));
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        if member["readOnly"] == true {
            continue;
        }
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        members_below(document, member, &path, found);
        found.insert(path);
    }
}

#[test]
fn the_document_names_every_member_of_an_action_and_no_other() {
    let document = compose();
    let mut described = BTreeSet::new();
    members_below(&document, &document["components"]["schemas"]["JobErrorAction"], "", &mut described);
    assert_eq!(described, schedule::action_members().into_iter().collect());
}

#[test]
fn every_reference_leads_somewhere_and_nothing_is_described_in_vain() {
    let document = compose();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for to in &found {
        assert!(document.pointer(to.trim_start_matches('#')).is_some(), "{to}");
    }
    for kind in ["parameters", "responses", "schemas"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            // What stands in lines has no place in a document of this version.
            let in_lines = ["BatchAnswer", "TailRequest"].contains(&name.as_str());
            let used = found.contains(&format!("#/components/{kind}/{name}")) || in_lines;
            assert!(used, "nobody uses {kind}/{name}");
        }
    }
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let mut names = BTreeSet::new();
    for (place, operation) in operations(&compose()) {
        let name = operation["operationId"].as_str().unwrap_or_else(|| panic!("{place} has no operationId"));
        let first = name.chars().next().unwrap();
        assert!(first.is_ascii_lowercase() && name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
        assert!(names.insert(name.to_owned()), "{name} is there twice");
        assert!(operation["summary"].is_string(), "{place} says what it does");
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{place}");
    }
}

#[test]
fn every_refusal_is_a_problem_and_every_operation_says_who_may() {
    let document = compose();
    for (place, operation) in operations(&document) {
        let answers = operation["responses"].as_object().unwrap();
        let open = operation["security"].as_array().is_some_and(Vec::is_empty);
        assert_eq!(answers.contains_key("401"), !open, "{place}: 401");
        assert!(answers.keys().any(|status| status.starts_with('2')), "{place}");
        for (status, answer) in answers.iter().filter(|(status, _)| *status >= &"400".to_owned()) {
            let content = follow(&document, answer)["content"].as_object();
            let problem = content.is_some_and(|content| content.contains_key("application/problem+json"));
            assert!(problem || place == "get /readyz", "{place}: {status}");
        }
    }
}

#[test]
fn every_page_can_be_turned() {
    let document = compose();
    for (place, operation) in operations(&document) {
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        if follow(&document, schema)["properties"]["next"].is_null() {
            continue;
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let names: Vec<&str> =
            parameters.map(|each| follow(&document, each)["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"limit"), "{place}: {names:?}");
        assert!(names.iter().any(|name| ["cursor", "after", "from"].contains(name)), "{place}: {names:?}");
    }
}

/// Generators give what has no name one of their own, which changes when something is added beside it.
#[test]
fn every_object_with_members_has_a_name() {
    fn nameless(place: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                // A member can be called so, too: then it is a schema, and none has a schema as its type.
                if members.get("properties").is_some_and(|all| all.as_object().is_some_and(are_schemas)) {
                    found.push(place.to_owned());
                }
                for (name, value) in members {
                    nameless(&format!("{place}/{name}"), value, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|value| nameless(place, value, found)),
            _ => {}
        }
    }
    fn are_schemas(members: &Map<String, Value>) -> bool {
        !members.is_empty()
            && members.values().all(Value::is_object)
            && !members.contains_key("$ref")
            && !members.contains_key("additionalProperties")
    }
    let document = compose();
    let mut found = Vec::new();
    for (place, operation) in operations(&document) {
        for part in ["responses", "requestBody"] {
            let mut part = operation[part].clone();
            strip_examples(&mut part);
            nameless(&place, &part, &mut found);
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for (member, schema) in schema["properties"].as_object().into_iter().flatten() {
            nameless(&format!("{name}.{member}"), schema, &mut found);
        }
    }
    assert_eq!(found, [""; 0]);
}

/// Examples are values, not schemas.
fn strip_examples(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("example");
            members.values_mut().for_each(strip_examples);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_examples),
        _ => {}
    }
}

#[test]
fn every_schema_is_one_and_every_example_fits_it() {
    let document = compose();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::meta::is_valid(schema), "{name}");
    }
    for (place, operation) in operations(&document) {
        for (_, media) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
            if let Some(example) = media.get("example") {
                let fault = super::examples::fault(&document, &media["schema"], example);
                assert_eq!(fault, None, "{place}");
            }
        }
    }
}
