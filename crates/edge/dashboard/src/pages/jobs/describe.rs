//! Descriptions of jobs: action, schedule, and error handling.

use schedule::{ActionCall, ActionTarget, When};
use serde_json::Value;

/// `calls POST http://…`, `starts a run of drone-delivery`, `sends to queue orders`.
pub(super) fn call(call: &Value) -> String {
    let Ok(call) = serde_json::from_value::<ActionCall>(call.clone()) else {
        return call.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    };
    match (&call.target, call.target.destination_words()) {
        (_, Some(words)) => format!("sends to {words}"),
        (ActionTarget::Request(request), _) => format!("calls {} {}", request.method, request.uri),
        (ActionTarget::Workflow(start), _) => format!("starts a run of {}", start.name),
        (_, None) => call.kind.to_string(),
    }
}

/// The type of the action, short, for a list.
pub(super) fn kind(properties: &Value) -> String {
    let kind = properties.pointer("/action/type").and_then(Value::as_str).unwrap_or_default();
    match kind.to_ascii_lowercase().as_str() {
        "http" | "https" => "HTTP call".to_owned(),
        "workflow" => "workflow".to_owned(),
        "queue" => "queue".to_owned(),
        "topic" => "topic".to_owned(),
        _ => kind.to_owned(),
    }
}

/// `every day at 03:00, Europe/Berlin`
pub(super) fn when(properties: &Value) -> String {
    serde_json::from_value::<When>(properties.clone())
        .map_or_else(|_| "–".to_owned(), |when| when.to_string())
}

/// `4 retries, 30 s apart`
pub(super) fn retries(call: &Value) -> String {
    let Some(policy) = call.get("retryPolicy") else {
        return "4 retries, 30 s apart (default)".to_owned();
    };
    let text = |name: &str| policy.get(name).and_then(Value::as_str);
    let count = policy.get("retryCount").and_then(Value::as_u64).unwrap_or(4);
    let interval = text("retryInterval").map_or_else(|| "30 s".to_owned(), span);
    match text("retryType").unwrap_or("fixed").to_ascii_lowercase().as_str() {
        "none" => "none".to_owned(),
        "exponential" => {
            let most = text("maxRetryInterval").map_or_else(|| "1 h".to_owned(), span);
            format!("{count} retries, exponential backoff from {interval} to {most}")
        }
        _ => format!("{count} retries, {interval} apart"),
    }
}

/// An ISO 8601 duration, `PT1M30S`, formatted for people: `1 min 30 s`.
pub(super) fn span(text: &str) -> String {
    let Some(rest) = text.strip_prefix('P') else { return text.to_owned() };
    let (mut parts, mut number, mut in_time) = (Vec::new(), String::new(), false);
    for letter in rest.chars() {
        let unit = match (letter, in_time) {
            ('T', _) => {
                in_time = true;
                continue;
            }
            ('D', _) => "d",
            ('H', _) => "h",
            ('M', true) => "min",
            ('M', false) => "months",
            ('S', _) => "s",
            _ => {
                number.push(letter);
                continue;
            }
        };
        parts.push(format!("{} {unit}", std::mem::take(&mut number)));
    }
    parts.join(" ")
}

/// What happens to missed occurrences.
pub(super) fn missed(properties: &Value) -> &'static str {
    match properties.get("missed").and_then(Value::as_str) {
        Some("all") => "run all, oldest first",
        Some("skip") => "run none",
        _ => "run the latest",
    }
}

/// What happens to an occurrence while another is running.
pub(super) fn overlap(properties: &Value) -> &'static str {
    match properties.get("overlap").and_then(Value::as_str) {
        Some("queue") => "wait for the previous one",
        Some("allow") => "run in parallel",
        _ => "skip",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spans_and_retries_read_well() {
        assert_eq!(
            ["PT1M30S", "P1DT2H", "30s", "P2M"].map(span),
            ["1 min 30 s", "1 d 2 h", "30s", "2 months"]
        );
        assert_eq!(retries(&json!({})), "4 retries, 30 s apart (default)");
        assert_eq!(retries(&json!({ "retryPolicy": { "retryType": "none" } })), "none");
        let policy = json!({ "retryPolicy": { "retryType": "exponential", "retryInterval": "PT15S", "retryCount": 6 } });
        assert_eq!(retries(&policy), "6 retries, exponential backoff from 15 s to 1 h");
    }

    #[test]
    fn a_job_is_described_in_words() {
        let job = json!({ "action": { "type": "Https", "request": { "method": "POST", "uri": "https://x/" } },
                          "recurrence": { "frequency": "hour" }, "timeZone": "Asia/Tokyo" });
        assert_eq!(
            (call(&job["action"]), when(&job)),
            ("calls POST https://x/".to_owned(), "every hour, Asia/Tokyo".to_owned())
        );
    }
}
