//! The one place that says what an answer, or its absence, means for a step.

use bytes::Bytes;
use http::HeaderMap;
use http::header::RETRY_AFTER;
use types::{Span, Timestamp};

use crate::client::ServiceResponse;
use crate::fault::Fault;
use crate::limits::{REASON_CHARS_MAX, RETRY_AFTER_MAX};

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sorted {
    /// 2xx. Whether the body is acceptable is judged elsewhere.
    Done { status: u16, body: Bytes },
    /// The same call would be refused again.
    Refused { status: Option<u16>, reason: String },
    /// The same call may succeed later; `retry_after` is the service's own wish, at most an hour.
    Transient { status: Option<u16>, reason: String, retry_after: Option<Span> },
    /// The service may have acted on the call, and we do not know.
    Unknown { reason: String },
}

/// Sorts the result of a call. `now` turns a `Retry-After` date into a span.
pub fn sort(result: &Result<ServiceResponse, Fault>, now: Timestamp) -> Sorted {
    match result {
        Ok(answer) => sort_answer(answer, now),
        Err(fault) => sort_fault(fault, now),
    }
}

fn sort_answer(answer: &ServiceResponse, now: Timestamp) -> Sorted {
    let status = answer.status;
    match status {
        200..=299 => Sorted::Done { status, body: answer.body.clone() },
        // RFC 9110, 15: a client treats a status outside 100 to 599 like a 5xx.
        408 | 425 | 429 | 500.. => Sorted::Transient {
            status: Some(status),
            reason: quote(answer),
            retry_after: retry_after(&answer.headers, now),
        },
        ..200 | 300..=499 => Sorted::Refused { status: Some(status), reason: quote(answer) },
    }
}

fn sort_fault(fault: &Fault, now: Timestamp) -> Sorted {
    let reason = escape(&fault.to_string());
    match fault {
        Fault::Refused { .. } => Sorted::Refused { status: None, reason },
        Fault::Connect { .. } | Fault::Unsent { .. } | Fault::Timeout { sent: false } => {
            Sorted::Transient { status: None, reason, retry_after: None }
        }
        Fault::Timeout { sent: true } | Fault::Lost { .. } | Fault::BadAnswer { .. } => {
            Sorted::Unknown { reason }
        }
        // Of an error only the beginning is needed. But a success that cannot be read was applied and cannot be used:
        // as unknown it is repeated under the same key, and undone if the run fails.
        Fault::TooLarge { answer: Some(answer) } => match sort_answer(answer, now) {
            Sorted::Done { status, .. } => Sorted::Unknown { reason: format!("{status}: {reason}") },
            Sorted::Refused { .. } | Sorted::Transient { .. } | Sorted::Unknown { .. } => {
                sort_answer(answer, now)
            }
        },
        Fault::TooLarge { answer: None } => Sorted::Unknown { reason },
    }
}

/// `Retry-After` as seconds or as a date; what is neither, or is past, is ignored.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Span> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let max = Span::from_ms(RETRY_AFTER_MAX.as_millis() as u64);
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than fit are a wish beyond the limit like any other.
        return Some(text.parse().map_or(max, Span::from_secs).min(max));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let since_epoch = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    let at = Timestamp(i64::try_from(since_epoch.as_millis()).ok()?);
    (at > now).then(|| at.since(now).min(max))
}

/// The status and the beginning of the body, fit for a log, a page and a terminal.
fn quote(answer: &ServiceResponse) -> String {
    // A character has at most four bytes; a cut one at the end shows as a replacement and falls to the limit.
    let head = &answer.body[..answer.body.len().min(REASON_CHARS_MAX * 4)];
    let text = String::from_utf8_lossy(head);
    match text.trim() {
        "" => answer.status.to_string(),
        text => format!("{}: {}", answer.status, escape(text)),
    }
}

pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars().take(REASON_CHARS_MAX) {
        if c.is_control() || is_invisible(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Line separators, and the marks that turn the direction of text around.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
