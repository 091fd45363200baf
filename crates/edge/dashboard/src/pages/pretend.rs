//! A visit whose API is a function, for tests of what pages ask and send.

use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::ETAG;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::Asking;
use crate::visit::Visit;

/// What was sent to the API: the method, the path with its query, and the body.
pub(super) type SentRequest = (String, String, Value);

/// A visit at a place, with a form when there are fields, and what it has sent so far. The API answers with a status and
/// a document; the version of a document is its member `version`.
pub(super) fn visit(
    at: &str,
    fields: &[(&str, &str)],
    api: impl Fn(&SentRequest) -> (u16, Value) + Send + Sync + 'static,
) -> (Visit, Arc<Mutex<Vec<SentRequest>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&sent);
    let ask = move |request: Request<Bytes>| -> Asking {
        let body = serde_json::from_slice(request.body()).unwrap_or_default();
        let asked = (request.method().to_string(), request.uri().to_string(), body);
        let (status, answer) = api(&asked);
        log.lock().unwrap().push(asked);
        let mut response = Response::builder().status(status);
        if let Some(version) = answer.get("version") {
            response = response.header(ETAG, format!("\"{version}\""));
        }
        Box::pin(ready(response.body(answer.to_string().into()).unwrap()))
    };
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let method = if fields.is_empty() { "GET" } else { "POST" };
    let request = Request::builder().method(method).uri(at).body(body.into()).unwrap();
    (Visit::new(request, Arc::new(ask)), sent)
}

/// A refusal of the API.
pub(super) fn refused(status: u16, detail: &str) -> (u16, Value) {
    let problem =
        json!({ "type": "about:blank", "title": "Refused", "status": status, "code": "x", "detail": detail });
    (status, problem)
}

/// What a future gives that never has to wait.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here has to be waited for"),
    }
}
