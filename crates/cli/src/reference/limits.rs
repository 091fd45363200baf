//! The limits that users meet, with their values from the code.

use std::time::Duration;

use types::Span;

use super::table;
use crate::when;

/// A limit with its unit.
enum Bound {
    Count(usize),
    Bytes(usize),
    Time(Duration),
}

/// One table for each part.
pub fn render() -> String {
    let parts = [
        ("Requests", requests()),
        ("Workflows", workflows()),
        ("Calls", calls()),
        ("Jobs", jobs()),
        ("Queues and messages", queues()),
        ("The API", api()),
    ];
    let part = |(title, rows): (&str, Vec<(&str, Bound)>)| {
        let rows = rows.into_iter().map(|(what, bound)| [what.to_owned(), bound.show()]);
        format!("### {title}\n\n{}", table(["what", "at most"], rows))
    };
    parts.map(part).join("\n")
}

fn requests() -> Vec<(&'static str, Bound)> {
    use ingest::limits as of;
    vec![
        ("bytes of a request's body", Bound::Bytes(of::BODY_BYTES_MAX)),
        ("nesting of its JSON", Bound::Count(workflow::limits::JSON_DEPTH_MAX)),
        ("requests of one batch", Bound::Count(of::BATCH_REQUESTS_MAX)),
        ("bytes of one batch", Bound::Bytes(of::BATCH_BYTES_MAX)),
        ("problems reported for one body", Bound::Count(workflow::limits::SCHEMA_PROBLEMS_MAX)),
    ]
}

fn workflows() -> Vec<(&'static str, Bound)> {
    use workflow::limits as of;
    vec![
        ("bytes of a definition, including the files that it refers to", Bound::Bytes(of::SOURCE_BYTES_MAX)),
        ("steps", Bound::Count(of::STEPS_MAX)),
        ("services", Bound::Count(of::SERVICES_MAX)),
        ("sources", Bound::Count(of::SOURCES_MAX)),
        ("headers, and query parameters, of one call", Bound::Count(of::PAIRS_MAX)),
        ("nesting of a definition", Bound::Count(of::SOURCE_DEPTH_MAX)),
        ("bytes of an expression", Bound::Bytes(of::EXPRESSION_BYTES_MAX)),
        ("units of work of one evaluation", Bound::Count(of::EVALUATION_UNITS_MAX as usize)),
        ("bytes of a step's output", Bound::Bytes(of::OUTPUT_BYTES_MAX)),
        (
            "bytes of a response that becomes the output by default",
            Bound::Bytes(of::DEFAULT_OUTPUT_BYTES_MAX),
        ),
        ("bytes of a rendered body", Bound::Bytes(of::BODY_BYTES_MAX)),
        ("bytes of a rendered URL", Bound::Bytes(of::URL_BYTES_MAX)),
        ("bytes of a decision", Bound::Bytes(rest::limits::DECISION_BYTES_MAX)),
    ]
}

fn calls() -> Vec<(&'static str, Bound)> {
    use outbound::limits as of;
    vec![
        ("bytes of a response that are read", Bound::Bytes(of::ANSWER_BYTES_MAX)),
        ("bytes of its status line and headers", Bound::Bytes(of::HEAD_BYTES_MAX)),
        ("time for an attempt if the service sets no timeout", Bound::Time(of::DEADLINE)),
        ("time to connect, and again for TLS", Bound::Time(of::CONNECT_TIMEOUT)),
        ("a `Retry-After` that is honoured", Bound::Time(of::RETRY_AFTER_MAX)),
        ("concurrent calls to a service, by default", Bound::Count(of::CONCURRENCY_MAX as usize)),
        ("connections to one origin", Bound::Count(of::CONNECTIONS_PER_ORIGIN)),
        ("connections in total", Bound::Count(of::CONNECTIONS_TOTAL)),
        ("characters of a response that a reason quotes", Bound::Count(of::REASON_CHARS_MAX)),
    ]
}

