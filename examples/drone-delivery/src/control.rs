//! The paths beside the business: health, switches and the ledger. No switch ever hurts them.

use std::convert::Infallible;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Either;
use hyper::Response;
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use serde::Serialize;

use crate::answer::{Answer, Body};
use crate::book::Totals;
use crate::call::parameter;
use crate::server::Server;
use crate::service::Service;
use crate::switches::Switches;

const CHUNK_BYTES: u64 = 64 << 10;

/// Answers a control path, or leaves the request to the service.
pub(crate) fn respond(server: &Server, parts: &Parts, body: &Bytes) -> Option<Response<Body>> {
    let method = parts.method.as_str();
    match (parts.uri.path(), method) {
        ("/healthz", "GET" | "HEAD") => Some(Answer::json(200, r#"{"status":"ok"}"#).into_response()),
        ("/switches", "GET") => Some(json(&*server.switches())),
        ("/switches", "PUT") => Some(match Switches::parse(body) {
            Ok(switches) => {
                server.set_switches(switches);
                json(&*server.switches())
            }
            Err(invalid) => Answer::from(invalid).into_response(),
        }),
        ("/switches/hits", "GET") => Some(json(&server.hits())),
        ("/ledger", "GET") => {
            Some(json(&LedgerTotals { service: server.service(), totals: server.book().totals() }))
        }
        ("/ledger/entries", "GET") => Some(entries(server, parts.uri.query().unwrap_or(""))),
        ("/switches", _) => Some(Answer::method_not_allowed("GET, PUT").into_response()),
        ("/healthz" | "/switches/hits" | "/ledger" | "/ledger/entries", _) => {
            Some(Answer::method_not_allowed("GET").into_response())
        }
        _ => None,
    }
}

#[derive(Serialize)]
struct LedgerTotals {
    service: Service,
    #[serde(flatten)]
    totals: Totals,
}

fn json(value: &impl Serialize) -> Response<Body> {
    let body = serde_json::to_vec(value).expect("our own structs have text keys and finite numbers");
    Answer::json(200, body).into_response()
}

fn entries(server: &Server, query: &str) -> Response<Body> {
    let Ok(from) = parameter(query, "from").unwrap_or("1").parse() else {
        return Answer::problem(400, "invalid", "from is the number of an entry").into_response();
    };
    let book = server.book();
    let range = match book.entries_from(from) {
        Ok(range) => range,
        Err(error) => return Answer::problem(500, "ledger", &format!("reading: {error}")).into_response(),
    };
    let body = EntriesBody { file: book.file().clone(), at: range.start, end: range.end };
    let mut response = Response::new(Either::Right(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    response
}

/// A stretch of a ledger, read while it is sent.
pub(crate) struct EntriesBody {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl hyper::body::Body for EntriesBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = CHUNK_BYTES.min(self.end - self.at);
        let mut chunk = vec![0; bytes as usize];
        // A body shorter than its length shows the reader that a read failed.
        if bytes == 0 || self.file.read_exact_at(&mut chunk, self.at).is_err() {
            return Poll::Ready(None);
        }
        self.at += bytes;
        Poll::Ready(Some(Ok(Frame::data(chunk.into()))))
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.end - self.at)
    }
}
