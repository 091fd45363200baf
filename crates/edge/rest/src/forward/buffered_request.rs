//! A request that may have to be forwarded: read whole, so that it can be answered here or sent several times.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use cluster::{Directory, InstanceId};
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HeaderMap, IF_MATCH, IF_NONE_MATCH, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri};
use tokio::time::Instant;

use crate::auth::peer::{ON_BEHALF, PEER};
use crate::body::{self, Payload};
use crate::error::{ApiError, NOT_HELD};
use crate::forward::partition_set::HOLDS;
use crate::forward::peer_client::FORWARDED;
use crate::limits::{HOLDER_GLANCE, HOLDER_PATIENCE, PASS_PATIENCE, PASSED_BYTES_MAX};

/// Headers that scope one connection alone.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// A request with its body, and the time that it may take.
#[derive(Clone)]
pub(crate) struct BufferedRequest {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// How long another instance may take to answer.
    pub patience: Duration,
    /// Whether it may be sent again when its outcome is not known.
    pub repeatable: bool,
    until: Instant,
    looked: bool,
}

impl BufferedRequest {
    pub(crate) fn new(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> BufferedRequest {
        let conditional = headers.contains_key(IF_MATCH) || headers.contains_key(IF_NONE_MATCH);
        let idempotent = matches!(method, Method::GET | Method::HEAD | Method::PUT | Method::DELETE);
        BufferedRequest {
            repeatable: idempotent && !conditional,
            method,
            uri,
            headers,
            body,
            patience: PASS_PATIENCE,
            until: Instant::now() + HOLDER_PATIENCE,
            looked: false,
        }
    }

    /// Reads a request to its end.
    pub(crate) async fn read(request: Request<Payload>) -> Result<BufferedRequest, ApiError> {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let headers = request.headers().clone();
        let body = body::read(request, PASSED_BYTES_MAX).await?;
        Ok(BufferedRequest::new(method, uri, headers, body))
    }

    /// The same with another body.
    pub(crate) fn with_body(&self, body: Bytes) -> BufferedRequest {
        BufferedRequest { body, ..self.clone() }
    }

    /// The request as it came, to be answered here.
    pub(crate) fn request(&self) -> Request<Payload> {
        let mut request = Request::new(Payload::whole(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// The request as another instance gets it: with the host that the client called, which links are made of.
    pub(crate) fn outgoing(&self, me: &InstanceId) -> Request<Bytes> {
        let mut request = Request::new(self.body.clone());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        let mut headers = self.headers.clone();
        strip(&mut headers);
        headers.remove(PEER);
        headers.remove(ON_BEHALF);
        let me = HeaderValue::try_from(&me.0).unwrap_or_else(|_| HeaderValue::from_static("?"));
        headers.insert(FORWARDED, me);
        *request.headers_mut() = headers;
        request
    }

    /// Waits until it is worth looking for an owner again; false when the time is over. The first look is immediate.
    pub(crate) async fn look(&mut self, directory: &Directory) -> bool {
        if !std::mem::replace(&mut self.looked, true) {
            return true;
        }
        if Instant::now() >= self.until {
            return false;
        }
        let mut directory = directory.clone();
        // The next look sees earlier changes anyway.
        let _ = tokio::time::timeout(HOLDER_GLANCE, directory.changed()).await;
        true
    }
}

/// The reply of another instance as the client gets it.
pub(crate) fn to_client(answer: Response<Bytes>) -> Response<Body> {
    let mut answer = answer.map(Body::from);
    strip(answer.headers_mut());
    for name in [NOT_HELD, HOLDS] {
        answer.headers_mut().remove(name);
    }
    answer
}

/// Whether a reply says only that another instance must be asked.
pub(crate) fn is_not_held<B>(answer: &Response<B>) -> bool {
    answer.headers().contains_key(NOT_HELD)
}

fn strip(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    // Set again when it is sent.
    headers.remove(CONTENT_LENGTH);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_keeps_its_host_and_loses_what_belongs_to_the_connection() {
        let headers = [
            ("host", "sortie.example"),
            ("authorization", "Bearer x"),
            ("connection", "keep-alive"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("sortie-peer", "guessed"),
            ("sortie-on-behalf", "nobody"),
        ];
        let headers =
            headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let uri: Uri = "/v1/queues/q?a=b".parse().unwrap();
        let buffered =
            BufferedRequest::new(Method::PUT, uri, HeaderMap::from_iter(headers), Bytes::from_static(b"{}"));
        let request = buffered.outgoing(&InstanceId("a-1".to_owned()));
        let mut names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "host", "sortie-forwarded"]);
        assert_eq!((request.uri().to_string().as_str(), &**request.body()), ("/v1/queues/q?a=b", &b"{}"[..]));
    }

    #[test]
    fn what_must_not_be_done_twice_is_not_sent_twice() {
        let repeatable = |method: Method, header: Option<HeaderName>| {
            let headers = header.map(|name| (name, HeaderValue::from_static("*")));
            BufferedRequest::new(method, Uri::default(), headers.into_iter().collect(), Bytes::new())
                .repeatable
        };
        assert!(repeatable(Method::GET, None) && repeatable(Method::PUT, None));
        assert!(!repeatable(Method::POST, None) && !repeatable(Method::PATCH, None));
        assert!(!repeatable(Method::PUT, Some(IF_NONE_MATCH)) && !repeatable(Method::DELETE, Some(IF_MATCH)));
    }
}
