//! From a value to what stands in the fields, and back.

use api_types::FieldError;
use serde_json::{Map, Value};

use super::{Field, Item, Kind, Texts};

/// What stands in the fields for a body, if all of it fits into them.
pub(in super::super) fn fill(fields: &[Field], body: &Value) -> Option<Texts> {
    let mut texts = Texts::new();
    put(fields, body, &mut texts);
    // Whatever the fields cannot say, or would say in another way, is found by reading them.
    (read(fields, &texts).as_ref() == Ok(body) && !is_mangled(fields, &texts)).then_some(texts)
}

/// Whether a browser would send a text back in another way: it drops the line breaks of a line, and has one kind of
/// them only in a text of several.
fn is_mangled(fields: &[Field], texts: &Texts) -> bool {
    fields.iter().any(|field| {
        let has = |mark: char| texts.get(&field.name()).is_some_and(|text| text.contains(mark));
        match &field.kind {
            Kind::Group(members) => is_mangled(members, texts),
            Kind::Text { long: false, .. } => has('\n') || has('\r'),
            _ => has('\r'),
        }
    })
}

/// What stands in the fields at first: the defaults of the schema.
pub(in super::super) fn at_fields(fields: &[Field]) -> Texts {
    let mut texts = Texts::new();
    put_defaults(fields, &mut texts);
    texts
}

fn put_defaults(fields: &[Field], texts: &mut Texts) {
    for field in fields {
        match (&field.kind, &field.default) {
            (Kind::Group(members), None) => put_defaults(members, texts),
            (_, Some(default)) => put_one(field, default, texts),
            _ => {}
        }
    }
}

fn put(fields: &[Field], body: &Value, texts: &mut Texts) {
    for field in fields {
        if let Some(value) = body.get(&field.member) {
            put_one(field, value, texts);
        }
    }
}

fn put_one(field: &Field, value: &Value, texts: &mut Texts) {
    let text = match &field.kind {
        Kind::Group(members) => return put(members, value, texts),
        Kind::Text { .. } => value.as_str().unwrap_or_default().to_owned(),
        Kind::Number | Kind::Flag if value.is_null() => String::new(),
        Kind::Lines(_) => {
            let line = |item: &Value| item.as_str().map_or_else(|| item.to_string(), str::to_owned);
            let lines = value.as_array().map(|items| items.iter().map(line).collect::<Vec<_>>());
            lines.unwrap_or_default().join("\n")
        }
        Kind::Json => serde_json::to_string_pretty(value).unwrap_or_default(),
        Kind::Number | Kind::Flag | Kind::Choice(_) => value.to_string(),
    };
    texts.insert(field.name(), text);
}

/// The body that the fields say, or what is wrong with each.
pub(in super::super) fn read(fields: &[Field], texts: &Texts) -> Result<Value, Vec<FieldError>> {
    let mut errors = Vec::new();
    let body = object(fields, texts, &mut errors);
    if errors.is_empty() { Ok(Value::Object(body)) } else { Err(errors) }
}

fn object(fields: &[Field], texts: &Texts, errors: &mut Vec<FieldError>) -> Map<String, Value> {
    let mut members = Map::new();
    for field in fields {
        let value = match &field.kind {
            Kind::Group(inner) => {
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

/// The value of one field; none when it is left empty, which the API finds wanting where it is needed.
fn one(field: &Field, kind: &Kind, text: &str, errors: &mut Vec<FieldError>) -> Option<Value> {
    let mut wrong = |message: String| {
        errors.push(FieldError { pointer: Some(field.pointer.clone()), field: None, line: None, message });
        None
    };
    if text.trim().is_empty() {
        return match kind {
            Kind::Lines(_) if field.required => Some(Value::Array(Vec::new())),
            _ if field.required && field.nullable => Some(Value::Null),
            _ => None,
        };
    }
    match kind {
        Kind::Text { .. } => Some(Value::String(text.to_owned())),
        Kind::Number => match number(text) {
            Some(number) => Some(number),
            None => wrong(format!("{text:?} is not a number; write it like 12 or 1.5")),
        },
        Kind::Lines(item) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let items: Option<Vec<Value>> = lines
                .map(|line| match item {
                    Item::Text => Some(line.into()),
                    Item::Number => number(line),
                })
                .collect();
            items.map(Value::Array).or_else(|| wrong("each line must be a number".to_owned()))
        }
        // A choice and a flag are sent as JSON; what is written by hand must be JSON as well.
        Kind::Flag | Kind::Choice(_) | Kind::Json | Kind::Group(_) => match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(error) => wrong(format!("this is no JSON: {error}")),
        },
    }
}

fn number(text: &str) -> Option<Value> {
    serde_json::from_str::<serde_json::Number>(text.trim()).ok().map(Value::Number)
}
