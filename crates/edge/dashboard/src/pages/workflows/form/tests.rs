//! Tests of forms: from schemas to fields to JSON and back.

use serde_json::json;

use super::*;

/// The fields in a line: `name:kind` with `!` for required ones.
fn outline(fields: &[FormField]) -> String {
    let one = |field: &FormField| {
        let kind = match &field.kind {
            FieldKind::Text { format, .. } => format.as_deref().unwrap_or("text").to_owned(),
            FieldKind::Number => "number".to_owned(),
            FieldKind::Flag => "flag".to_owned(),
            FieldKind::Choice(choices) => format!("one of {}", choices.len()),
            FieldKind::Group(members) => format!("[{}]", outline(members)),
            FieldKind::Lines(item) => format!("{item:?} lines"),
            FieldKind::Json => "json".to_owned(),
        };
        format!("{}{}:{kind}", field.member, if field.required { "!" } else { "" })
    };
    fields.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(schema: Value, expected: &str) -> Vec<FormField> {
    let fields = from_schema(&schema).unwrap_or_default();
    assert_eq!(outline(&fields), expected);
    // Whatever the schema is, its form can be drawn, and it draws no markup of the schema's.
    let drawn = super::fields(&fields, &at_fields(&fields), &[]).into_string();
    assert!(!drawn.contains("<script>"), "{drawn}");
    fields
}

fn drone() -> Value {
    json!({
        "type": "object", "required": ["ownerId", "packageInfo"],
        "properties": {
            "ownerId": { "type": "string", "title": "Owner", "description": "who pays" },
            "pickupTime": { "type": ["string", "integer", "null"] },
            "expedited": { "type": ["boolean", "null"] },
            "confirmation": { "enum": ["None", "Voice", 3, null] },
            "tags": { "type": "array", "items": { "type": "string" } },
            "counts": { "type": "array", "items": { "type": "integer" } },
            "packageInfo": {
                "type": "object", "required": ["size"],
                "properties": { "size": { "enum": ["Small"] }, "weight": { "type": "number" } }
            },
            "extra": { "oneOf": [{ "type": "string" }, { "type": "object" }] }
        }
    })
}

#[test]
fn a_schema_becomes_fields() {
    check(
        drone(),
        "ownerId!:text packageInfo!:[size!:one of 1 weight:number] confirmation:one of 4 counts:Number lines \
         expedited:flag extra:json pickupTime:text tags:Text lines",
    );
}

#[test]
fn references_within_the_document_are_followed_and_rings_end() {
    let schema = json!({
        "$defs": {
            "name": { "type": "string", "format": "email" },
            "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" }, "v": { "type": "number" } } },
            "ring": { "$ref": "#/$defs/ring" }
        },
        "properties": {
            "name": { "$ref": "#/$defs/name" }, "ring": { "$ref": "#/$defs/ring" }, "far": { "$ref": "http://x/y" },
        }
    });
    check(schema.clone(), "far:json name:email ring:json");
    let mut tree = schema;
    tree["properties"] = json!({ "tree": { "$ref": "#/$defs/node" } });
    let fields = from_schema(&tree).expect("fields");
    let depth = outline(&fields).matches('[').count();
    assert!(depth <= DEPTH_MAX, "{depth}");
}

#[test]
fn odd_and_hostile_schemas_are_written_as_json_or_have_no_form() {
    for schema in [
        json!(true),
        json!({}),
        json!([]),
        json!({ "type": "array" }),
        json!({ "properties": 5 }),
        json!(null),
    ] {
        check(schema, "");
    }
    let many: Map<String, Value> = (0..5000).map(|n| (format!("p{n}"), json!({}))).collect();
    check(json!({ "properties": many }), "");
    let choices: Vec<usize> = (0..5000).collect();
    check(
        json!({ "properties": {
            "a": { "type": 5 }, "b": true, "c": { "enum": choices }, "d": { "type": "array" }, "e": { "enum": [] },
            "f": { "type": "array", "items": [{ "type": "string" }] }, "g": { "type": "object" }, "h": null } }),
        "a:json b:json c:json d:json e:json f:json g:json h:json",
    );
    check(
        json!({ "properties": { "<script>alert(1)</script>": {
            "type": "string", "title": "<script>t</script>", "description": "\"><script>", "default": "<script>",
            "format": "<script>" } } }),
        "<script>alert(1)</script>:<script>",
    );
    check(
        json!({ "properties": { "a/b": { "type": "string" }, "a~b": { "const": [1] } }, "required": ["a~b"] }),
        "a~b!:one of 1 a/b:text",
    );
}

