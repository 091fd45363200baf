//! Jobs in plain words: what they do, when, and what happens when it goes wrong.

use schedule::When;
use serde_json::Value;

/// `POST http://…`, `starts drone-delivery`, `sends to queue orders`.
pub(super) fn call(call: &Value) -> String {
    let text = |place: &str| call.pointer(place).and_then(Value::as_str).unwrap_or_default();
    let kind = text("/type").to_ascii_lowercase();
    match kind.as_str() {
        "http" | "https" => format!("calls {} {}", text("/request/method"), text("/request/uri")),
        "workflow" => format!("starts a run of {}", text("/workflow/name")),
        "queue" => format!("sends to queue {}", text("/queue/name")),
        "topic" => format!("sends to topic {}", text("/topic/name")),
        "storagequeue" => {
            let (queue, account) = (text("/queueMessage/queueName"), text("/queueMessage/storageAccount"));
            format!("sends to queue {queue} of storage account {account}")
        }
        "servicebusqueue" => {
            let place = "/serviceBusQueueMessage";
            let (queue, namespace) =
                (text(&format!("{place}/queueName")), text(&format!("{place}/namespace")));
            format!("sends to queue {queue} of service bus {namespace}")
        }
        "servicebustopic" => {
            let place = "/serviceBusTopicMessage";
            let (topic, namespace) =
                (text(&format!("{place}/topicPath")), text(&format!("{place}/namespace")));
            format!("sends to topic {topic} of service bus {namespace}")
        }
        "amqp" => format!("sends to {} at {}", text("/amqp/address"), text("/amqp/url")),
        "rabbitmq" => {
            format!("sends with routing key {} to {}", text("/rabbitMq/routingKey"), text("/rabbitMq/url"))
        }
        "nats" => format!("sends to subject {} at {}", text("/nats/subject"), text("/nats/url")),
        "kafka" => format!("sends to topic {} at {}", text("/kafka/topic"), text("/kafka/servers")),
        _ => format!("does {kind}"),
    }
}

/// One word for a list.
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

/// `4 more times, 30s apart`
pub(super) fn retries(call: &Value) -> String {
    let Some(policy) = call.get("retryPolicy") else {
        return "4 more times, 30 s apart, as usual".to_owned();
    };
    let text = |name: &str| policy.get(name).and_then(Value::as_str);
    let count = policy.get("retryCount").and_then(Value::as_u64).unwrap_or(4);
    let interval = text("retryInterval").map_or_else(|| "30 s".to_owned(), span);
    match text("retryType").unwrap_or("fixed").to_ascii_lowercase().as_str() {
        "none" => "none".to_owned(),
        "exponential" => {
            let most = text("maxRetryInterval").map_or_else(|| "1 h".to_owned(), span);
            format!("{count} more times, after {interval} and then twice as long each time, up to {most}")
        }
        _ => format!("{count} more times, {interval} apart"),
    }
}

/// A length of time of the API, `PT1M30S`, as people say it: `1 min 30 s`.
pub(super) fn span(text: &str) -> String {
    let Some(rest) = text.strip_prefix('P') else { return text.to_owned() };
    let (mut said, mut number, mut in_time) = (Vec::new(), String::new(), false);
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
        said.push(format!("{} {unit}", std::mem::take(&mut number)));
    }
    said.join(" ")
}

/// What becomes of occurrences that could not fire in time.
pub(super) fn missed(properties: &Value) -> &'static str {
    match properties.get("missed").and_then(Value::as_str) {
        Some("all") => "all of them run, the oldest first",
        Some("skip") => "none of them runs",
        _ => "the newest of them runs",
    }
}

/// What becomes of an occurrence while another is under way.
pub(super) fn overlap(properties: &Value) -> &'static str {
    match properties.get("overlap").and_then(Value::as_str) {
        Some("queue") => "it waits for the one before",
        Some("allow") => "both run side by side",
        _ => "it is left out",
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
        assert_eq!(retries(&json!({})), "4 more times, 30 s apart, as usual");
        assert_eq!(retries(&json!({ "retryPolicy": { "retryType": "none" } })), "none");
        let policy = json!({ "retryPolicy": { "retryType": "exponential", "retryInterval": "PT15S", "retryCount": 6 } });
        assert_eq!(retries(&policy), "6 more times, after 15 s and then twice as long each time, up to 1 h");
    }

    #[test]
    fn a_job_is_said_in_words() {
        let job = json!({ "action": { "type": "Https", "request": { "method": "POST", "uri": "https://x/" } },
                          "recurrence": { "frequency": "hour" }, "timeZone": "Asia/Tokyo" });
        assert_eq!(
            (call(&job["action"]), when(&job)),
            ("calls POST https://x/".to_owned(), "every hour, Asia/Tokyo".to_owned())
        );
    }
}
