//! One request to the API and its response.

use std::time::Duration;

use api_types::Problem;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;

use crate::error::Error;

/// One request to be sent.
#[derive(Debug, Clone)]
pub struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Bytes,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// How long the server itself may wait before it responds.
    pub(crate) waits: Duration,
    /// Whether it is idempotent.
    pub(crate) repeatable: bool,
}

/// A response, whatever its status.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Call {
    pub fn get(path: impl Into<String>) -> Call {
        Call::new(Method::GET, path, Bytes::new()).repeatable()
    }

    pub fn delete(path: impl Into<String>) -> Call {
        Call::new(Method::DELETE, path, Bytes::new())
    }

    /// A POST without a body.
    pub fn post_nothing(path: impl Into<String>) -> Call {
        Call::new(Method::POST, path, Bytes::new())
    }

    pub fn post(path: impl Into<String>, content_type: &'static str, body: impl Into<Bytes>) -> Call {
        Call::new(Method::POST, path, body.into())
            .header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    /// A POST of a body without a content type.
    pub fn post_bytes(path: impl Into<String>, body: impl Into<Bytes>) -> Call {
        Call::new(Method::POST, path, body.into())
    }

    /// A PUT without a body.
    pub fn put_nothing(path: impl Into<String>) -> Call {
        Call::new(Method::PUT, path, Bytes::new())
    }

    pub fn put(path: impl Into<String>, content_type: &'static str, body: impl Into<Bytes>) -> Call {
        Call::new(Method::PUT, path, body.into()).header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    pub fn patch(path: impl Into<String>, content_type: &'static str, body: impl Into<Bytes>) -> Call {
        Call::new(Method::PATCH, path, body.into())
            .header(CONTENT_TYPE, HeaderValue::from_static(content_type))
    }

    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Call {
        self.headers.push((name, value));
        self
    }

    /// The same for a request with which the server waits this long.
    #[must_use]
    pub fn waiting(mut self, waits: Duration) -> Call {
        self.waits = waits;
        self
    }

    /// The same, marked as idempotent.
    #[must_use]
    pub fn repeatable(mut self) -> Call {
        self.repeatable = true;
        self
    }

    fn new(method: Method, path: impl Into<String>, body: Bytes) -> Call {
        let (headers, waits) = (Vec::new(), Duration::ZERO);
        Call { method, path: path.into(), body, headers, waits, repeatable: false }
    }
}

impl Answer {
    /// This response if it is a success, else the problem that it describes.
    pub fn success(self) -> Result<Answer, Error> {
        if self.status.is_success() {
            return Ok(self);
        }
        let problem = serde_json::from_slice(&self.body).unwrap_or_else(|_| self.problem_of_another());
        Err(Error::Problem(Box::new(problem)))
    }

    /// The body as a value.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(serde_json::from_slice(&self.body)?)
    }

    /// The body as text with an end of line.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.body).into_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// The problem of a response without a problem document, as one from a proxy.
    fn problem_of_another(&self) -> Problem {
        let body = String::from_utf8_lossy(&self.body);
        let start: String = body.chars().take(200).collect();
        let space = if start.is_empty() { "" } else { ": " };
        Problem {
            kind: "about:blank".to_owned(),
            title: self.status.canonical_reason().unwrap_or("Unknown").to_owned(),
            status: self.status.as_u16(),
            code: "unknown".to_owned(),
            detail: format!("the server answered {}{space}{start}", self.status),
            errors: Vec::new(),
        }
    }
}

/// A path like `/v1/runs/{}` with each `{}` filled by the next name, encoded.
///
/// ```
/// assert_eq!(client::path("/v1/runs/{}/cancel", &["a/b"]), "/v1/runs/a%2Fb/cancel");
/// ```
pub fn path(template: &str, names: &[&str]) -> String {
    let mut parts = template.split("{}");
    let mut path = parts.next().unwrap_or_default().to_owned();
    for (part, name) in parts.zip(names) {
        path.push_str(&encode(name));
        path.push_str(part);
    }
    path
}

/// A path with the parameters that are given.
pub fn query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut out = path.to_owned();
    for (name, value) in parameters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        out.push(if out.contains('?') { '&' } else { '?' });
        out.push_str(&format!("{name}={}", encode(value)));
    }
    out
}

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place_in_a_path() {
        assert_eq!(path("/v1/runs/{}/cancel", &["a/../b?c"]), "/v1/runs/a%2F..%2Fb%3Fc/cancel");
        let parameters = [("key", Some("a&b=c d".to_owned())), ("to", None), ("limit", Some("2".to_owned()))];
        assert_eq!(query("/v1/runs", &parameters), "/v1/runs?key=a%26b%3Dc%20d&limit=2");
    }
}
