//! A fake API for tests of what pages request and send.

use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::ETAG;
use http::{Request, Response};
use page_api::ApiReply;
use serde_json::{Value, json};

use crate::context::PageContext;

/// A request to the API: the method, the path with its query, and the body.
pub(super) type SentRequest = (String, String, Value);

/// The context of a request for an address, with a form if there are fields, and the log of its API calls. The API
/// returns a status and a document; the document's version is its member `version`.
pub(super) fn context(
    at: &str,
    fields: &[(&str, &str)],
    api: impl Fn(&SentRequest) -> (u16, Value) + Send + Sync + 'static,
) -> (PageContext, Arc<Mutex<Vec<SentRequest>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&sent);
    let call = move |request: Request<Bytes>| -> ApiReply {
        let body = serde_json::from_slice(request.body()).unwrap_or_default();
        let received = (request.method().to_string(), request.uri().to_string(), body);
        let (status, answer) = api(&received);
        log.lock().unwrap().push(received);
        let mut response = Response::builder().status(status);
        if let Some(version) = answer.get("version") {
            response = response.header(ETAG, format!("\"{version}\""));
        }
        Box::pin(ready(response.body(answer.to_string().into()).unwrap()))
    };
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let method = if fields.is_empty() { "GET" } else { "POST" };
    let request = Request::builder().method(method).uri(at).body(body.into()).unwrap();
    (PageContext::new(request, Arc::new(call)), sent)
}

/// An error response of the API.
pub(super) fn refused(status: u16, detail: &str) -> (u16, Value) {
    let problem =
        json!({ "type": "about:blank", "title": "Refused", "status": status, "code": "x", "detail": detail });
    (status, problem)
}

/// The result of a future that is ready at once.
pub(super) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future must be ready at once"),
    }
}