fn jobs() -> Vec<(&'static str, Bound)> {
    let of = schedule::Limits::default();
    vec![
        ("bytes of a stored job, without secrets", Bound::Bytes(of.job_bytes_max)),
        ("bytes of a job as it is sent", Bound::Bytes(rest::limits::JOB_BYTES_MAX)),
        ("bytes of an import", Bound::Bytes(rest::limits::IMPORT_BYTES_MAX)),
        ("characters of its URI", Bound::Count(of.uri_chars_max)),
        ("headers", Bound::Count(of.headers_max)),
        ("characters of all headers", Bound::Count(of.header_chars_max)),
        ("characters of its body", Bound::Count(of.body_chars_max)),
        ("retries (a setting)", Bound::Count(of.retry_count_max as usize)),
        ("delay between two attempts", Bound::Time(of.retry_interval_max.as_std())),
        ("time until its start", Bound::Time(of.start_ahead_max.as_std())),
        ("jitter", Bound::Time(of.jitter_max.as_std())),
        ("characters of a response in the history", Bound::Count(outbound::limits::JOB_BODY_CHARS_MAX)),
    ]
}

fn queues() -> Vec<(&'static str, Bound)> {
    use rest::limits as of;
    vec![
        ("bytes of a message's body", Bound::Bytes(of::MESSAGE_BYTES_MAX)),
        ("messages of one batch", Bound::Count(of::MESSAGES_MAX)),
        ("bytes of one batch", Bound::Bytes(of::MESSAGES_BYTES_MAX)),
        ("bytes of an id of a message, a session or a key", Bound::Bytes(of::MESSAGE_ID_BYTES_MAX)),
        ("bytes of all custom properties", Bound::Bytes(of::PROPERTIES_BYTES_MAX)),
        ("lock", Bound::Time(of::LOCK_MAX.as_std())),
        ("time that a consumer waits", Bound::Time(of::PATIENCE_MAX.as_std())),
        ("messages that a consumer receives at once", Bound::Count(engine::limits::RECEIVED_MAX)),
        ("message ids that a queue or topic remembers", Bound::Count(kernel::queue::IDS_MAX)),
    ]
}

fn api() -> Vec<(&'static str, Bound)> {
    use rest::limits as of;
    vec![
        ("rows of a page", Bound::Count(of::PAGE_ITEMS_MAX)),
        ("rows of a page by default", Bound::Count(of::PAGE_ITEMS_DEFAULT)),
        ("headers of a request", Bound::Count(of::HEADERS_MAX)),
        ("bytes of its head", Bound::Bytes(of::HEAD_BYTES_MAX)),
        ("time to send the head", Bound::Time(of::HEAD_TIMEOUT)),
        ("time to send the body", Bound::Time(of::BODY_TIMEOUT)),
        ("time that an idle connection is kept", Bound::Time(of::IDLE_TIMEOUT)),
        ("connections at once", Bound::Count(of::CONNECTIONS_MAX)),
    ]
}

impl Bound {
    fn show(&self) -> String {
        match *self {
            Bound::Count(count) => grouped(count),
            Bound::Bytes(bytes) if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 19) => {
                let halves = bytes >> 19;
                let half = if halves.is_multiple_of(2) { "" } else { ".5" };
                format!("{}{half} MiB", halves / 2)
            }
            Bound::Bytes(bytes) if bytes.is_multiple_of(1 << 10) => format!("{} KiB", grouped(bytes >> 10)),
            Bound::Bytes(bytes) => format!("{} bytes", grouped(bytes)),
            Bound::Time(time) => {
                let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                let span = Span::from_ms(ms).to_string();
                // One unit where it is exact, otherwise two.
                if span.ends_with("ms") && ms >= 1000 { when::length(ms as i64) } else { span }
            }
        }
    }
}

/// `16,384`
fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_read_well() {
        let shown = [
            Bound::Count(16_384),
            Bound::Count(999),
            Bound::Bytes(128),
            Bound::Bytes(256 << 10),
            Bound::Bytes(1536 << 10),
            Bound::Bytes(4 << 20),
            Bound::Time(Duration::from_secs(75)),
            Bound::Time(Duration::from_secs(3600)),
        ];
        let shown: Vec<String> = shown.iter().map(Bound::show).collect();
        assert_eq!(shown, ["16,384", "999", "128 bytes", "256 KiB", "1.5 MiB", "4 MiB", "75s", "1h"]);
    }
}
