//! What a job's history tells of an attempt, in the words of Azure Scheduler and without secrets.

use http::{HeaderMap, HeaderName};

use crate::client::ServiceResponse;
use crate::job::status;
use crate::limits::JOB_HEADERS_CHARS_MAX;
use crate::mask::{MASK, Mask};
use crate::sort::is_invisible;

/// Headers that carry credentials or the way to them, and words in names that say so.
const CREDENTIAL_HEADERS: [&str; 7] = [
    "authorization",
    "proxy-authorization",
    "www-authenticate",
    "proxy-authenticate",
    "authentication-info",
    "proxy-authentication-info",
    "x-functions-key",
];
const CREDENTIAL_WORDS: [&str; 7] =
    ["cookie", "token", "secret", "password", "api-key", "apikey", "subscription-key"];

/// The message of an attempt that was answered.
pub(super) fn answered(host: &str, answer: &ServiceResponse, body_chars_max: usize, mask: &Mask) -> String {
    let status = status::name_of(answer.status);
    let headers = header_lines(&answer.headers, mask);
    // Masked before it is cut: half a secret would not be found any more.
    let body = mask.apply(&String::from_utf8_lossy(&answer.body));
    let body = printable(body.chars().take(body_chars_max));
    format!("Http Action - Response from host '{host}': '{status}' Response Headers: {headers} Body: {body}")
}

/// The message of an attempt that had no answer.
pub(super) fn failed(host: &str, reason: &str, mask: &Mask) -> String {
    let reason = printable(mask.apply(reason).chars());
    format!("Http Action - Request to host '{host}' failed: {reason}")
}

/// The message of an attempt whose URL names no host.
pub(super) fn failed_without_host(reason: &str) -> String {
    format!("Http Action - Request failed: {}", printable(reason.chars()))
}

pub(crate) fn is_credential(name: &HeaderName) -> bool {
    let name = name.as_str();
    CREDENTIAL_HEADERS.contains(&name) || CREDENTIAL_WORDS.iter().any(|word| name.contains(word))
}

/// `Name: value` and a line break each, as many as there is room for.
fn header_lines(headers: &HeaderMap, mask: &Mask) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        let value = match is_credential(name) {
            true => MASK.to_owned(),
            false => printable(mask.apply(&String::from_utf8_lossy(value.as_bytes())).chars()),
        };
        let line = format!("{}: {value}\r\n", capitalised(name));
        if lines.len() + line.len() > JOB_HEADERS_CHARS_MAX {
            lines.push_str("…\r\n");
            break;
        }
        lines.push_str(&line);
    }
    lines
}

/// `content-type` as people write it: `Content-Type`. Its own spelling is lost on the way.
fn capitalised(name: &HeaderName) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    name.as_str().split('-').map(word).collect::<Vec<_>>().join("-")
}

/// Fit for a page and a terminal: line breaks stay, other control characters are written out.
pub(super) fn printable(text: impl Iterator<Item = char>) -> String {
    let mut printable = String::new();
    for c in text {
        let kept = matches!(c, '\r' | '\n' | '\t') || !(c.is_control() || is_invisible(c));
        if kept { printable.push(c) } else { printable.extend(c.escape_unicode()) }
    }
    printable
}

#[cfg(test)]
mod tests;
