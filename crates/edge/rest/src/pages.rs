//! Pages for browsers: their paths, and their access to the API.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::BodyExt;
use tokio::sync::watch;

/// What answers people in a browser, at `/` and under `/ui` and `/docs`.
pub trait Pages: Send + Sync + 'static {
    /// What somebody who is signed in would say to the API in their `Authorization`.
    fn authorization(&self, headers: &HeaderMap) -> Option<HeaderValue>;

    /// Answers one request. `ask` answers calls of the API as any client gets them, with the rights of whoever their
    /// headers name; `stopping` becomes true when the server stops, for pages that stay open.
    fn answer(&self, request: Request<Bytes>, ask: Ask, stopping: watch::Receiver<bool>) -> PagesAnswer<'_>;
}

pub type PagesAnswer<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// The API, called from inside.
pub type Ask = Arc<dyn Fn(Request<Bytes>) -> Asking + Send + Sync>;

pub type Asking = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

/// Whether a path belongs to the pages.
pub(crate) fn is_page(path: &str) -> bool {
    let under =
        |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    path == "/" || under("/ui") || under("/docs")
}

/// An answer of the API with its body in one piece.
pub(crate) async fn whole(answer: Response<Body>) -> Response<Bytes> {
    let (head, body) = answer.into_parts();
    // Answers of the API are in memory: what fails here is a connection to another instance that has broken, and what
    // came of it is not JSON.
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Response::from_parts(head, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_pages_and_of_programs_are_distinguished() {
        for path in ["/", "/ui", "/ui/runs/a", "/docs", "/docs/start"] {
            assert!(is_page(path), "{path}");
        }
        for path in ["/v1/runs", "/uid/messages", "/docsy/messages", "/metrics", ""] {
            assert!(!is_page(path), "{path}");
        }
    }
}
