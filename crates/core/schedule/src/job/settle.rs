//! Brings canonical members to their canonical places and fills in what is the same as saying nothing.

use serde_json::{Map, Value, json};

use crate::problem::{Report, below};
use crate::shape::Mode;

/// `cron` may stand beside the recurrence and `timeZone` inside it. `path` is where the members stand.
pub(crate) fn aliases(properties: &mut Map<String, Value>, path: &str, report: &mut Report) {
    if let Some(cron) = properties.remove("cron") {
        let alias = below(path, "cron");
        match properties.entry("recurrence").or_insert_with(|| json!({})) {
            Value::Object(recurrence) => {
                put(recurrence, "cron", cron, &alias, &below(path, "recurrence.cron"), report);
            }
            _ if cron.is_null() => {}
            _ => report.add(&alias, "a job whose recurrence is removed has no cron"),
        }
    }
    let recurrence = properties.get_mut("recurrence").and_then(Value::as_object_mut);
    if let Some(zone) = recurrence.and_then(|recurrence| recurrence.remove("timeZone")) {
        let alias = below(path, "recurrence.timeZone");
        put(properties, "timeZone", zone, &alias, &below(path, "timeZone"), report);
    }
}

fn put(
    members: &mut Map<String, Value>,
    name: &str,
    value: Value,
    alias: &str,
    place: &str,
    report: &mut Report,
) {
    match members.get(name) {
        Some(other) if *other != value => report.add(alias, format!("differs from {place}")),
        _ => {
            members.insert(name.to_owned(), value);
        }
    }
}

/// An authentication that is `NotSpecified` is none.
pub(super) fn unspecified(properties: &mut Map<String, Value>, mode: Mode) {
    each_call(properties, |_, call| {
        for target in ["request", "serviceBusQueueMessage", "serviceBusTopicMessage"] {
            let Some(Value::Object(target)) = call.get_mut(target) else { continue };
            let kind = target.get("authentication").and_then(|members| members.get("type"));
            if !kind.and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("notSpecified")) {
                continue;
            }
            match mode {
                Mode::Whole => target.remove("authentication"),
                Mode::Patch => target.insert("authentication".to_owned(), Value::Null),
            };
        }
    });
}

/// What the service fills in when a client leaves it out.
pub(crate) fn defaults(properties: &mut Map<String, Value>) {
    properties.remove("atInstant");
    properties.entry("state").or_insert_with(|| "enabled".into());
    if let Some(Value::Object(recurrence)) = properties.get_mut("recurrence") {
        if recurrence.contains_key("frequency") && !recurrence.contains_key("cron") {
            recurrence.entry("interval").or_insert_with(|| 1.into());
        }
        if let Some(Value::Object(schedule)) = recurrence.get_mut("schedule") {
            schedule.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
        }
    }
    each_call(properties, |_, call| {
        for target in ["serviceBusQueueMessage", "serviceBusTopicMessage"] {
            let authentication = call.get_mut(target).and_then(|target| target.get_mut("authentication"));
            if let Some(Value::Object(members)) = authentication {
                members.entry("type").or_insert_with(|| "sharedAccessKey".into());
            }
        }
    });
}

/// The action and then its errorAction, each with its path, as far as they are there.
pub(super) fn each_call(
    properties: &mut Map<String, Value>,
    mut visit: impl FnMut(&str, &mut Map<String, Value>),
) {
    if let Some(Value::Object(action)) = properties.get_mut("action") {
        visit("properties.action", action);
        if let Some(Value::Object(error_action)) = action.get_mut("errorAction") {
            visit("properties.action.errorAction", error_action);
        }
    }
}
