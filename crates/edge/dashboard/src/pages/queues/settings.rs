//! What a queue, a topic or a subscription is set to: in words, and in a form.

use api_types::{FieldError, Problem, QueueView, TopicView};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::size;
use crate::pieces;
use crate::pieces::controls::{Controls, FieldValues};
use crate::trouble::PageError;
use crate::visit::{Visit, encoded};

/// Whose settings.
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

    /// The settings that are written as text, as numbers, as yes or no, and as JSON.
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

/// The settings of a queue or subscription in a few words, for a list.
pub(super) fn queue_in_short(queue: &QueueView) -> String {
    let mut words = vec![format!("lock {}", queue.lock)];
    words.extend(queue.time_to_live.map(|span| format!("lives {span}")));
    words.extend(queue.sessions.then(|| "sessions".to_owned()));
    words.extend(filter_in_words(queue));
    words.join("; ")
}

fn filter_in_words(queue: &QueueView) -> Option<String> {
    let text = serde_json::to_string(queue.filter.as_ref()?).ok()?;
    (text != "{}").then(|| format!("takes {text}"))
}

/// The settings of a queue or subscription, in words.
pub(super) fn queue_in_words(queue: &QueueView) -> String {
    let mut words = vec![format!("locks for {}", queue.lock)];
    let deliveries = if queue.deliveries_max == 1 { "delivery" } else { "deliveries" };
    words.push(format!("{} {deliveries}", queue.deliveries_max));
    words.extend(queue.time_to_live.map(|span| {
        let then = if queue.dead_letter_expired { "then a dead letter" } else { "then dropped" };
        format!("keeps messages for {span}, {then}")
    }));
    words.extend(queue.sessions.then(|| "in sessions".to_owned()));
    words.extend(queue.duplicate_window.map(|span| format!("drops an id that comes again within {span}")));
    words.push(format!(
        "holds {} messages, {}",
        pieces::count(queue.messages_max.into()),
        size(queue.bytes_max)
    ));
    words.extend(filter_in_words(queue));
    words.join("; ")
}

/// The settings of a topic, in words.
pub(super) fn topic_in_words(topic: &TopicView) -> String {
    let kept = topic.time_to_live.map(|span| format!("keeps messages for {span}; ")).unwrap_or_default();
    format!("{kept}drops an id that comes again within {}", topic.duplicate_window)
}

/// What stands in the form for something that is there.
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

/// The document that the form says. What is left empty has its default; what is no number or no JSON goes as it is, and
/// the API says what it should be.
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

/// The form of something that is not there yet, with the defaults that it would have.
pub(super) fn fresh(kind: EntityKind, action: &str) -> Markup {
    form(kind, action, Controls::new(FieldValues::new()), None, None)
}

/// Makes what the form says; the name and what to say of it, or the form again.
pub(super) async fn make(
    visit: &Visit,
    kind: EntityKind,
    root: &str,
) -> Result<Result<(String, String), Markup>, PageError> {
    let filled: FieldValues = visit.all_fields().into_iter().collect();
    let name = visit.field("name").unwrap_or_default();
    let only_if = [(IF_NONE_MATCH, "*".to_owned())];
    let made = if name.is_empty() {
        Err(PageError::Problem(Box::new(PageError::Form("name: fill this in".to_owned()).problem())))
    } else {
        let path = format!("/v1/{root}/{}", encoded(&name));
        visit.send_with(Method::PUT, &path, &document(kind, &filled), &only_if).await
    };
    match made {
        // The API keeps names in lower case.
        Ok(made) => {
            let name = made.get("name").and_then(Value::as_str).unwrap_or(&name).to_owned();
            let said = format!("The {} {name} is there.", kind.word());
            Ok(Ok((name, said)))
        }
        Err(PageError::Problem(problem)) => {
            Ok(Err(form(kind, &visit.place(), Controls::new(filled), Some(&problem), None)))
        }
        Err(trouble) => Err(trouble),
    }
}

