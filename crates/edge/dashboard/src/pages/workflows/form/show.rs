//! The fields as controls, each with its label, its hint and what is wrong with it.

use api_types::FieldError;
use maud::{Markup, html};
use serde_json::Value;

use super::{FieldKind, FieldValues, FormField, ItemKind};
use crate::pieces;

/// The controls of these fields.
pub(in super::super) fn fields(fields: &[FormField], texts: &FieldValues, errors: &[FieldError]) -> Markup {
    html! {
        div.columns { @for field in fields {
            @if let FieldKind::Group(members) = &field.kind {
                fieldset aria-describedby=[pieces::described(&field.name(), &field.hint, &messages(field, errors))] {
                    legend { (field.label) (mark(field)) }
                    (pieces::hint(&field.name(), &field.hint))
                    (pieces::wrong(&field.name(), &messages(field, errors)))
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
    let described = pieces::described(&name, &hint, wrong);
    html! {
        div.field {
            label for=(name) { (field.label) (mark(field)) }
            @match &field.kind {
                FieldKind::Flag => (choice(field, &[Value::Bool(true), Value::Bool(false)], text, invalid, described.as_deref())),
                FieldKind::Choice(choices) => (choice(field, choices, text, invalid, described.as_deref())),
                FieldKind::Json | FieldKind::Lines(_) | FieldKind::Text { long: true, .. } => {
                    textarea id=(name) name=(name) rows="4" spellcheck="false" aria-required=[needed] aria-invalid=[invalid] aria-describedby=[&described] {
                        // The first line break of a textarea is not part of its text.
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
            (pieces::hint(&name, &hint))
            (pieces::wrong(&name, wrong))
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
    // What is not among the choices must not become another by being shown.
    if !text.is_empty() && !options.iter().any(|(json, _)| json == text) {
        options.push((text.to_owned(), text.to_owned()));
    }
    html! {
        select id=(name) name=(name) aria-required=[field.required.then_some("true")] aria-invalid=[invalid]
            aria-describedby=[described] {
            option value="" { (if field.required { "choose…" } else { "not said" }) }
            @for (json, word) in &options { option value=(json) selected[json == text] { (word) } }
        }
    }
}

fn mark(field: &FormField) -> Markup {
    html! { @if field.required { " " span.needed { "(needed)" } } }
}

fn hint(field: &FormField) -> String {
    let kind = match &field.kind {
        FieldKind::Lines(ItemKind::Text) => "One in each line.",
        FieldKind::Lines(ItemKind::Number) => "One number in each line.",
        FieldKind::Json => "As JSON; text in quotes.",
        FieldKind::Text { format: Some(format), .. } if format == "date-time" => "Like 2026-03-01T12:00:00Z.",
        _ => "",
    };
    [field.hint.as_str(), kind].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Inputs that help to fill in what they are for. A browser shows nothing but a date in a field for dates.
fn type_of(format: Option<&str>, text: &str) -> &'static str {
    let is_date = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match format {
        Some("date") if text.is_empty() || is_date => "date",
        Some("email") => "email",
        Some("uri") => "url",
        _ => "text",
    }
}

/// What is wrong with a field, and with what it holds where that has no field of its own.
fn messages<'a>(field: &FormField, errors: &'a [FieldError]) -> Vec<&'a str> {
    let own = |error: &&FieldError| {
        let place = place(error);
        place.strip_prefix(field.pointer.as_str()).is_some_and(|rest| {
            rest.is_empty() || (rest.starts_with('/') && !matches!(field.kind, FieldKind::Group(_)))
        })
    };
    errors.iter().filter(own).map(|error| error.message.as_str()).collect()
}

/// Where an error belongs: that of a member which is missing is told of the object around it.
fn place(error: &FieldError) -> String {
    let pointer = error.pointer.clone().unwrap_or_default();
    let missing =
        error.message.strip_prefix('"').and_then(|rest| rest.strip_suffix("\" is a required property"));
    match missing {
        Some(member) => format!("{pointer}/{}", member.replace('~', "~0").replace('/', "~1")),
        None => pointer,
    }
}
