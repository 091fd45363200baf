//! What the API and the pages for browsers have to know of each other: how a page is requested, and how it calls the API.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use tokio::sync::watch;

/// What answers people in a browser, at `/` and under `/ui` and `/docs`.
pub trait Pages: Send + Sync + 'static {
    /// The `Authorization` header that the request of a signed-in browser stands for.
    fn authorization(&self, headers: &HeaderMap) -> Option<HeaderValue>;

    /// Answers one request. `call` answers calls of the API as any client gets them, with the permissions of the token in
    /// their headers; `stopping` becomes true when the server stops, for pages that stay open.
    fn answer(
        &self,
        request: Request<Bytes>,
        call: ApiCall,
        stopping: watch::Receiver<bool>,
    ) -> PageReply<'_>;
}

/// The reply to the request of a browser.
pub type PageReply<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// The API, called inside the process.
pub type ApiCall = Arc<dyn Fn(Request<Bytes>) -> ApiReply + Send + Sync>;

/// The reply of the API, with its body in one piece.
pub type ApiReply = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;
