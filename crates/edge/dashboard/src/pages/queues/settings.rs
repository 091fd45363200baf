//! The settings of a queue, topic or subscription, as text and as a form.

use api_types::{FieldError, Problem, QueueView, TopicView};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::size;
use crate::components;
use crate::components::controls::{Controls, FieldValues};
use crate::context::{PageContext, encoded};
use crate::error::PageError;

/// What the settings belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntityKind {
    Queue,
    Topic,
    Subscription,
}

impl EntityKind {
    fn word(self) -> &'static str {
        match self {
            EntityKind::Queue => "queue",
            EntityKind::Topic => "topic",
            EntityKind::Subscription => "subscription",
        }
    }

    /// The settings by type: text, number, boolean, JSON.
    fn fields(self) -> &'static [(&'static str, SettingsForm)] {
        const QUEUE: [(&str, SettingsForm); 8] = [
            ("lock", SettingsForm::Text),
            ("time_to_live", SettingsForm::Text),
            ("deliveries_max", SettingsForm::Number),
            ("dead_letter_expired", SettingsForm::Flag),
            ("duplicate_window", SettingsForm::Text),
            ("sessions", SettingsForm::Flag),
            ("messages_max", SettingsForm::Number),
            ("bytes_max", SettingsForm::Number),
        ];
        const SUBSCRIPTION: [(&str, SettingsForm); 8] = [
            ("lock", SettingsForm::Text),
            ("time_to_live", SettingsForm::Text),
            ("deliveries_max", SettingsForm::Number),
            ("dead_letter_expired", SettingsForm::Flag),
            ("sessions", SettingsForm::Flag),
            ("messages_max", SettingsForm::Number),
            ("bytes_max", SettingsForm::Number),
            ("filter", SettingsForm::Json),
        ];
        match self {
            EntityKind::Queue => &QUEUE,
            EntityKind::Topic => {
                &[("time_to_live", SettingsForm::Text), ("duplicate_window", SettingsForm::Text)]
            }
            EntityKind::Subscription => &SUBSCRIPTION,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingsForm {
    Text,
    Number,
    Flag,
    Json,
}

/// The settings of a queue or subscription, short, for a list.
pub(super) fn queue_in_short(queue: &QueueView) -> String {
    let mut words = vec![format!("lock {}", queue.lock)];
    words.extend(queue.time_to_live.map(|span| format!("TTL {span}")));
    words.extend(queue.sessions.then(|| "sessions".to_owned()));
    words.extend(filter_in_words(queue));
    words.join("; ")
}

fn filter_in_words(queue: &QueueView) -> Option<String> {
    let text = serde_json::to_string(queue.filter.as_ref()?).ok()?;
    (text != "{}").then(|| format!("filter {text}"))
}

/// The settings of a queue or subscription as text.
pub(super) fn queue_in_words(queue: &QueueView) -> String {
    let mut words = vec![format!("lock {}", queue.lock)];
    let deliveries = if queue.deliveries_max == 1 { "delivery" } else { "deliveries" };
    words.push(format!("{} {deliveries}", queue.deliveries_max));
    words.extend(queue.time_to_live.map(|span| {
        let then = if queue.dead_letter_expired { "then dead-lettered" } else { "then dropped" };
        format!("messages expire after {span}, {then}")
    }));
    words.extend(queue.sessions.then(|| "sessions".to_owned()));
    words.extend(queue.duplicate_window.map(|span| format!("duplicate ids within {span} are dropped")));
    words.push(format!(
        "max. {} messages, {}",
        components::count(queue.messages_max.into()),
        size(queue.bytes_max)
    ));
    words.extend(filter_in_words(queue));
    words.join("; ")
}

/// The settings of a topic as text.
pub(super) fn topic_in_words(topic: &TopicView) -> String {
    let kept = topic.time_to_live.map(|span| format!("messages expire after {span}; ")).unwrap_or_default();
    format!("{kept}duplicate ids within {} are dropped", topic.duplicate_window)
}

/// The form values of an existing queue, topic or subscription.
pub(super) fn texts(kind: EntityKind, document: &Value) -> FieldValues {
    let text = |(name, form): &(&str, SettingsForm)| {
        let value = document.get(name)?;
        let text = match form {
            SettingsForm::Json => serde_json::to_string_pretty(value).unwrap_or_default(),
            _ => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        };
        Some(((*name).to_owned(), text))
    };
    kind.fields().iter().filter_map(text).collect()
}

/// The document for the form values. Empty fields get their default; text that is not a number or JSON is passed on as
/// typed, and the API explains what is wrong.
pub(super) fn document(kind: EntityKind, texts: &FieldValues) -> Value {
    let mut members = Map::new();
    for (name, form) in kind.fields() {
        let text = texts.get(*name).map_or("", |text| text.trim());
        let value = match form {
            SettingsForm::Flag => Value::Bool(text == "true"),
            _ if text.is_empty() => continue,
            SettingsForm::Text => text.into(),
            SettingsForm::Number | SettingsForm::Json => {
                serde_json::from_str(text).unwrap_or_else(|_| text.into())
            }
        };
        members.insert((*name).to_owned(), value);
    }
    Value::Object(members)
}

/// The form for a new queue, topic or subscription, with the defaults.
pub(super) fn fresh(kind: EntityKind, action: &str) -> Markup {
    form(kind, action, Controls::new(FieldValues::new()), None, None)
}

/// Creates what the form describes; returns its name and a message, or the form with errors.
pub(super) async fn make(
    ctx: &PageContext,
    kind: EntityKind,
    root: &str,
) -> Result<Result<(String, String), Markup>, PageError> {
    let filled: FieldValues = ctx.all_fields().into_iter().collect();
    let name = ctx.field("name").unwrap_or_default();
    let only_if = [(IF_NONE_MATCH, "*".to_owned())];
    let made = if name.is_empty() {
        Err(PageError::Problem(Box::new(
            PageError::Form("name: this field is required".to_owned()).problem(),
        )))
    } else {
        let path = format!("/v1/{root}/{}", encoded(&name));
        ctx.send_with(Method::PUT, &path, &document(kind, &filled), &only_if).await
    };
    match made {
        // The API stores names in lower case.
        Ok(made) => {
            let name = made.get("name").and_then(Value::as_str).unwrap_or(&name).to_owned();
            let message = format!("Created {} {name}.", kind.word());
            Ok(Ok((name, message)))
        }
        Err(PageError::Problem(problem)) => {
            Ok(Err(form(kind, &ctx.place(), Controls::new(filled), Some(&problem), None)))
        }
        Err(error) => Err(error),
    }
}

/// Saves the settings; returns the form with errors if that fails.
pub(super) async fn write(
    ctx: &PageContext,
    kind: EntityKind,
    api: &str,
) -> Result<Result<(), Markup>, PageError> {
    let filled: FieldValues = ctx.all_fields().into_iter().collect();
    let version = ctx.field("version").unwrap_or_default();
    let only_if = [(IF_MATCH, format!("\"{version}\""))];
    match ctx.send_with(Method::PUT, api, &document(kind, &filled), &only_if).await {
        Ok(_) => Ok(Ok(())),
        Err(PageError::Problem(problem)) => {
            let is_overtaken = problem.status == StatusCode::PRECONDITION_FAILED;
            let (problem, version) = match is_overtaken {
                true => overtaken(ctx, kind, api, &filled, version).await?,
                false => (*problem, version),
            };
            let controls = Controls::new(filled);
            Ok(Err(form(kind, &ctx.place(), controls, Some(&problem), Some(&version))))
        }
        Err(error) => Err(error),
    }
}

/// The differences from a concurrent change, and the version that saving would overwrite.
async fn overtaken(
    ctx: &PageContext,
    kind: EntityKind,
    api: &str,
    filled: &FieldValues,
    version: String,
) -> Result<(Problem, String), PageError> {
    let present: Value = match ctx.get(api).await {
        Ok(present) => present,
        Err(PageError::Problem(problem)) => return Ok((*problem, version)),
        Err(error) => return Err(error),
    };
    let theirs = document(kind, &texts(kind, &present));
    let mine = document(kind, filled);
    let differing = kind.fields().iter().filter(|(name, _)| theirs.get(name) != mine.get(name));
    let error = |(name, _): &(&str, SettingsForm)| {
        let there = theirs.get(name).map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
        let message =
            there.map_or("is not set on the server".to_owned(), |there| format!("is {there} on the server"));
        FieldError { pointer: None, field: Some((*name).to_owned()), line: None, message }
    };
    let errors: Vec<FieldError> = differing.map(error).collect();
    let detail = match errors.is_empty() {
        true => "Your settings are already stored.",
        false => {
            "Differences are shown next to the fields. Copy what you want to keep; saving again overwrites it."
        }
    };
    let problem = Problem {
        title: "Changed by someone else".to_owned(),
        errors,
        ..PageError::Form(detail.to_owned()).problem()
    };
    let version = present.get("version").map_or(version, Value::to_string);
    Ok((problem, version))
}

/// The form: with a version to change something, without one to create it.
pub(super) fn form(
    kind: EntityKind,
    action: &str,
    controls: Controls,
    problem: Option<&Problem>,
    version: Option<&str>,
) -> Markup {
    let own = |field: &str| {
        let name = field.split('.').next().unwrap_or_default();
        (name == "name" || kind.fields().iter().any(|(known, _)| *known == name)).then(|| name.to_owned())
    };
    // One page has several of these forms.
    let controls = controls.with_ids(match (version, kind) {
        (Some(_), _) => "",
        (None, EntityKind::Queue) => "new-queue-",
        (None, EntityKind::Topic) => "new-topic-",
        (None, EntityKind::Subscription) => "new-subscription-",
    });
    let controls = &match problem {
        Some(problem) => controls.with_errors(problem, &own),
        None => controls,
    };
    let has = |name: &str| kind.fields().iter().any(|(known, _)| *known == name);
    html! {
        @if let Some(problem) = problem { (components::problem(problem)) }
        form.card.wide method="post" action=(action) {
            input type="hidden" name="kind" value=(kind.word());
            @match version {
                Some(version) => { input type="hidden" name="version" value=(version); },
                None => (controls.line("name", "Name", "Letters, digits, “.”, “_” and “-”.")),
            }
            div.columns {
                @if has("lock") { (controls.line("lock", "Lock", "How long a consumer has to complete a message. Default: 60s.")) }
                @if has("deliveries_max") { (controls.line("deliveries_max", "Max. deliveries", "Then the message is dead-lettered. Default: 10.")) }
                (controls.line("time_to_live", "Time to live", "How long a message is kept, for example 7d. Default: forever."))
                @if has("duplicate_window") { (controls.line("duplicate_window", "Duplicate detection", "How long message ids are remembered. Default: 10m.")) }
                @if has("messages_max") { (controls.line("messages_max", "Max. messages", "Default: 1,000,000.")) }
                @if has("bytes_max") { (controls.line("bytes_max", "Max. bytes", "Default: 1 GiB.")) }
            }
            @if has("dead_letter_expired") { (controls.flag("dead_letter_expired", "Dead-letter expired messages")) }
            @if has("sessions") { (controls.flag("sessions", "Sessions: messages of one session are handled in order. Cannot be changed later.")) }
            @if has("filter") {
                (controls.lines("filter", "Filter", "JSON, for example {\"label\": \"paid\", \"properties\": {\"country\": \"NO\"}}. Default: every message.", 3))
            }
            div.actions {
                button.primary type="submit" { @if version.is_some() { "Save settings" } @else { "Create " (kind.word()) } }
            }
        }
    }
}
