//! Jobs for people: `/v1/collections/{c}/jobs/{j}`, with the bodies of the Azure API and further fields.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use kernel::job::Collection;
use schedule::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use types::Span;

use super::collections::{path_of, read, short_name};
use super::{Named, json as answer};
use crate::api::Api;
use crate::auth::access::Permission;
use crate::azure::{CollectionPath, record, scope};
use crate::error::ApiError;
use crate::etag::{expect, with_etag};
use crate::jobs::{JobsError, Shown, Wanted, Writing, status, stored};
use crate::limits::{JOB_BYTES_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};

const DIALECT: Dialect = Dialect { sdk_spellings: false, native: true };

/// A job in a path.
pub(super) struct Place {
    at: CollectionPath,
    job: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Place {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Place, ApiError> {
        let Path((collection, job)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|error: PathRejection| ApiError::BadRequest(error.body_text()))?;
        Ok(Place { at: path_of(&collection)?, job })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    state: Option<String>,
    name: Option<String>,
    status: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
    count: Option<usize>,
}

type Asked = Result<Query<ListQuery>, QueryRejection>;

/// A page, and where the list goes on.
#[derive(Serialize)]
struct Page {
    items: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Which rows of a list are wanted.
struct Rows {
    skip: usize,
    top: usize,
}

impl ListQuery {
    fn rows(&self) -> Result<Rows, ApiError> {
        let top = self.limit.unwrap_or(PAGE_ITEMS_DEFAULT);
        if !(1..=PAGE_ITEMS_MAX).contains(&top) {
            return Err(ApiError::BadRequest(format!("limit: {top} is not 1 to {PAGE_ITEMS_MAX}")));
        }
        let skip = self.cursor.as_deref().map_or(Ok(0), str::parse);
        let skip = skip
            .map_err(|_| ApiError::BadRequest("cursor: not one that this list has handed out".to_owned()))?;
        Ok(Rows { skip, top })
    }
}

impl Rows {
    fn page(&self, items: Vec<Value>, more: bool) -> Page {
        Page { items, next: more.then(|| (self.skip + self.top).to_string()) }
    }
}

fn query(asked: Asked) -> Result<ListQuery, ApiError> {
    asked.map(|Query(asked)| asked).map_err(|error| ApiError::BadRequest(error.body_text()))
}

fn shown(collection: &Collection, shown: &Shown) -> Result<Value, JobsError> {
    let definition = &shown.job.definition;
    let view = stored(&shown.job)?.render(&status(shown), DIALECT);
    let resource = scope(collection).job(&collection.name, &definition.name, view);
    let mut value = serde_json::to_value(resource).expect("plain data");
    value["name"] = definition.name.as_str().into();
    value["collection"] = short_name(collection).into();
    Ok(value)
}

pub(super) async fn list(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(collection): Named,
    asked: Asked,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let asked = query(asked)?;
    let rows = asked.rows()?;
    let state = asked.state.map(|state| schedule::parse_job_filter(&format!("state eq {state}")));
    let state = state.transpose().map_err(JobsError::from)?;
    let wanted = Wanted { state, name: asked.name.map(|name| name.to_lowercase()) };
    let (collection, page) = api.jobs.list_jobs(&path_of(&collection)?, &wanted, rows.skip, rows.top).await?;
    let items = page.jobs.iter().map(|job| shown(&collection, job)).collect::<Result<_, _>>()?;
    Ok(answer(&rows.page(items, page.more)))
}

pub(super) async fn one(
    State(api): State<Api>,
    Place { at, job }: Place,
    request: Request,
) -> Result<Response, ApiError> {
    let method = request.method().clone();
    let needs =
        if matches!(method, Method::GET | Method::HEAD) { Permission::Read } else { Permission::Edit };
    api.auth.allow(request.headers(), needs)?;
    let writing = Writing { expect: expect(&method, request.headers())?, delay: Span::ZERO };
    let (collection, found, status) = match method {
        Method::GET | Method::HEAD => {
            let (collection, found) = api.jobs.show_job(&at, &job).await?;
            (collection, found, StatusCode::OK)
        }
        Method::PUT => {
            let body = read(request, JOB_BYTES_MAX).await?;
            let (collection, found, created) = api.jobs.put_job(&at, &job, &body, writing).await?;
            (collection, found, if created { StatusCode::CREATED } else { StatusCode::OK })
        }
        Method::PATCH => {
            let body = read(request, JOB_BYTES_MAX).await?;
            let (collection, found) = api.jobs.patch_job(&at, &job, &body, writing).await?;
            (collection, found, StatusCode::OK)
        }
        Method::DELETE => {
            api.jobs.delete_job(&at, &job, writing.expect).await?;
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        method => return Err(ApiError::Method { method, allow: "" }),
    };
    let mut response = answer(&shown(&collection, &found)?);
    *response.status_mut() = status;
    Ok(with_etag(response, found.job.definition.version))
}

pub(super) async fn run(
    State(api): State<Api>,
    headers: HeaderMap,
    Place { at, job }: Place,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Operate)?;
    let run = api.jobs.run_job(&at, &job).await?;
    let mut response = answer(&json!({ "run": run }));
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

pub(super) async fn history(
    State(api): State<Api>,
    headers: HeaderMap,
    Place { at, job }: Place,
    asked: Asked,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let asked = query(asked)?;
    let rows = asked.rows()?;
    let status = asked.status.map(|status| schedule::parse_history_filter(&format!("status eq {status}")));
    let status = status.transpose().map_err(JobsError::from)?;
    let collection = api.jobs.collection(&at)?;
    let job = api.jobs.job(&collection, &job)?;
    let page = api.jobs.history(&collection, &job, status, rows.skip, rows.top).await?;
    let item = |attempt| {
        let mut value = serde_json::to_value(record(attempt).render(DIALECT)).expect("plain data");
        value["run"] = attempt.run.as_str().into();
        value["byHand"] = attempt.by_hand.into();
        value
    };
    let items = page.attempts.iter().map(item).collect();
    Ok(answer(&rows.page(items, page.more)))
}

pub(super) async fn preview(
    State(api): State<Api>,
    headers: HeaderMap,
    Place { at, job }: Place,
    asked: Asked,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let count = query(asked)?.count.unwrap_or(10);
    if !(1..=PAGE_ITEMS_MAX).contains(&count) {
        return Err(ApiError::BadRequest(format!("count: {count} is not 1 to {PAGE_ITEMS_MAX}")));
    }
    Ok(answer(&api.jobs.preview_job(&at, &job, count).await?))
}

pub(super) async fn preview_of(State(api): State<Api>, request: Request) -> Result<Response, ApiError> {
    api.auth.allow(request.headers(), Permission::Read)?;
    let body = read(request, JOB_BYTES_MAX).await?;
    Ok(answer(&api.jobs.preview(&body)?))
}
