//! What a service answers, before it becomes an HTTP response.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::Response;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use serde_json::json;

use crate::check::Invalid;
use crate::control::EntriesBody;

/// The body of every response: bytes at hand, or a ledger read as it is sent.
pub(crate) type Body = Either<Full<Bytes>, EntriesBody>;

const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

/// An answer, and the ledger entry that must be durable before it may leave.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: Bytes,
    pub through: u64,
    /// Whether this is the recorded answer of an earlier request with the same key.
    pub replay: bool,
    extra: Extra,
}

#[derive(Debug, Clone)]
enum Extra {
    None,
    Problem,
    Location(String),
    RetryAfter { seconds: u32 },
    Allow(&'static str),
}

impl Answer {
    pub fn json(status: u16, body: impl Into<Bytes>) -> Answer {
        Answer { status, body: body.into(), through: 0, replay: false, extra: Extra::None }
    }

    pub fn no_content() -> Answer {
        Answer::json(204, Bytes::new())
    }

    pub fn created_at(body: impl Into<Bytes>, location: String) -> Answer {
        Answer { extra: Extra::Location(location), ..Answer::json(201, body) }
    }

    /// An RFC 9457 problem. `code` is stable, `detail` is for people.
    pub fn problem(status: u16, code: &str, detail: &str) -> Answer {
        let body = json!({ "title": title(status), "status": status, "code": code, "detail": detail });
        Answer { extra: Extra::Problem, ..Answer::json(status, body.to_string()) }
    }

    pub fn not_found(detail: &str) -> Answer {
        Answer::problem(404, "not_found", detail)
    }

    pub fn method_not_allowed(allowed: &'static str) -> Answer {
        let detail = format!("this path takes {allowed}");
        Answer { extra: Extra::Allow(allowed), ..Answer::problem(405, "method_not_allowed", &detail) }
    }

    pub fn unavailable(seconds: u32) -> Answer {
        let problem = Answer::problem(503, "unavailable", "the service is unavailable for a while");
        Answer { extra: Extra::RetryAfter { seconds }, ..problem }
    }

    pub fn through(self, through: u64) -> Answer {
        Answer { through, ..self }
    }

    pub fn replayed(self) -> Answer {
        Answer { replay: true, ..self }
    }

    pub fn into_response(self) -> Response<Body> {
        let kind = match (&self.extra, self.status) {
            (_, 204) => None,
            (Extra::None | Extra::Location(_), _) => Some("application/json"),
            (Extra::Problem | Extra::RetryAfter { .. } | Extra::Allow(_), _) => {
                Some("application/problem+json")
            }
        };
        let mut response = Response::new(Either::Left(Full::new(self.body)));
        *response.status_mut() = hyper::StatusCode::from_u16(self.status)
            .expect("every status here is a literal between 200 and 599");
        let headers = response.headers_mut();
        if let Some(kind) = kind {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if self.replay {
            headers.insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
        }
        match self.extra {
            Extra::None | Extra::Problem => {}
            Extra::Location(location) => {
                let location = HeaderValue::from_str(&location).expect("locations are percent-encoded");
                headers.insert(LOCATION, location);
            }
            Extra::RetryAfter { seconds } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            Extra::Allow(allowed) => {
                headers.insert(ALLOW, HeaderValue::from_static(allowed));
            }
        }
        response
    }
}

impl From<Invalid> for Answer {
    fn from(invalid: Invalid) -> Answer {
        let body = json!({
            "title": title(400), "status": 400, "code": invalid.code,
            "detail": invalid.detail, "pointer": invalid.pointer,
        });
        Answer { extra: Extra::Problem, ..Answer::json(400, body.to_string()) }
    }
}

fn title(status: u16) -> &'static str {
    let known = hyper::StatusCode::from_u16(status).ok();
    known.and_then(|status| status.canonical_reason()).unwrap_or("Problem")
}
