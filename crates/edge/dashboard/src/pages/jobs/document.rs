//! Converts between a job's document and its form. A document with members that the form has no control for is edited
//! as JSON.

mod read;

use serde_json::{Value, json};

pub(super) use read::{Wrong, document};

use crate::components::controls::FieldValues;

/// The days of a week as the API spells them.
pub(super) const WEEK_DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The action and the error action of a job, by the prefix of their controls' names.
pub(super) const CALLS: [&str; 2] = ["", "error_"];

/// Read-only members of the authentication: facts about the certificate.
const FACTS: [&str; 3] = ["certificateThumbprint", "certificateExpiration", "certificateSubjectName"];

/// The properties of a job without read-only members.
pub(super) fn writable(properties: &Value) -> Value {
    let mut written = properties.clone();
    if let Some(members) = written.as_object_mut() {
        members.remove("status");
        // Saving a finished job enables it.
        if members.get("state").is_some_and(|state| state == "completed" || state == "faulted") {
            members.insert("state".to_owned(), "enabled".into());
        }
    }
    for place in ["/action/request/authentication", "/action/errorAction/request/authentication"] {
        if let Some(members) = written.pointer_mut(place).and_then(Value::as_object_mut) {
            members.retain(|name, _| !FACTS.contains(&name.as_str()));
        }
    }
    written
}

/// The form values for a document; none if the form cannot represent all of it.
pub(super) fn texts(written: &Value) -> Option<FieldValues> {
    let mut texts = FieldValues::new();
    let mut put = |name: &str, value: Option<&Value>| {
        let text = match value {
            None | Some(Value::Null) => return,
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        texts.insert(name.to_owned(), text);
    };
    for name in ["state", "missed", "overlap", "jitter", "at"] {
        put(name, written.get(name));
    }
    put("time_zone", written.get("timeZone"));
    put("start", written.get("startTime"));
    put("gap", written.pointer("/clockChange/gap"));
    put("repeat", written.pointer("/clockChange/repeat"));
    let recurrence = |name: &str| written.pointer(&format!("/recurrence/{name}"));
    for name in ["frequency", "interval", "cron", "count"] {
        put(name, recurrence(name));
    }
    put("end", recurrence("endTime"));
    for (control, name) in [("minutes", "minutes"), ("hours", "hours"), ("month_days", "monthDays")] {
        let list = recurrence(&format!("schedule/{name}")).and_then(Value::as_array);
        let list = list.map(|list| list.iter().map(Value::to_string).collect::<Vec<_>>().join(", "));
        put(control, list.map(Value::String).as_ref());
    }
    for day in recurrence("schedule/weekDays").and_then(Value::as_array).into_iter().flatten() {
        put(&format!("day_{}", day.as_str().unwrap_or_default()), Some(&json!("true")));
    }
    let mode = match (written.get("at"), recurrence("cron"), written.get("recurrence")) {
        (Some(_), _, _) => "at",
        (None, Some(_), _) => "cron",
        (None, None, Some(_)) => "every",
        (None, None, None) => "once",
    };
    put("mode", Some(&json!(mode)));
    for prefix in CALLS {
        let call =
            if prefix.is_empty() { written.get("action") } else { written.pointer("/action/errorAction") };
        put_call(prefix, call, &mut put);
    }
    // A round trip through the form shows whether it can represent the document.
    let mangled = texts.iter().any(|(name, text)| is_mangled(name, text));
    (!mangled && document(&texts).as_ref() == Ok(written)).then_some(texts)
}

/// Whether a browser would alter a text: it drops line breaks in a single-line field and normalizes them in a
/// multi-line field.
fn is_mangled(name: &str, text: &str) -> bool {
    let several = ["headers", "body", "queue_message", "topic_message"].iter().any(|end| name.ends_with(end));
    text.contains('\r') || (text.contains('\n') && !several)
}

fn put_call(prefix: &str, call: Option<&Value>, put: &mut dyn FnMut(&str, Option<&Value>)) {
    let Some(call) = call else { return };
    let kind = call.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let kind = if kind == "https" { "http".to_owned() } else { kind };
    put(&format!("{prefix}kind"), Some(&json!(kind)));
    for (control, place) in CALL_FIELDS {
        put(&format!("{prefix}{control}"), call.pointer(place));
    }
    let headers = call.pointer("/request/headers").and_then(Value::as_object);
    let headers = headers.map(|headers| {
        let lines =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.as_str().unwrap_or_default()));
        lines.collect::<Vec<_>>().join("\n")
    });
    put(&format!("{prefix}headers"), headers.map(Value::String).as_ref());
    let body =
        call.pointer("/workflow/body").map(|body| serde_json::to_string_pretty(body).unwrap_or_default());
    put(&format!("{prefix}workflow_body"), body.map(Value::String).as_ref());
}

/// The controls of an action that hold a single text or number, and the JSON pointer of each.
pub(super) const CALL_FIELDS: [(&str, &str); 18] = [
    ("method", "/request/method"),
    ("uri", "/request/uri"),
    ("body", "/request/body"),
    ("auth", "/request/authentication/type"),
    ("auth_username", "/request/authentication/username"),
    ("auth_tenant", "/request/authentication/tenant"),
    ("auth_audience", "/request/authentication/audience"),
    ("auth_client", "/request/authentication/clientId"),
    ("workflow_name", "/workflow/name"),
    ("workflow_id", "/workflow/id"),
    ("queue_name", "/queue/name"),
    ("queue_message", "/queue/message"),
    ("topic_name", "/topic/name"),
    ("topic_message", "/topic/message"),
    ("retry", "/retryPolicy/retryType"),
    ("retry_interval", "/retryPolicy/retryInterval"),
    ("retry_count", "/retryPolicy/retryCount"),
    ("retry_max", "/retryPolicy/maxRetryInterval"),
];

#[cfg(test)]
mod tests;