/// Fields that hold a body give the same body again.
#[test]
fn what_is_filled_in_is_read_as_it_was() {
    let fields = from_schema(&drone()).expect("fields");
    for body in [
        json!({ "ownerId": "o", "packageInfo": { "size": "Small" } }),
        json!({ "ownerId": " o ", "packageInfo": {}, "expedited": false, "confirmation": 3 }),
        json!({ "ownerId": "\"<&>", "packageInfo": { "weight": 1.5 }, "tags": ["a", " b "], "counts": [1, -2],
                "extra": { "deep": [null] }, "pickupTime": "2026", "confirmation": null }),
        json!({ "packageInfo": { "weight": -0.25e10 } }),
    ] {
        let texts = fill(&fields, &body).unwrap_or_else(|| panic!("{body} fits"));
        assert_eq!(read(&fields, &texts), Ok(body));
    }
}

#[test]
fn what_does_not_fit_into_the_fields_is_not_put_into_them() {
    let fields = from_schema(&drone()).expect("fields");
    for body in [
        json!({ "ownerId": "o", "packageInfo": {}, "unknown": 1 }),
        json!({ "ownerId": 5, "packageInfo": {} }),
        json!({ "ownerId": "", "packageInfo": {} }),
        json!({ "packageInfo": {}, "pickupTime": 5 }),
        json!({ "packageInfo": {}, "expedited": null }),
        json!({ "packageInfo": {}, "tags": ["two\nlines"] }),
        json!({ "packageInfo": {}, "ownerId": "two\nlines" }),
        json!({ "packageInfo": {}, "tags": ["a\rb"] }),
        json!({ "packageInfo": {}, "tags": [] }),
        json!({ "packageInfo": [] }),
        json!({}),
        json!([]),
        json!("text"),
    ] {
        assert_eq!(fill(&fields, &body), None, "{body}");
    }
}

#[test]
fn defaults_and_constants_stand_in_the_fields() {
    let fields = from_schema(&json!({ "required": ["kind"], "properties": {
        "kind": { "const": "order" }, "n": { "type": "integer", "default": 3 },
        "in": { "type": "object", "properties": { "on": { "type": "boolean", "default": true } } } } }))
    .expect("fields");
    assert_eq!(
        read(&fields, &at_fields(&fields)),
        Ok(json!({ "kind": "order", "n": 3, "in": { "on": true } }))
    );
}

#[test]
fn what_cannot_be_read_is_reported_at_its_field() {
    let fields = from_schema(&drone()).expect("fields");
    let texts = [
        ("f/packageInfo/weight", "heavy"),
        ("f/counts", "1\ntwo"),
        ("f/extra", "{"),
        ("f/expedited", "perhaps"),
    ];
    let texts: FieldValues = texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let errors = read(&fields, &texts).expect_err("four are wrong");
    let places: Vec<&str> = errors.iter().filter_map(|error| error.pointer.as_deref()).collect();
    assert_eq!(places, ["/packageInfo/weight", "/counts", "/expedited", "/extra"]);
    let drawn = super::fields(&fields, &texts, &errors).into_string();
    assert_eq!(drawn.matches("aria-invalid").count(), 4);
    assert!(drawn.contains("heavy"), "nothing that was typed is lost");
}

#[test]
fn an_error_of_the_api_stands_beside_its_field() {
    let fields = from_schema(&drone()).expect("fields");
    let error = |pointer: &str, message: &str| api_types::FieldError {
        pointer: Some(pointer.to_owned()),
        field: None,
        line: None,
        message: message.to_owned(),
    };
    let shown = |error| super::fields(&fields, &FieldValues::new(), &[error]).into_string();
    let at = |html: &str, id: &str| {
        let from = html.find(&format!("id=\"{id}\"")).expect("the control is there");
        html[from..].split("</div>").next().unwrap_or_default().to_owned()
    };
    let html = shown(error("", "\"ownerId\" is a required property"));
    assert!(at(&html, "f/ownerId").contains("required property"), "{html}");
    let html = shown(error("/packageInfo", "\"size\" is a required property"));
    assert!(at(&html, "f/packageInfo/size").contains("required property"), "{html}");
    let html = shown(error("/tags/3", "too long"));
    assert!(at(&html, "f/tags").contains("too long"), "{html}");
}
