//! Converts between a JSON body and form values.

use api_types::FieldError;
use serde_json::{Map, Value};

use super::{FieldKind, FieldValues, FormField, ItemKind};

/// The form values for a body; none if the form cannot represent all of it.
pub(in super::super) fn fill(fields: &[FormField], body: &Value) -> Option<FieldValues> {
    let mut texts = FieldValues::new();
    put(fields, body, &mut texts);
    // A round trip through the form shows whether it can represent the body.
    (read(fields, &texts).as_ref() == Ok(body) && !is_mangled(fields, &texts)).then_some(texts)
}

/// Whether a browser would alter a text: it drops line breaks in a single-line field and normalizes them in a
/// multi-line field.
fn is_mangled(fields: &[FormField], texts: &FieldValues) -> bool {
    fields.iter().any(|field| {
        let has = |mark: char| texts.get(&field.name()).is_some_and(|text| text.contains(mark));
        match &field.kind {
            FieldKind::Group(members) => is_mangled(members, texts),
            FieldKind::Text { long: false, .. } => has('\n') || has('\r'),
            _ => has('\r'),
        }
    })
}

/// The initial form values: the defaults of the schema.
pub(in super::super) fn at_fields(fields: &[FormField]) -> FieldValues {
    let mut texts = FieldValues::new();
    put_defaults(fields, &mut texts);
    texts
}

fn put_defaults(fields: &[FormField], texts: &mut FieldValues) {
    for field in fields {
        match (&field.kind, &field.default) {
            (FieldKind::Group(members), None) => put_defaults(members, texts),
            (_, Some(default)) => put_one(field, default, texts),
            _ => {}
        }
    }
}

fn put(fields: &[FormField], body: &Value, texts: &mut FieldValues) {
    for field in fields {
        if let Some(value) = body.get(&field.member) {
            put_one(field, value, texts);
        }
    }
}

fn put_one(field: &FormField, value: &Value, texts: &mut FieldValues) {
    let text = match &field.kind {
        FieldKind::Group(members) => return put(members, value, texts),
        FieldKind::Text { .. } => value.as_str().unwrap_or_default().to_owned(),
        FieldKind::Number | FieldKind::Flag if value.is_null() => String::new(),
        FieldKind::Lines(_) => {
            let line = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            let lines = value.as_array().map(|items| items.iter().map(line).collect::<Vec<_>>());
            lines.unwrap_or_default().join("\n")
        }
        FieldKind::Json => serde_json::to_string_pretty(value).unwrap_or_default(),
        FieldKind::Number | FieldKind::Flag | FieldKind::Choice(_) => value.to_string(),
    };
    texts.insert(field.name(), text);
}

/// The body for the form values, or the errors.
pub(in super::super) fn read(fields: &[FormField], texts: &FieldValues) -> Result<Value, Vec<FieldError>> {
    let mut errors = Vec::new();
    let body = object(fields, texts, &mut errors);
    if errors.is_empty() { Ok(Value::Object(body)) } else { Err(errors) }
}

fn object(fields: &[FormField], texts: &FieldValues, errors: &mut Vec<FieldError>) -> Map<String, Value> {
    let mut members = Map::new();
    for field in fields {
        let value = match &field.kind {
            FieldKind::Group(inner) => {
                let group = object(inner, texts, errors);
                (field.required || !group.is_empty()).then_some(Value::Object(group))
            }
            kind => one(field, kind, texts.get(&field.name()).map_or("", String::as_str), errors),
        };
        if let Some(value) = value {
            members.insert(field.member.clone(), value);
        }
    }
    members
}

/// The value of a field; none if it is empty. The API reports missing required members.
fn one(field: &FormField, kind: &FieldKind, text: &str, errors: &mut Vec<FieldError>) -> Option<Value> {
    let mut wrong = |message: String| {
        errors.push(FieldError { pointer: Some(field.pointer.clone()), field: None, line: None, message });
        None
    };
    if text.trim().is_empty() {
        return match kind {
            FieldKind::Lines(_) if field.required => Some(Value::Array(Vec::new())),
            _ if field.required && field.nullable => Some(Value::Null),
            _ => None,
        };
    }
    match kind {
        FieldKind::Text { .. } => Some(Value::String(text.to_owned())),
        FieldKind::Number => match number(text) {
            Some(number) => Some(number),
            None => wrong(format!("{text:?} is not a number, such as 12 or 1.5")),
        },
        FieldKind::Lines(item) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let items: Option<Vec<Value>> = lines
                .map(|line| match item {
                    ItemKind::Text => Some(line.into()),
                    ItemKind::Number => number(line),
                })
                .collect();
            items.map(Value::Array).or_else(|| wrong("each line must be a number".to_owned()))
        }
        // Options and flags are sent as JSON; free text must be JSON as well.
        FieldKind::Flag | FieldKind::Choice(_) | FieldKind::Json | FieldKind::Group(_) => {
            match serde_json::from_str(text) {
                Ok(value) => Some(value),
                Err(error) => wrong(format!("not valid JSON: {error}")),
            }
        }
    }
}

fn number(text: &str) -> Option<Value> {
    serde_json::from_str::<serde_json::Number>(text.trim()).ok().map(Value::Number)
}
