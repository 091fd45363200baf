//! Collections for people: `/v1/collections/{c}`, with the bodies of the Azure API.
//!
//! `{c}` is a collection's name, or `subscription~group~name` for one that was made through the Azure paths.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use kernel::job::Collection;
use schedule::FrontEnd;
use serde::Deserialize;
use serde_json::{Value, json};

use super::params::{Named, QueryParams};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use super::{Items, json as answer};
use crate::api::Cluster;
use crate::auth::access::Permission;
use crate::body;
use crate::error::ApiError;
use crate::etag::{expect, with_etag};
use crate::forward::scope::{Merge, RouteScope};
use crate::jobs::{CollectionPath, Jobs, JobsError, Manner, scope, stored_collection};
use crate::limits::{IMPORT_BYTES_MAX, JOB_BYTES_MAX};
use crate::openapi::jobs::{
    CollectionDocument, CollectionDraft, CollectionExport, CollectionList, CollectionPatch, ImportChanges,
};
use crate::openapi::operation::{Media, Operation, Parameter, ReplyDoc, RequestBody};
use crate::openapi::shared::{
    ANOTHER_VERSION, COLLECTION, ETAG, IF_MATCH, IF_NONE_MATCH, NO_SUCH_COLLECTION, OVER_128_KIB, UNREADABLE,
};

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/collections",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Merged(Merge::Collections),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(list)),
        doc: Operation {
            id: "listCollections",
            summary: "The collections, in the order of their names",
            description: "",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::json::<CollectionList>(200, "The collections."), UNREADABLE],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/collections/{collection}",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(show)),
        doc: Operation {
            id: "showCollection",
            summary: "A collection",
            description: "",
            parameters: &[COLLECTION],
            body: None,
            replies: &[
                ReplyDoc::json::<CollectionDocument>(200, "The collection.").with(&[ETAG]),
                ReplyDoc::problem(400, "Not the name of a collection."),
                NO_SUCH_COLLECTION,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::PUT,
        path: "/v1/collections/{collection}",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(put)),
        doc: Operation {
            id: "putCollection",
            summary: "Create or replace a collection; its jobs stay",
            description: "",
            parameters: &[COLLECTION, IF_MATCH, IF_NONE_MATCH],
            body: Some(RequestBody { required: false, content: &[Media::json::<CollectionDraft>()] }),
            replies: &[
                ReplyDoc::json::<CollectionDocument>(200, "Replaced.").with(&[ETAG]),
                ReplyDoc::json::<CollectionDocument>(201, "Created.").with(&[ETAG]),
                ReplyDoc::problem(400, "The collection is wrong: see `errors`."),
                ReplyDoc::problem(
                    409,
                    "A job does not fit the new quota, or the subscription has a free collection already.",
                ),
                ANOTHER_VERSION,
                OVER_128_KIB,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::PATCH,
        path: "/v1/collections/{collection}",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(patch)),
        doc: Operation {
            id: "patchCollection",
            summary: "Merge a change into a collection; null removes a member",
            description: "",
            parameters: &[COLLECTION, IF_MATCH],
            body: Some(RequestBody {
                required: true,
                content: &[Media::json::<CollectionPatch>().example(|| json!({ "tags": { "team": "shop" } }))],
            }),
            replies: &[
                ReplyDoc::json::<CollectionDocument>(200, "Changed.").with(&[ETAG]),
                ReplyDoc::problem(400, "The collection is wrong: see `errors`."),
                NO_SUCH_COLLECTION,
                ReplyDoc::problem(409, "A job does not fit the new quota."),
                ANOTHER_VERSION,
                OVER_128_KIB,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::DELETE,
        path: "/v1/collections/{collection}",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(delete)),
        doc: Operation {
            id: "deleteCollection",
            summary: "Delete a collection with its jobs",
            description: "",
            parameters: &[COLLECTION, IF_MATCH],
            body: None,
            replies: &[
                ReplyDoc::empty(204, "Done."),
                ReplyDoc::problem(400, "`If-Match` is not a version."),
                NO_SUCH_COLLECTION,
                ANOTHER_VERSION,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/collections/{collection}/enable",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(enable)),
        doc: Operation {
            id: "enableCollection",
            summary: "Enable a collection, and the jobs that were enabled before",
            description: "",
            parameters: &[COLLECTION],
            body: None,
            replies: &[ReplyDoc::empty(204, "Done."), NO_SUCH_COLLECTION, UNREADABLE],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/collections/{collection}/disable",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(disable)),
        doc: Operation {
            id: "disableCollection",
            summary: "Disable a collection and its jobs",
            description: "",
            parameters: &[COLLECTION],
            body: None,
            replies: &[ReplyDoc::empty(204, "Done."), NO_SUCH_COLLECTION, UNREADABLE],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/collections/{collection}/export",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(export)),
        doc: Operation {
            id: "exportCollection",
            summary: "A collection with all its jobs, without secrets",
            description: "",
            parameters: &[COLLECTION],
            body: None,
            replies: &[
                ReplyDoc::json::<CollectionExport>(200, "The document."),
                NO_SUCH_COLLECTION,
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/collections/{collection}/import",
        access: RouteAccess::EditUnlessDryRun,
        scope: RouteScope::Collection("collection"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(import)),
        doc: Operation {
            id: "importCollection",
            summary: "Write a collection and its jobs: all of it or nothing",
            description: "",
            parameters: &[
                COLLECTION,
                Parameter::query(
                    "dry_run",
                    "Only say what would change.",
                    |_| json!({ "type": "boolean", "default": false }),
                ),
                Parameter::query(
                    "prune",
                    "Delete the jobs that the document does not name.",
                    |_| json!({ "type": "boolean", "default": false }),
                ),
            ],
            body: Some(RequestBody {
                required: true,
                content: &[Media::json::<CollectionExport>().example(|| {
                    json!({
                        "collection": {},
                        "jobs": [
                            {
                                "name": "nightly",
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
                            },
                        ],
                    })
                })],
            }),
            replies: &[
                ReplyDoc::json::<ImportChanges>(200, "What has changed, or would."),
                ReplyDoc::problem(400, "The document is wrong; the detail names the job and the member."),
                ReplyDoc::problem(409, "It does not fit the quota of the collection."),
                ReplyDoc::problem(413, "The body is larger than 1.5 MiB."),
                UNREADABLE,
            ],
        },
    },
];

/// The subscription and the group of collections that were made natively.
const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000000";
const GROUP: &str = "default";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ImportQuery {
    dry_run: bool,
    prune: bool,
}

/// Where `{c}` points.
pub(crate) fn path_of(text: &str) -> Result<CollectionPath, ApiError> {
    let parts: Vec<&str> = text.split('~').collect();
    let [subscription, group, name] = match parts.as_slice() {
        [name] => [SUBSCRIPTION, GROUP, name],
        [subscription, group, name] => [*subscription, *group, *name],
        _ => {
            let text = format!("'{text}' is not a collection: write its name, or subscription~group~name");
            return Err(ApiError::BadRequest(text));
        }
    };
    let [subscription, group, name] = [subscription, group, name].map(str::to_owned);
    Ok(CollectionPath { subscription, group, name })
}

/// How a collection is named in paths.
pub(super) fn short_name(collection: &Collection) -> String {
    short_name_of(&collection.full_name())
}

/// The same for one that is known by its full name, `subscription/group/name`.
pub(crate) fn short_name_of(full_name: &str) -> String {
    let parts: Vec<&str> = full_name.splitn(3, '/').collect();
    match parts.as_slice() {
        [SUBSCRIPTION, group, name] if group.eq_ignore_ascii_case(GROUP) => (*name).to_owned(),
        _ => full_name.replace('/', "~"),
    }
}

fn shown(collection: &Collection) -> Result<Value, JobsError> {
    let document = stored_collection(collection)?;
    let mut value =
        serde_json::to_value(scope(collection).collection(&collection.name, &document)).expect("plain data");
    value["collection"] = short_name(collection).into();
    value["jobs"] = collection.jobs.into();
    Ok(value)
}

pub(super) async fn list(
    State(jobs): State<Jobs>,
    State(cluster): State<Cluster>,
) -> Result<Response, ApiError> {
    let all = jobs.reader.collections_in(cluster.owned_partitions(), "").map_err(JobsError::from)?;
    let items = all.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    Ok(answer(&Items { items }))
}

pub(super) async fn show(State(jobs): State<Jobs>, Named(name): Named) -> Result<Response, ApiError> {
    reply(&jobs.collection(&path_of(&name)?)?, StatusCode::OK)
}

pub(super) async fn put(
    State(jobs): State<Jobs>,
    Named(name): Named,
    request: Request,
) -> Result<Response, ApiError> {
    let (at, expect) = (path_of(&name)?, expect(request.method(), request.headers())?);
    // Everything in a collection has a default, and so has all of it.
    let bytes = body::read(request, JOB_BYTES_MAX).await?;
    let body = if bytes.is_empty() { json!({}) } else { parse(&bytes)? };
    let (collection, created) = jobs.put_collection(&at, &body, FrontEnd::Native, expect).await?;
    reply(&collection, if created { StatusCode::CREATED } else { StatusCode::OK })
}

pub(super) async fn patch(
    State(jobs): State<Jobs>,
    Named(name): Named,
    request: Request,
) -> Result<Response, ApiError> {
    let (at, expect) = (path_of(&name)?, expect(request.method(), request.headers())?);
    let body = read(request, JOB_BYTES_MAX).await?;
    reply(&jobs.patch_collection(&at, &body, expect).await?, StatusCode::OK)
}

pub(super) async fn delete(
    State(jobs): State<Jobs>,
    Named(name): Named,
    request: Request,
) -> Result<Response, ApiError> {
    let expect = expect(request.method(), request.headers())?;
    jobs.delete_collection(&path_of(&name)?, expect).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn reply(collection: &Collection, status: StatusCode) -> Result<Response, ApiError> {
    let mut response = answer(&shown(collection)?);
    *response.status_mut() = status;
    Ok(with_etag(response, collection.version))
}

pub(super) async fn enable(State(jobs): State<Jobs>, Named(name): Named) -> Result<Response, ApiError> {
    jobs.switch_collection(&path_of(&name)?, true).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn disable(State(jobs): State<Jobs>, Named(name): Named) -> Result<Response, ApiError> {
    jobs.switch_collection(&path_of(&name)?, false).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn export(State(jobs): State<Jobs>, Named(name): Named) -> Result<Response, ApiError> {
    Ok(answer(&jobs.export(&path_of(&name)?)?))
}

pub(super) async fn import(
    State(jobs): State<Jobs>,
    Named(name): Named,
    QueryParams(query): QueryParams<ImportQuery>,
    request: Request,
) -> Result<Response, ApiError> {
    let body = read(request, IMPORT_BYTES_MAX).await?;
    let manner = Manner { dry_run: query.dry_run, prune: query.prune };
    Ok(answer(&jobs.import(&path_of(&name)?, &body, manner).await?))
}

/// A body as JSON.
pub(super) async fn read(request: Request, bytes_max: usize) -> Result<Value, ApiError> {
    parse(&body::read(request, bytes_max).await?)
}

fn parse(bytes: &[u8]) -> Result<Value, ApiError> {
    if bytes.is_empty() {
        return Err(ApiError::BadRequest("the body is missing; send JSON".to_owned()));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::BadRequest(format!("the body is not JSON: {error}")))
}
