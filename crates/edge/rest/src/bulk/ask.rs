//! Asking as a client would, wherever the answer is: lists, runs, decisions and requests, for somebody who may operate.

use std::pin::Pin;

use api_types::Problem;
use axum::body::Body;
use axum::response::IntoResponse;
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::auth::peer::{ON_BEHALF, PEER};
use crate::error::ApiError;
use crate::forward::buffered_request::BufferedRequest;
use crate::forward::scope::ResolvedScope;
use crate::router::Router;

/// What was answered.
pub(super) struct Answer {
    pub status: StatusCode,
    pub retry_after_secs: Option<u64>,
    pub body: Bytes,
}

impl Answer {
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Box<Problem>> {
        let read = serde_json::from_slice(&self.body);
        read.map_err(|error| {
            Box::new(unreadable(self.status, &format!("the answer cannot be read: {error}")))
        })
    }

    pub fn problem(&self) -> Problem {
        let read = serde_json::from_slice(&self.body);
        read.unwrap_or_else(|_| unreadable(self.status, "the answer is no problem that could be read"))
    }
}

fn unreadable(status: StatusCode, detail: &str) -> Problem {
    Problem {
        kind: "about:blank".to_owned(),
        title: status.canonical_reason().unwrap_or("Error").to_owned(),
        status: status.as_u16(),
        code: "unreadable".to_owned(),
        detail: detail.to_owned(),
        errors: Vec::new(),
    }
}

impl Router {
    /// Asks for something that may be asked twice.
    pub(super) async fn ask_for(&self, by: &str, method: Method, uri: Uri, body: Bytes) -> Answer {
        let by = HeaderValue::from_bytes(by.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static("?"));
        let headers = HeaderMap::from_iter([(PEER, self.api.auth.inner.header()), (ON_BEHALF, by)]);
        let mut buffered = BufferedRequest::new(method, uri, headers, body);
        buffered.repeatable = true;
        let response = self.find_answer(buffered).await.unwrap_or_else(IntoResponse::into_response);
        let status = response.status();
        let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        Answer { status, retry_after_secs: after, body }
    }

    // A box of its own: a client's request may lead here, and from here to the answer of another.
    fn find_answer(
        &self,
        buffered: BufferedRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Body>, ApiError>> + Send + '_>> {
        Box::pin(async move {
            if self.api.cluster.directory.is_alone() {
                return Ok(self.answer_here(buffered.request()).await);
            }
            let (catalog, partitions) = (self.api.workflows.catalog(), self.api.cluster.partitions);
            match ResolvedScope::of(&buffered.method, buffered.uri.path(), &catalog, partitions) {
                ResolvedScope::Run(id) => self.look_up(&id, buffered).await,
                ResolvedScope::Merged(list) => self.gather(list, buffered).await,
                ResolvedScope::Here | ResolvedScope::Ingest | ResolvedScope::Partition(_) => {
                    Ok(self.answer_here(buffered.request()).await)
                }
            }
        })
    }
}
