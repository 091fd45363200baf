//! Pages for browsers: their paths, and the replies that they get from the API.

use axum::body::Body;
use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt;

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
