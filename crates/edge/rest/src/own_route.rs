//! A workflow's own route: requests, their status, their cancel, as the API that it takes over had them.
//!
//! `POST {route}` and `PUT {route}/{id}` submit a request and answer with its body, in which the id is set;
//! `GET {route}/{id}` shows the run, `DELETE {route}/{id}` cancels it, and `PATCH {route}/{id}` submits the body
//! to the workflow that `accept.change` names, ordered after the request by its key.

use axum::body::Body;
use engine::{Catalog, CatalogEntry};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use ingest::limits::BODY_BYTES_MAX;
use types::RunId;

use crate::auth::Authorized;
use crate::body::Payload;
use crate::error::ApiError;
use crate::ingest_routes::{
    Acceptance, ForwardHead, Submissions, accepted, incoming_request, mark_replay, run_id,
};
use crate::json_member::with_member;

/// The workflow whose route a path is at, and the id after it.
pub(crate) fn find<'a>(catalog: &Catalog, path: &'a str) -> Option<(CatalogEntry, Option<&'a str>)> {
    catalog.all().find_map(|entry| {
        let rest = path.strip_prefix(entry.definition.accept().route()?)?;
        match rest.strip_prefix('/') {
            None if rest.is_empty() => Some((entry.clone(), None)),
            Some(id) if !id.is_empty() && !id.contains('/') => Some((entry.clone(), Some(id))),
            _ => None,
        }
    })
}

/// What can be done with one run at its workflow's own route.
fn methods(entry: &CatalogEntry) -> &'static str {
    match entry.definition.accept().change() {
        Some(_) => "GET, PUT, DELETE, PATCH",
        None => "GET, PUT, DELETE",
    }
}

impl Submissions {
    pub(crate) async fn own_route(
        &self,
        entry: &CatalogEntry,
        id: Option<&str>,
        caller: &Authorized<'_>,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        match (request.method().clone(), id) {
            (Method::POST, None) => self.submit_own(entry, None, request).await,
            (Method::PUT, Some(id)) => self.submit_own(entry, Some(run_id(id)?), request).await,
            (Method::GET, Some(id)) => {
                let body = self.runs.show(&run_id(id)?).await?;
                Ok(json(StatusCode::OK, body))
            }
            (Method::DELETE, Some(id)) => {
                self.runs.cancel(&run_id(id)?, &caller.name).await?;
                Ok(empty(StatusCode::NO_CONTENT))
            }
            (Method::PATCH, Some(id)) => self.change(entry, run_id(id)?, request).await,
            (method, None) => Err(ApiError::Method { method, allow: "POST" }),
            (method, Some(_)) => Err(ApiError::Method { method, allow: methods(entry) }),
        }
    }

    async fn submit_own(
        &self,
        entry: &CatalogEntry,
        path_id: Option<RunId>,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        self.check_version(entry, request.headers())?;
        let (durable, sent) = match self.accept(entry, path_id, request).await? {
            Acceptance::Local(durable, sent) => (durable, sent),
            Acceptance::Forwarded(response) => return Ok(response),
        };
        let route = entry.definition.accept().route().unwrap_or_default();
        let body = with_member(&sent, entry.definition.accept().id_field(), &durable.id);
        let status = if durable.new { StatusCode::ACCEPTED } else { StatusCode::OK };
        let mut response = accepted(status, &format!("{route}/{}", durable.id), body.into());
        mark_replay(&mut response, &durable);
        Ok(response)
    }

    /// Submits a change to the workflow that takes changes; the path, not the body, says of what.
    async fn change(
        &self,
        entry: &CatalogEntry,
        id: RunId,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        let Some(change) = entry.definition.accept().change() else {
            return Err(ApiError::Method { method: Method::PATCH, allow: methods(entry) });
        };
        if self.runs.find(&id).await?.is_none() {
            return Err(ApiError::NotFound(format!("no run {id}")));
        }
        let entry = self.workflows.current(change.as_str())?;
        let mut incoming = incoming_request(request.headers(), None)?;
        // To the owner of the change's partition, which need not be that of the run.
        let head = (!self.cluster.directory.is_alone()).then(|| ForwardHead {
            method: Method::POST,
            uri: format!("/v1/workflows/{change}/runs").parse().expect("a name is a part of a path"),
            headers: request.headers().clone(),
            from_peer: false,
        });
        let (admitted, sent) = self.read_body(request, BODY_BYTES_MAX).await?;
        incoming.body = with_member(&sent, entry.definition.accept().key_field(), &id);
        if let Acceptance::Forwarded(response) =
            self.accept_incoming(admitted, &entry, incoming, head).await?
            && !response.status().is_success()
        {
            return Ok(response);
        }
        let mut response = Response::new(Body::from(id.to_string()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        Ok(response)
    }
}

pub(crate) fn json(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
