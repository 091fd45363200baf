//! The entrance: requests for workflows, at `/v1/workflows/{name}/runs` or at a workflow's own route.
//!
//! These routes carry the load. They are matched by hand, before the router that serves everything else.

use axum::body::Body;
use bytes::Bytes;
use engine::Entry;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use ingest::limits::{BATCH_BYTES_MAX, BATCH_REQUESTS_MAX, BODY_BYTES_MAX};
use ingest::{Offer, Submitted, Target};
use journal::Journal;
use wire::{AcceptedRun, BatchAnswer, Time};
use words::{RunId, RunStatus};

use crate::access::Permission;
use crate::api::Api;
use crate::body;
use crate::error::ApiError;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What a path asks for, when it is for the entrance.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Door<'a> {
    /// `POST /v1/workflows/{name}/runs`
    Post { workflow: &'a str },
    /// `PUT /v1/workflows/{name}/runs/{id}`
    Put { workflow: &'a str, id: &'a str },
    /// `POST /v1/workflows/{name}/runs:batch`
    Batch { workflow: &'a str },
}

/// Matches the entrance's own paths.
pub(crate) fn door<'a>(method: &Method, path: &'a str) -> Option<Door<'a>> {
    let rest = path.strip_prefix("/v1/workflows/")?;
    let (workflow, rest) = rest.split_once('/')?;
    match (method, rest) {
        (&Method::POST, "runs") => Some(Door::Post { workflow }),
        (&Method::POST, "runs:batch") => Some(Door::Batch { workflow }),
        (&Method::PUT, rest) => {
            let id = rest.strip_prefix("runs/").filter(|id| !id.is_empty() && !id.contains('/'))?;
            Some(Door::Put { workflow, id })
        }
        _ => None,
    }
}

impl<J: Journal> Api<J> {
    pub(crate) async fn enter(
        &self,
        door: Door<'_>,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, ApiError> {
        self.allow(request.headers(), Permission::Ingest)?;
        let catalog = self.catalog();
        match door {
            Door::Post { workflow } => {
                let entry = self.workflow(&catalog, workflow)?;
                let submitted = self.submit(&entry, request, None).await?;
                self.answer(&entry, &submitted).await
            }
            Door::Put { workflow, id } => {
                let entry = self.workflow(&catalog, workflow)?;
                let submitted = self.submit(&entry, request, Some(run_id(id)?)).await?;
                self.answer(&entry, &submitted).await
            }
            Door::Batch { workflow } => {
                let entry = self.workflow(&catalog, workflow)?;
                self.submit_batch(&entry, request).await
            }
        }
    }

    /// Takes one request for a workflow.
    async fn submit(
        &self,
        entry: &Entry,
        request: Request<Incoming>,
        path_id: Option<RunId>,
    ) -> Result<Submitted, ApiError> {
        let mut offer = offer(request.headers(), path_id)?;
        offer.body = self.read_body(request, BODY_BYTES_MAX).await?;
        self.take(entry, offer).await
    }

    /// The body, unless there is too much already: it would take the memory that there is too little of.
    async fn read_body(&self, request: Request<Incoming>, bytes_max: usize) -> Result<Bytes, ApiError> {
        if let Err(refusal) = self.ingest.admit() {
            body::discard(request, bytes_max).await;
            return Err(refusal.into());
        }
        body::read(request, bytes_max).await
    }

    pub(crate) async fn take(&self, entry: &Entry, offer: Offer) -> Result<Submitted, ApiError> {
        let target = Target { definition: &entry.definition, version: entry.version };
        Ok(self.ingest.submit(target, offer).await?)
    }

    async fn answer(&self, entry: &Entry, submitted: &Submitted) -> Result<Response<Body>, ApiError> {
        let location = format!("/v1/runs/{}", submitted.id);
        if submitted.new {
            let body = accepted_json(entry, submitted);
            return Ok(accepted(StatusCode::ACCEPTED, &location, body.into()));
        }
        let body = self.show(&submitted.id).await?;
        let mut response = accepted(StatusCode::OK, &location, body);
        mark_replay(&mut response, submitted);
        Ok(response)
    }

