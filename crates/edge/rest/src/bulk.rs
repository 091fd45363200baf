//! Bulks over HTTP: begun and previewed here, where runs can be reached wherever they are.
//!
//! A bulk acts as a client would, on behalf of the operator who began it: its calls take the same routes.

use std::pin::Pin;

use api_types::{BulkSelect, DecisionRequest, Problem, RunDetail, RunPage};
use axum::body::Body;
use axum::response::IntoResponse;
use bulk::{BulkError, BulkOrder, Refusal, Resubmitted, RunApi, RunsPart, RunsQuery};
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use types::RunId;

use crate::auth::peer::{ON_BEHALF, PEER};
use crate::body;
use crate::error::ApiError;
use crate::forward::buffered_request::BufferedRequest;
use crate::forward::scope::ResolvedScope;
use crate::json_member::with_member;
use crate::limits::BULK_BYTES_MAX;
use crate::router::Router;
use crate::runs;

impl From<BulkError> for ApiError {
    fn from(error: BulkError) -> ApiError {
        match error {
            BulkError::Invalid(text) => ApiError::BadRequest(text),
            BulkError::NotFound(text) => ApiError::NotFound(text),
            BulkError::TooMany(text) => ApiError::TooManyBulks(text),
            BulkError::Unsure(text) => ApiError::Unsure(text),
            BulkError::Keep(error) => error.into(),
        }
    }
}

impl Router {
    /// Begins a bulk, or says what it would do.
    pub(crate) async fn take_bulk(
        &self,
        by: &str,
        request: Request<Body>,
    ) -> Result<Response<Body>, ApiError> {
        let bytes = body::read(request, BULK_BYTES_MAX).await?;
        let order = BulkOrder::read(&bytes, by, self.api.auth.clock.now())?;
        if order.is_dry_run() {
            return Ok(axum::Json(order.preview(self).await?).into_response());
        }
        let view = order.begin(&self.api.bulks).await?;
        let location = format!("/v1/bulk/{}", view.id);
        let head = (StatusCode::ACCEPTED, [(http::header::LOCATION, location)]);
        Ok((head.0, head.1, axum::Json(view)).into_response())
    }

    /// Sends a request that may be repeated, for an operator.
    async fn call(&self, by: &str, method: Method, uri: Uri, body: Bytes) -> Reply {
        let by = HeaderValue::from_bytes(by.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static("?"));
        let headers = HeaderMap::from_iter([(PEER, self.api.auth.inner.header()), (ON_BEHALF, by)]);
        let mut buffered = BufferedRequest::new(method, uri, headers, body);
        buffered.repeatable = true;
        let response = self.answer_own(buffered).await.unwrap_or_else(IntoResponse::into_response);
        let status = response.status();
        let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        Reply { status, retry_after_secs: after, body }
    }

    // Boxed: the preview of a bulk is itself the answer to a request, so that the type of this future would contain
    // itself.
    fn answer_own(
        &self,
        buffered: BufferedRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Body>, ApiError>> + Send + '_>> {
        Box::pin(async move {
            if self.api.cluster.directory.is_alone() {
                return Ok(self.answer_here(buffered.request()).await);
            }
            match self.scope_of(&buffered.method, buffered.uri.path()) {
                ResolvedScope::Run(id) => self.look_up(&id, buffered).await,
                ResolvedScope::Merged(list) => self.gather(list, buffered).await,
                ResolvedScope::Here | ResolvedScope::Ingest | ResolvedScope::Partition(_) => {
                    Ok(self.answer_here(buffered.request()).await)
                }
            }
        })
    }
}

impl RunApi for Router {
    async fn list(&self, by: &str, query: RunsQuery<'_>) -> Result<RunPage, Refusal> {
        let first = (query.part == RunsPart::Ended).then_some(runs::ENDED_FIRST);
        let uri = list_uri(query.select, query.cursor.or(first), query.limit);
        let page: RunPage = self.call(by, Method::GET, uri, Bytes::new()).await.json()?;
        // Where those in memory end, everything else has ended.
        let next = page.next.filter(|next| query.part == RunsPart::Ended || runs::is_live(next));
        Ok(RunPage { next, ..page })
    }

