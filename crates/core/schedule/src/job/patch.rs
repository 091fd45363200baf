//! A change of a job: its canonical members, with null for what is to be removed.

use std::fmt;

use serde_json::{Map, Value};

use super::{JobDocument, settle};
use crate::merge::merge;
use crate::problem::{Problems, Report, below};
use crate::shape::{Mode, ShapeReader};
use crate::shapes::{JOB, secret_members};
use crate::spelling::{ActionType, AuthenticationType};

/// What a PATCH changes of a job.
#[derive(Clone, PartialEq)]
pub struct JobPatch {
    pub(super) properties: Map<String, Value>,
}

/// What is known of a certificate, which a new certificate makes untrue.
const FACTS: [&str; 3] = ["certificateThumbprint", "certificateExpiration", "certificateSubjectName"];

pub(super) fn read(body: &Value) -> Result<JobPatch, Problems> {
    let mut report = Report::default();
    let mut reader = ShapeReader { mode: Mode::Patch, report: &mut report };
    let mut members = reader.object(&JOB, body, "").unwrap_or_default();
    let mut properties = match members.remove("properties") {
        Some(Value::Object(properties)) => properties,
        Some(_) => {
            report.add("properties", "cannot be removed");
            Map::new()
        }
        None => Map::new(),
    };
    settle::aliases(&mut properties, "properties", &mut report);
    settle::unspecified(&mut properties, Mode::Patch);
    settle::each_call(&mut properties, |_, call| {
        if let Some(members) = authentication_mut(call)
            && members.contains_key("pfx")
        {
            members.extend(FACTS.map(|name| (name.to_owned(), Value::Null)));
        }
    });
    report.finish(Some(JobPatch { properties }))
}

impl JobPatch {
    /// Shows every secret that it writes with its path to `visit`, which may replace it; stops at the first
    /// error.
    pub fn visit_secrets<E>(
        &mut self,
        mut visit: impl FnMut(&str, &mut String) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut result = Ok(());
        settle::each_call(&mut self.properties, |path, call| {
            for (place, names) in secret_members() {
                for name in names {
                    if let Some(Value::String(secret)) = at_mut(call, place).and_then(|it| it.get_mut(*name))
                        && result.is_ok()
                    {
                        result = visit(&below(&below(path, place), name), secret);
                    }
                }
            }
        });
        result
    }

    /// The members of `document` with these changes; nothing is checked yet but what only a change can break.
    pub(super) fn merged_into(&self, document: &JobDocument, report: &mut Report) -> Map<String, Value> {
        let Ok(Value::Object(mut properties)) = serde_json::to_value(document) else {
            unreachable!("a canonical job is an object")
        };
        give_way(&mut properties, &self.properties);
        let mut change = self.properties.clone();
        settle::each_call(&mut properties, |path, call| {
            let Some(change) = call_of(&mut change, path) else { return };
            replace_other_target(call, change);
            replace_other_authentication(call, change, path, report);
        });
        merge(&mut properties, &change);
        // Whoever only takes away, until nothing is left, has taken away the recurrence.
        let only_removes = |members: &Map<String, Value>| members.values().all(Value::is_null);
        let empty = |value: Option<&Value>| value.and_then(Value::as_object).is_some_and(Map::is_empty);
        if change.get("recurrence").and_then(Value::as_object).is_some_and(only_removes)
            && empty(properties.get("recurrence"))
        {
            properties.remove("recurrence");
        }
        properties
    }
}

fn call_of<'a>(properties: &'a mut Map<String, Value>, path: &str) -> Option<&'a mut Map<String, Value>> {
    let action = properties.get_mut("action")?.as_object_mut()?;
    if path.ends_with("errorAction") { action.get_mut("errorAction")?.as_object_mut() } else { Some(action) }
}

/// Of two ways to say when a job runs, the one that is written replaces the one that is stored.
fn give_way(properties: &mut Map<String, Value>, change: &Map<String, Value>) {
    let writes = |name: &str| change.get(name).is_some_and(|value| !value.is_null());
    if writes("at") {
        properties.remove("startTime");
        properties.remove("recurrence");
    } else if writes("startTime") || writes("recurrence") {
        properties.remove("at");
    }
    let (Some(Value::Object(stored)), Some(Value::Object(change))) =
        (properties.get_mut("recurrence"), change.get("recurrence"))
    else {
        return;
    };
    let writes = |name: &str| change.get(name).is_some_and(|value| !value.is_null());
    if writes("cron") {
        stored.retain(|name, _| !matches!(name.as_str(), "frequency" | "interval" | "schedule"));
    } else if writes("frequency") {
        stored.remove("cron");
    }
}

/// An action of another type has another target; nothing of the old one is left.
fn replace_other_target(call: &mut Map<String, Value>, change: &Map<String, Value>) {
    let target = |members: &Map<String, Value>| {
        members.get("type").and_then(Value::as_str).and_then(ActionType::read).map(ActionType::target)
    };
    if let (Some(old), Some(new)) = (target(call), target(change))
        && old != new
    {
        call.remove(old);
    }
}

/// An authentication of the same type keeps the secrets that are not written; one of another type does not.
fn replace_other_authentication(
    call: &mut Map<String, Value>,
    change: &mut Map<String, Value>,
    path: &str,
    report: &mut Report,
) {
    let (Some(stored), Some(change)) = (authentication_mut(call), authentication_mut(change)) else { return };
    let kind = |members: &Map<String, Value>| members.get("type").and_then(Value::as_str).map(str::to_owned);
    let old = kind(stored);
    if kind(change).is_some_and(|new| Some(&new) != old.as_ref()) {
        stored.clear();
    } else if old.as_deref() == Some(AuthenticationType::ClientCertificate.as_str())
        && change.contains_key("pfx") != change.contains_key("password")
    {
        let path = below(path, "request.authentication");
        report.add(&path, "pfx and password are written together, or neither");
    }
}

pub(super) fn authentication_mut(call: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    at_mut(call, "request.authentication")
}

/// The object at a path of two names at most.
fn at_mut<'a>(call: &'a mut Map<String, Value>, place: &str) -> Option<&'a mut Map<String, Value>> {
    let (first, second) = place.split_once('.').map_or((place, None), |(first, rest)| (first, Some(rest)));
    let first = call.get_mut(first)?.as_object_mut()?;
    match second {
        Some(second) => first.get_mut(second)?.as_object_mut(),
        None => Some(first),
    }
}

impl fmt::Debug for JobPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.clone();
        let Ok(()) = shown.visit_secrets(|_, secret| {
            "secret".clone_into(secret);
            Ok::<(), std::convert::Infallible>(())
        });
        f.write_str(&Value::Object(shown.properties).to_string())
    }
}
