//! Jobs for people: `/v1/collections/{c}/jobs/{j}`, with the bodies of the Azure API and further fields.

use api_types::ApiSchema;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{Method, StatusCode};
use kernel::job::Collection;
use schedule::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use types::Span;

use super::collections::{path_of, read, short_name};
use super::json as answer;
use super::params::{Named, PathParams, QueryParams};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::etag::{expect, with_etag};
use crate::forward::scope::RouteScope;
use crate::jobs::{CollectionPath, Jobs, JobsError, Shown, Wanted, Writing, record, scope, status, stored};
use crate::limits::{JOB_BYTES_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use crate::openapi::jobs::{
    Fired, JobDocument, JobDraft, JobHistory, JobPage, JobPatch, JobState, Preview, PreviewDraft,
};
use crate::openapi::operation::{Media, Operation, Parameter, ReplyDoc, RequestBody};
use crate::openapi::shared::{
    ANOTHER_VERSION, COLLECTION, CURSOR, ETAG, IF_MATCH, IF_NONE_MATCH, JOB, LIMIT, NO_SUCH_COLLECTION,
    NO_SUCH_JOB, OVER_128_KIB, UNREADABLE, WRONG_PARAMETER,
};

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/collections/{collection}/jobs",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(list)),
        doc: Operation {
            id: "listJobs",
            summary: "The jobs of a collection, in the order of their names",
            description: "",
            parameters: &[
                COLLECTION,
                Parameter::query("state", "Only jobs in this state.", JobState::schema),
                Parameter::query(
                    "name",
                    "Only jobs whose name has this in it, in any casing.",
                    |_| json!({ "type": "string" }),
                ),
                LIMIT,
                CURSOR,
            ],
            body: None,
            replies: &[
                ReplyDoc::json::<JobPage>(200, "A page."),
                WRONG_PARAMETER,
                NO_SUCH_COLLECTION,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/collections/{collection}/jobs/{job}",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(show)),
        doc: Operation {
            id: "showJob",
            summary: "A job and its state",
            description: "",
            parameters: &[COLLECTION, JOB],
            body: None,
            replies: &[ReplyDoc::json::<JobDocument>(200, "The job.").with(&[ETAG]), NO_SUCH_JOB, UNREADABLE],
        },
    },
    Route {
        method: Method::PUT,
        path: "/v1/collections/{collection}/jobs/{job}",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(put)),
        doc: Operation {
            id: "putJob",
            summary: "Create or replace a job",
            description: "",
            parameters: &[COLLECTION, JOB, IF_MATCH, IF_NONE_MATCH],
            body: Some(RequestBody {
                required: true,
                content: &[Media::json::<JobDraft>().example(|| {
                    json!({
                        "properties": {
                            "action": {
                                "type": "Http",
                                "request": {
                                    "uri": "https://shop.example/nightly",
                                    "method": "POST",
                                },
                            },
                            "recurrence": {
                                "frequency": "day",
                                "schedule": { "hours": [3], "minutes": [0] },
                            },
                            "timeZone": "Europe/Berlin",
                        },
                    })
                })],
            }),
            replies: &[
                ReplyDoc::json::<JobDocument>(200, "Replaced.").with(&[ETAG]),
                ReplyDoc::json::<JobDocument>(201, "Created.").with(&[ETAG]),
                ReplyDoc::problem(400, "The job is wrong: see `errors`."),
                NO_SUCH_COLLECTION,
                ReplyDoc::problem(409, "It does not fit the quota of the collection."),
                ANOTHER_VERSION,
                OVER_128_KIB,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::PATCH,
        path: "/v1/collections/{collection}/jobs/{job}",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(patch)),
        doc: Operation {
            id: "patchJob",
            summary: "Merge a change into a job; null removes a member, secrets that are not written are kept",
            description: "",
            parameters: &[COLLECTION, JOB, IF_MATCH],
            body: Some(RequestBody {
                required: true,
                content: &[
                    Media::json::<JobPatch>().example(|| json!({ "properties": { "state": "disabled" } }))
                ],
            }),
            replies: &[
                ReplyDoc::json::<JobDocument>(200, "Changed.").with(&[ETAG]),
                ReplyDoc::problem(400, "The job is wrong: see `errors`."),
                NO_SUCH_JOB,
                ReplyDoc::problem(409, "The job is finished, or does not fit the quota of the collection."),
                ANOTHER_VERSION,
                OVER_128_KIB,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::DELETE,
        path: "/v1/collections/{collection}/jobs/{job}",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(delete)),
        doc: Operation {
            id: "deleteJob",
            summary: "Delete a job; its running occurrences go on",
            description: "",
            parameters: &[COLLECTION, JOB, IF_MATCH],
            body: None,
            replies: &[
                ReplyDoc::empty(204, "Done."),
                ReplyDoc::problem(400, "`If-Match` is not a version."),
                NO_SUCH_JOB,
                ANOTHER_VERSION,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/collections/{collection}/jobs/{job}/run",
        access: RouteAccess::Token(Permission::Operate),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(run)),
        doc: Operation {
            id: "runJob",
            summary: "Fire a job now; what is planned stays planned",
            description: "",
            parameters: &[COLLECTION, JOB],
            body: None,
            replies: &[
                ReplyDoc::json::<Fired>(202, "Fired: durable."),
                NO_SUCH_JOB,
                ReplyDoc::problem(409, "The job is finished, or running and its occurrences do not overlap."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/collections/{collection}/jobs/{job}/history",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(history)),
        doc: Operation {
            id: "listJobHistory",
            summary: "The attempts of a job, newest first",
            description: "",
            parameters: &[
                COLLECTION,
                JOB,
                Parameter::query(
                    "status",
                    "Only attempts that ended so.",
                    |_| json!({ "type": "string", "enum": ["completed", "failed"] }),
                ),
                LIMIT,
                CURSOR,
            ],
            body: None,
            replies: &[
                ReplyDoc::json::<JobHistory>(200, "A page."),
                WRONG_PARAMETER,
                NO_SUCH_JOB,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/collections/{collection}/jobs/{job}/preview",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(preview)),
        doc: Operation {
            id: "previewJob",
            summary: "When a job will fire next",
            description: "",
            parameters: &[
                COLLECTION,
                JOB,
                Parameter::query(
                    "count",
                    "How many.",
                    |_| json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 10 }),
                ),
            ],
            body: None,
            replies: &[
                ReplyDoc::json::<Preview>(200, "The next firings."),
                WRONG_PARAMETER,
                NO_SUCH_JOB,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/preview",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Replicated,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(preview_of)),
        doc: Operation {
            id: "preview",
            summary: "When a job that does not exist would fire",
            description: "",
            parameters: &[],
            body: Some(RequestBody {
                required: true,
                content: &[Media::json::<PreviewDraft>().example(|| {
                    json!({
                        "recurrence": { "cron": "30 2 * * *" },
                        "timeZone": "Europe/Berlin",
                        "count": 3,
                    })
                })],
            }),
            replies: &[
                ReplyDoc::json::<Preview>(200, "The first firings."),
                ReplyDoc::problem(400, "The job is wrong: see `errors`."),
                OVER_128_KIB,
                UNREADABLE,
            ],
        },
    },
];

const DIALECT: Dialect = Dialect { sdk_spellings: false, native: true };

/// A job in a path.
pub(super) struct JobPath {
    at: CollectionPath,
    job: String,
}

impl<S: Send + Sync> FromRequestParts<S> for JobPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<JobPath, ApiError> {
        let params = PathParams::from_request_parts(parts, state).await?;
        let (at, job) = (path_of(params.require("collection")?)?, params.require("job")?.to_owned());
        Ok(JobPath { at, job })
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
    State(jobs): State<Jobs>,
    Named(collection): Named,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<Response, ApiError> {
    let rows = query.rows()?;
    let state = query.state.map(|state| schedule::parse_job_filter(&format!("state eq {state}")));
    let state = state.transpose().map_err(JobsError::from)?;
    let wanted = Wanted { state, name: query.name.map(|name| name.to_lowercase()) };
    let (collection, page) = jobs.list_jobs(&path_of(&collection)?, &wanted, rows.skip, rows.top).await?;
    let items = page.jobs.iter().map(|job| shown(&collection, job)).collect::<Result<_, _>>()?;
    Ok(answer(&rows.page(items, page.more)))
}

pub(super) async fn show(
    State(jobs): State<Jobs>,
    JobPath { at, job }: JobPath,
) -> Result<Response, ApiError> {
    let (collection, found) = jobs.show_job(&at, &job).await?;
    reply(&collection, &found, StatusCode::OK)
}

pub(super) async fn put(
    State(jobs): State<Jobs>,
    JobPath { at, job }: JobPath,
    request: Request,
) -> Result<Response, ApiError> {
    let writing = Writing { expect: expect(request.method(), request.headers())?, delay: Span::ZERO };
    let body = read(request, JOB_BYTES_MAX).await?;
    let (collection, found, created) = jobs.put_job(&at, &job, &body, writing).await?;
    reply(&collection, &found, if created { StatusCode::CREATED } else { StatusCode::OK })
}

pub(super) async fn patch(
    State(jobs): State<Jobs>,
    JobPath { at, job }: JobPath,
    request: Request,
) -> Result<Response, ApiError> {
    let writing = Writing { expect: expect(request.method(), request.headers())?, delay: Span::ZERO };
    let body = read(request, JOB_BYTES_MAX).await?;
    let (collection, found) = jobs.patch_job(&at, &job, &body, writing).await?;
    reply(&collection, &found, StatusCode::OK)
}

pub(super) async fn delete(
    State(jobs): State<Jobs>,
    JobPath { at, job }: JobPath,
    request: Request,
) -> Result<Response, ApiError> {
    jobs.delete_job(&at, &job, expect(request.method(), request.headers())?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn reply(collection: &Collection, found: &Shown, status: StatusCode) -> Result<Response, ApiError> {
    let mut response = answer(&shown(collection, found)?);
    *response.status_mut() = status;
    Ok(with_etag(response, found.job.definition.version))
}

pub(super) async fn run(
    State(jobs): State<Jobs>,
    JobPath { at, job }: JobPath,
) -> Result<Response, ApiError> {
    let run = jobs.run_job(&at, &job).await?;
    let mut response = answer(&json!({ "run": run }));
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

pub(super) async fn history(
    State(jobs): State<Jobs>,
    JobPath { at, job }: JobPath,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<Response, ApiError> {
    let rows = query.rows()?;
    let status = query.status.map(|status| schedule::parse_history_filter(&format!("status eq {status}")));
    let status = status.transpose().map_err(JobsError::from)?;
    let collection = jobs.collection(&at)?;
    let job = jobs.job(&collection, &job)?;
    let page = jobs.history(&collection, &job, status, rows.skip, rows.top).await?;
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
    State(jobs): State<Jobs>,
    JobPath { at, job }: JobPath,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<Response, ApiError> {
    let count = query.count.unwrap_or(10);
    if !(1..=PAGE_ITEMS_MAX).contains(&count) {
        return Err(ApiError::BadRequest(format!("count: {count} is not 1 to {PAGE_ITEMS_MAX}")));
    }
    Ok(answer(&jobs.preview_job(&at, &job, count).await?))
}

pub(super) async fn preview_of(State(jobs): State<Jobs>, request: Request) -> Result<Response, ApiError> {
    let body = read(request, JOB_BYTES_MAX).await?;
    Ok(answer(&jobs.preview(&body)?))
}