    async fn get(&self, by: &str, id: &str) -> Result<RunDetail, Refusal> {
        self.call(by, Method::GET, uri(&format!("/v1/runs/{id}")), Bytes::new()).await.json()
    }

    async fn cancel(&self, by: &str, id: &str) -> Result<(), Refusal> {
        let uri = uri(&format!("/v1/runs/{id}/cancel"));
        self.call(by, Method::POST, uri, Bytes::new()).await.success().map(drop)
    }

    async fn decide(&self, by: &str, id: &str, decision: &DecisionRequest) -> Result<(), Refusal> {
        let body = serde_json::to_vec(decision).expect("a decision can always be encoded");
        let uri = uri(&format!("/v1/runs/{id}/decide"));
        self.call(by, Method::POST, uri, body.into()).await.success().map(drop)
    }

    async fn submit_again(
        &self,
        by: &str,
        workflow: &str,
        id: &RunId,
        request: Bytes,
    ) -> Result<Resubmitted, Refusal> {
        let entry = self.api.workflows.current(workflow).map_err(|error| {
            let problem = Box::new(error.problem());
            Refusal { status: problem.status, retry_after_secs: None, problem }
        })?;
        let body = with_member(&request, entry.definition.accept().id_field(), id);
        let uri = uri(&format!("/v1/workflows/{workflow}/runs/{id}"));
        let reply = self.call(by, Method::PUT, uri, body).await;
        match reply.status {
            StatusCode::ACCEPTED => Ok(Resubmitted::New),
            StatusCode::OK => Ok(Resubmitted::Existing(serde_json::from_slice(&reply.body).ok())),
            _ => Err(reply.refusal()),
        }
    }
}

/// The answer to a call of this instance itself.
struct Reply {
    status: StatusCode,
    retry_after_secs: Option<u64>,
    body: Bytes,
}

impl Reply {
    fn success(self) -> Result<Bytes, Refusal> {
        if self.status.is_success() { Ok(self.body) } else { Err(self.refusal()) }
    }

    fn json<T: DeserializeOwned>(self) -> Result<T, Refusal> {
        let (status, retry_after_secs) = (self.status, self.retry_after_secs);
        let body = self.success()?;
        serde_json::from_slice(&body).map_err(|error| {
            let problem = Box::new(unreadable(status, &format!("the answer cannot be read: {error}")));
            Refusal { status: status.as_u16(), retry_after_secs, problem }
        })
    }

    fn refusal(&self) -> Refusal {
        let read = serde_json::from_slice(&self.body);
        let problem = read.unwrap_or_else(|_| unreadable(self.status, "the answer has no problem document"));
        Refusal {
            status: self.status.as_u16(),
            retry_after_secs: self.retry_after_secs,
            problem: Box::new(problem),
        }
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

fn uri(text: &str) -> Uri {
    text.parse().expect("an id is a part of a path")
}

fn list_uri(select: &BulkSelect, cursor: Option<&str>, limit: usize) -> Uri {
    let mut text = format!("/v1/runs?limit={limit}");
    let mut add = |name: &str, value: &str| {
        text.push_str(&format!("&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    };
    let pairs = [
        ("workflow", select.workflow.clone()),
        ("status", select.status.map(|status| status.as_str().to_owned())),
        ("key", select.key.clone()),
        ("from", select.from.map(|time| time.to_string())),
        ("to", select.to.map(|time| time.to_string())),
        ("cursor", cursor.map(str::to_owned)),
    ];
    for (name, value) in pairs {
        value.iter().for_each(|value| add(name, value));
    }
    text.parse().expect("an encoded query is an address")
}