    async fn submit_batch(
        &self,
        entry: &Entry,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, ApiError> {
        check_media_type(request.headers(), &["application/x-ndjson", "application/jsonl"])?;
        let text = self.read_body(request, BATCH_BYTES_MAX).await?;
        let lines = split_lines(&text)?;
        let target = Target { definition: &entry.definition, version: entry.version };
        let bodies = lines.iter().map(|(_, body)| body.clone()).collect();
        let answers = self.ingest.submit_batch(target, bodies).await?;
        let mut body = Vec::with_capacity(answers.len() * 80);
        for ((line, _), answer) in lines.iter().zip(answers) {
            let answer = match answer {
                Ok(submitted) => BatchAnswer {
                    line: *line,
                    status: if submitted.new { 202 } else { 200 },
                    id: Some(submitted.id.to_string()),
                    problem: None,
                },
                Err(error) => {
                    let problem = ApiError::from(error).problem();
                    BatchAnswer { line: *line, status: problem.status, id: None, problem: Some(problem) }
                }
            };
            serde_json::to_writer(&mut body, &answer).expect("an answer in memory can always be encoded");
            body.push(b'\n');
        }
        let mut response = Response::new(Body::from(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        Ok(response)
    }
}

/// The lines of a batch that hold something, with their numbers from 1.
fn split_lines(text: &Bytes) -> Result<Vec<(usize, Bytes)>, ApiError> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let end = start + line.len();
        if !line.trim_ascii().is_empty() {
            lines.push((number + 1, text.slice(start..end)));
        }
        start = end + 1;
    }
    if lines.len() > BATCH_REQUESTS_MAX {
        let text =
            format!("a batch of {} requests is more than {BATCH_REQUESTS_MAX}; send several", lines.len());
        return Err(ApiError::BadRequest(text));
    }
    Ok(lines)
}

pub(crate) fn offer(headers: &HeaderMap, path_id: Option<RunId>) -> Result<Offer, ApiError> {
    check_media_type(headers, &["application/json"])?;
    let header_id = match headers.get(IDEMPOTENCY_KEY) {
        None => None,
        Some(value) => {
            let text = value.to_str().unwrap_or("").trim().trim_matches('"');
            Some(
                RunId::new(text)
                    .map_err(|error| ApiError::BadRequest(format!("Idempotency-Key: {error}")))?,
            )
        }
    };
    let trace = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok(Offer { body: Bytes::new(), path_id, header_id, trace })
}

pub(crate) fn check_media_type(headers: &HeaderMap, allowed: &[&str]) -> Result<(), ApiError> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or("").split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    // curl says this when it is told nothing.
    let unsaid = text == "application/x-www-form-urlencoded" || text.is_empty();
    if unsaid
        || allowed.contains(&text.as_str())
        || text.ends_with("+json") && allowed.contains(&"application/json")
    {
        return Ok(());
    }
    Err(ApiError::MediaType(format!(
        "Content-Type {text:?} is not taken here; send {}",
        allowed.join(" or ")
    )))
}

pub(crate) fn run_id(text: &str) -> Result<RunId, ApiError> {
    RunId::new(text).map_err(|error| ApiError::BadRequest(error.to_string()))
}

fn accepted_json(entry: &Entry, submitted: &Submitted) -> Vec<u8> {
    let summary = AcceptedRun {
        id: submitted.id.as_str(),
        workflow: entry.definition.name().as_str(),
        version: entry.version,
        status: RunStatus::Accepted,
        key: submitted.key.as_str(),
        accepted_at: Time(submitted.at),
    };
    serde_json::to_vec(&summary).expect("a summary in memory can always be encoded")
}

/// Says that the answer is about a request that was accepted before.
pub(crate) fn mark_replay(response: &mut Response<Body>, submitted: &Submitted) {
    if !submitted.new {
        response.headers_mut().insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
    }
}

pub(crate) fn accepted(status: StatusCode, location: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(location) = HeaderValue::try_from(location) {
        headers.insert(LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entrance_knows_its_own_paths_and_no_others() {
        let post = |path| door(&Method::POST, path);
        assert_eq!(post("/v1/workflows/a/runs"), Some(Door::Post { workflow: "a" }));
        assert_eq!(post("/v1/workflows/a/runs:batch"), Some(Door::Batch { workflow: "a" }));
        let put = door(&Method::PUT, "/v1/workflows/a/runs/x-1");
        assert_eq!(put, Some(Door::Put { workflow: "a", id: "x-1" }));
        for path in ["/v1/workflows/a/runs/", "/v1/workflows/a/runs/x/y", "/v1/workflows", "/v1/workflows/a"]
        {
            assert_eq!(door(&Method::PUT, path), None, "{path}");
            assert_eq!(post(path), None, "{path}");
        }
        assert_eq!(door(&Method::GET, "/v1/workflows/a/runs"), None);
    }

    #[test]
    fn a_batch_keeps_the_numbers_of_its_lines() {
        let lines = split_lines(&Bytes::from_static(b"{}\n\n  \n{\"a\":1}\r\n")).unwrap();
        let numbers: Vec<_> = lines.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 4]);
    }
}
