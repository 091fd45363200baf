//! A schema says of a tree what it says of a value.

use std::sync::LazyLock;

use jsonschema_value::conformance;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::json::tests::random::json_text;

const DELIVERY: &str = include_str!("../../tests/fixtures/delivery-request.schema.json");

/// Between them, most of what a schema can ask.
fn schemas() -> Vec<Value> {
    vec![
        serde_json::from_str(DELIVERY).unwrap(),
        json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"type": "string", "maxLength": 3}}, "required": ["a"], "additionalProperties": false}),
        json!({"propertyNames": {"pattern": "^[a-z]*$", "maxLength": 1}, "minProperties": 1, "maxProperties": 3}),
        json!({"patternProperties": {"^a": {"type": ["number", "null"]}}, "unevaluatedProperties": {"type": "string"}}),
        json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": {"required": ["aa"]}}}),
        json!({"type": "array", "uniqueItems": true, "minItems": 1, "maxItems": 4, "contains": {"type": "number"}}),
        json!({"prefixItems": [{"type": "string"}], "items": {"type": "array", "items": false}}),
        json!({"anyOf": [{"const": {"a": [1, null]}}, {"enum": [1, "a", [], {"a": 1.0}, null, true]}, {"type": "array"}]}),
        json!({"oneOf": [{"multipleOf": 0.5}, {"maximum": 10}, {"type": "string", "minLength": 2}]}),
        json!({"if": {"type": "object"}, "then": {"required": ["a", "b"]}, "else": {"not": {"type": "string"}}}),
        json!({"$defs": {"tree": {"type": ["object", "array", "number"], "additionalProperties": {"$ref": "#/$defs/tree"}, "items": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 1, "exclusiveMinimum": true}),
        json!({"type": "number", "exclusiveMaximum": 1e20, "minimum": -9007199254740993_i64}),
        json!({"additionalProperties": {"format": "date-time"}}),
        json!({"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}, "required": ["b"]}),
    ]
}

/// Values like those that the schemas ask for, and some that are not.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(1)),
        Just(json!(1.0)),
        Just(json!(-1)),
        Just(json!(0.25)),
        Just(json!(1e300)),
        Just(json!(u64::MAX)),
        Just(json!("")),
        Just(json!("a")),
        Just(json!("ä\n\"")),
        Just(json!("Small")),
        Just(json!("None")),
        Just(json!("2026-11-15T10:00:00Z")),
    ];
    let name = || {
        prop_oneof![
            4 => "[ab]{0,2}",
            1 => prop::sample::select(vec!["ownerId", "pickupLocation", "dropOffLocation", "packageInfo", "packageId", "size", "weight", "A\n"]).prop_map(str::to_owned),
        ]
    };
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A request with one of its fields, here or in `packageInfo`, set to a value or left out.
fn request() -> impl Strategy<Value = Value> {
    let whole = json!({
        "deliveryId": "d-1", "ownerId": "o", "pickupLocation": "a", "dropOffLocation": "b",
        "pickupTime": "2026-11-15T10:00:00Z", "deadline": "", "expedited": true, "confirmationRequired": "None",
        "packageInfo": {"packageId": "p", "size": "Small", "weight": 10.5, "tag": "t"},
    });
    let change = (any::<bool>(), any::<prop::sample::Index>(), prop::option::of(value()));
    prop::collection::vec(change, 0..3).prop_map(move |changes| {
        let mut body = whole.clone();
        for (inner, field, value) in changes {
            let place = if inner { &mut body["packageInfo"] } else { &mut body };
            let Value::Object(object) = place else { continue };
            let Some(name) = object.keys().nth(field.index(object.len().max(1))).cloned() else { continue };
            match value {
                Some(value) => object.insert(name, value),
                None => object.remove(&name),
            };
        }
        body
    })
}

/// A schema for trees, and the ordinary validator of it.
struct Pair {
    schema: Schema,
    ordinary: Validator,
}

static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let pair = |schema: &Value| Pair {
        schema: Schema::new(schema).unwrap(),
        ordinary: jsonschema::options().offline().build(schema).unwrap(),
    };
    schemas().iter().map(pair).collect()
});

/// What the ordinary validator says.
fn problems_of_value(validator: &Validator, body: &Value) -> Vec<SchemaProblem> {
    let problem = |error: jsonschema::ValidationError<'_>| SchemaProblem {
        pointer: error.instance_path().as_str().to_owned(),
        message: cut(&error.masked().to_string()),
    };
    validator.iter_errors(body).take(SCHEMA_PROBLEMS_MAX).map(problem).collect()
}

fn problems(schema: &Schema, body: &str) -> Vec<SchemaProblem> {
    let tree = Tree::new(body.as_bytes()).unwrap();
    schema.check(&tree).err().unwrap_or_default()
}

#[test]
fn a_tree_keeps_the_contract_of_the_validator() {
    for document in [conformance::document().to_string(), format!("{:#}", conformance::document())] {
        let tree = Tree::new(document.as_bytes()).unwrap();
        conformance::assert_conformance::<Instance>(&tree.root());
    }
}

#[test]
fn the_last_of_equal_names_is_the_one_that_is_checked() {
    let schema =
        json!({"properties": {"a": {"type": "string"}}, "maxProperties": 1, "additionalProperties": false});
    let schema = &Schema::new(&schema).unwrap();
    assert_eq!(problems(schema, r#"{"b": 1, "a": 1, "\u0061": "x", "b": 2}"#).len(), 2);
    assert_eq!(problems(schema, r#"{"a": 1, "\u0061": "x"}"#), []);
    assert_eq!(problems(schema, r#"{"a": "x", "a": 1}"#).len(), 1);
}

#[test]
fn many_problems_of_a_large_body_cost_no_copies_of_it() {
    let names: Vec<String> = (0..2000).map(|n| format!("n{n}")).collect();
    let body = format!("{{\"text\": [{}]}}", vec!["\"0123456789\""; 50_000].join(","));
    let schema = Schema::new(&json!({"required": names})).unwrap();
    assert_eq!(problems(&schema, &body).len(), SCHEMA_PROBLEMS_MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_tree_has_the_problems_of_its_value(body in prop_oneof![value(), request()]) {
        for (n, pair) in PAIRS.iter().enumerate() {
            let expected = problems_of_value(&pair.ordinary, &body);
            prop_assert_eq!(problems(&pair.schema, &body.to_string()), expected, "schema {}", n);
        }
    }

    #[test]
    fn a_text_fits_when_its_value_does(body in json_text()) {
        let Ok(value) = serde_json::from_str::<Value>(&body) else { return Ok(()) };
        for (n, pair) in PAIRS.iter().enumerate() {
            let expected = pair.ordinary.is_valid(&value);
            prop_assert_eq!(problems(&pair.schema, &body).is_empty(), expected, "schema {}", n);
        }
    }
}
