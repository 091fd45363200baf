//! Renders the fields as controls with label, hint and errors.

use api_types::FieldError;
use maud::{Markup, html};
use serde_json::Value;

use super::{FieldKind, FieldValues, FormField, ItemKind};
use crate::components;

/// The controls of these fields.
pub(in super::super) fn fields(fields: &[FormField], texts: &FieldValues, errors: &[FieldError]) -> Markup {
    html! {
        div.columns { @for field in fields {
            @if let FieldKind::Group(members) = &field.kind {
                fieldset aria-describedby=[components::described(&field.name(), &field.hint, &messages(field, errors))] {
                    legend { (field.label) (mark(field)) }
                    (components::hint(&field.name(), &field.hint))
                    (components::wrong(&field.name(), &messages(field, errors)))
                    (self::fields(members, texts, errors))
                }
            } @else {
                (one(field, texts.get(&field.name()).map_or("", String::as_str), &messages(field, errors)))
            }
        } }
    }
}

fn one(field: &FormField, text: &str, wrong: &[&str]) -> Markup {
    let (name, invalid) = (field.name(), (!wrong.is_empty()).then_some("true"));
    let needed = field.required.then_some("true");
    let hint = hint(field);
    let described = components::described(&name, &hint, wrong);
    html! {
        div.field {
            label for=(name) { (field.label) (mark(field)) }
            @match &field.kind {
                FieldKind::Flag => (choice(field, &[Value::Bool(true), Value::Bool(false)], text, invalid, described.as_deref())),
                FieldKind::Choice(choices) => (choice(field, choices, text, invalid, described.as_deref())),
                FieldKind::Json | FieldKind::Lines(_) | FieldKind::Text { long: true, .. } => {
                    textarea id=(name) name=(name) rows="4" spellcheck="false" aria-required=[needed] aria-invalid=[invalid] aria-describedby=[&described] {
                        // Browsers drop the first line break in a textarea.
                        "\n" (text)
                    }
                },
                FieldKind::Number => {
                    input id=(name) name=(name) value=(text) inputmode="decimal" autocomplete="off"
                        aria-required=[needed] aria-invalid=[invalid] aria-describedby=[&described];
                },
                FieldKind::Text { format, .. } => {
                    input id=(name) name=(name) value=(text) type=(type_of(format.as_deref(), text)) autocomplete="off"
                        aria-required=[needed] aria-invalid=[invalid] aria-describedby=[&described];
                },
                FieldKind::Group(_) => {},
            }
            (components::hint(&name, &hint))
            (components::wrong(&name, wrong))
        }
    }
}

fn choice(
    field: &FormField,
    choices: &[Value],
    text: &str,
    invalid: Option<&str>,
    described: Option<&str>,
) -> Markup {
    let name = field.name();
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut options: Vec<(String, String)> =
        choices.iter().map(|value| (value.to_string(), word(value))).collect();
    // A value that is not among the options must not change when the form is shown.
    if !text.is_empty() && !options.iter().any(|(json, _)| json == text) {
        options.push((text.to_owned(), text.to_owned()));
    }
    html! {
        select id=(name) name=(name) aria-required=[field.required.then_some("true")] aria-invalid=[invalid]
            aria-describedby=[described] {
            option value="" { (if field.required { "choose…" } else { "not set" }) }
            @for (json, word) in &options { option value=(json) selected[json == text] { (word) } }
        }
    }
}

fn mark(field: &FormField) -> Markup {
    html! { @if field.required { " " span.needed { "(required)" } } }
}

fn hint(field: &FormField) -> String {
    let kind = match &field.kind {
        FieldKind::Lines(ItemKind::Text) => "One per line.",
        FieldKind::Lines(ItemKind::Number) => "One number per line.",
        FieldKind::Json => "JSON; put text in quotes.",
        FieldKind::Text { format: Some(format), .. } if format == "date-time" => {
            "For example 2026-03-01T12:00:00Z."
        }
        _ => "",
    };
    [field.hint.as_str(), kind].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The input type for a format. Browsers show a date field empty unless its value is a date.
fn type_of(format: Option<&str>, text: &str) -> &'static str {
    let is_date = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match format {
        Some("date") if text.is_empty() || is_date => "date",
        Some("email") => "email",
        Some("uri") => "url",
        _ => "text",
    }
}

/// The errors of a field, including those of nested values without a field of their own.
fn messages<'a>(field: &FormField, errors: &'a [FieldError]) -> Vec<&'a str> {
    let own = |error: &&FieldError| {
        let place = place(error);
        place.strip_prefix(field.pointer.as_str()).is_some_and(|rest| {
            rest.is_empty() || (rest.starts_with('/') && !matches!(field.kind, FieldKind::Group(_)))
        })
    };
    errors.iter().filter(own).map(|error| error.message.as_str()).collect()
}

/// The pointer that an error belongs to: the schema validator reports a missing member for its parent object.
fn place(error: &FieldError) -> String {
    let pointer = error.pointer.clone().unwrap_or_default();
    let missing =
        error.message.strip_prefix('"').and_then(|rest| rest.strip_suffix("\" is a required property"));
    match missing {
        Some(member) => format!("{pointer}/{}", member.replace('~', "~0").replace('/', "~1")),
        None => pointer,
    }
}