/// Writes the settings of something that is there; the form again when they cannot be.
pub(super) async fn write(
    visit: &Visit,
    kind: EntityKind,
    api: &str,
) -> Result<Result<(), Markup>, PageError> {
    let filled: FieldValues = visit.all_fields().into_iter().collect();
    let version = visit.field("version").unwrap_or_default();
    let only_if = [(IF_MATCH, format!("\"{version}\""))];
    match visit.send_with(Method::PUT, api, &document(kind, &filled), &only_if).await {
        Ok(_) => Ok(Ok(())),
        Err(PageError::Problem(problem)) => {
            let is_overtaken = problem.status == StatusCode::PRECONDITION_FAILED;
            let (problem, version) = match is_overtaken {
                true => overtaken(visit, kind, api, &filled, version).await?,
                false => (*problem, version),
            };
            let controls = Controls::new(filled);
            Ok(Err(form(kind, &visit.place(), controls, Some(&problem), Some(&version))))
        }
        Err(trouble) => Err(trouble),
    }
}

/// What differs from what somebody else has set meanwhile, and the version that saving would replace then.
async fn overtaken(
    visit: &Visit,
    kind: EntityKind,
    api: &str,
    filled: &FieldValues,
    version: String,
) -> Result<(Problem, String), PageError> {
    let present: Value = match visit.get(api).await {
        Ok(present) => present,
        Err(PageError::Problem(problem)) => return Ok((*problem, version)),
        Err(trouble) => return Err(trouble),
    };
    let theirs = document(kind, &texts(kind, &present));
    let mine = document(kind, filled);
    let differing = kind.fields().iter().filter(|(name, _)| theirs.get(name) != mine.get(name));
    let error = |(name, _): &(&str, SettingsForm)| {
        let there = theirs.get(name).map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
        let message = there.map_or("is not set now".to_owned(), |there| format!("is {there} now"));
        FieldError { pointer: None, field: Some((*name).to_owned()), line: None, message }
    };
    let errors: Vec<FieldError> = differing.map(error).collect();
    let detail = match errors.is_empty() {
        true => "The settings are as you want them already.",
        false => {
            "What differs from yours stands beside it. Take over what you want to keep; saving again replaces it."
        }
    };
    let problem = Problem {
        title: "Somebody has changed it meanwhile".to_owned(),
        errors,
        ..PageError::Form(detail.to_owned()).problem()
    };
    let version = present.get("version").map_or(version, Value::to_string);
    Ok((problem, version))
}

/// The form: with a version that of something that is there, without one that of something new.
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
    // Several of these forms stand on one page.
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
        @if let Some(problem) = problem { (pieces::problem(problem)) }
        form.card.wide method="post" action=(action) {
            input type="hidden" name="kind" value=(kind.word());
            @match version {
                Some(version) => { input type="hidden" name="version" value=(version); },
                None => (controls.line("name", "Name", "Letters, digits, “.”, “_” and “-”.")),
            }
            div.columns {
                @if has("lock") { (controls.line("lock", "Lock", "How long a message stays with its consumer; 60s when empty.")) }
                @if has("deliveries_max") { (controls.line("deliveries_max", "Deliveries at most", "Then it is a dead letter; 10 when empty.")) }
                (controls.line("time_to_live", "Time to live", "How long a message waits at most, like 7d; empty: for ever."))
                @if has("duplicate_window") { (controls.line("duplicate_window", "Duplicates", "How long ids are remembered; 10m when empty.")) }
                @if has("messages_max") { (controls.line("messages_max", "Messages at most", "1,000,000 when empty.")) }
                @if has("bytes_max") { (controls.line("bytes_max", "Bytes at most", "1 GiB when empty.")) }
            }
            @if has("dead_letter_expired") { (controls.flag("dead_letter_expired", "What expires becomes a dead letter")) }
            @if has("sessions") { (controls.flag("sessions", "In sessions: those of one session are handled one after another; fixed when it is made")) }
            @if has("filter") {
                (controls.lines("filter", "Filter", "As JSON, like {\"label\": \"paid\", \"properties\": {\"country\": \"NO\"}}; empty: takes every message.", 3))
            }
            div.actions {
                button.primary type="submit" { @if version.is_some() { "Save the settings" } @else { "Make the " (kind.word()) } }
            }
        }
    }
}
