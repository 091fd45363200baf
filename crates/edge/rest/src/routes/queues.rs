//! Queues and the subscriptions of topics: created, shown, changed, deleted, peeked, redriven and purged.

use api_types::{MessagePage, Moved, NamePage, QueueView};
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{Method, StatusCode};
use kernel::queue::{QueueRef, SubQueue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json as answer;
use super::params::{PathParams, QueryParams};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::auth::access::Permission;
use crate::body;
use crate::error::ApiError;
use crate::etag::{expect, with_etag};
use crate::forward::scope::{Merge, RouteScope};
use crate::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX, QUEUE_BYTES_MAX};
use crate::openapi::drafts::{PurgeDraft, QueueDraft, RedriveDraft, SubscriptionDraft};
use crate::openapi::operation::{Media, Operation, ReplyDoc, RequestBody};
use crate::openapi::shared::{
    AFTER, ANOTHER_KIND, ANOTHER_VERSION, ETAG, FROM_NUMBER, IF_MATCH, IF_NONE_MATCH, MESSAGE_LIMIT,
    NAME_LIMIT, NO_SUCH_QUEUE, NO_SUCH_SUBSCRIPTION, NO_SUCH_TOPIC, OVER_64_KIB, QUEUE, STOPPED, SUB_QUEUE,
    SUBSCRIPTION, TOPIC, WRONG_FIELD,
};
use crate::queues::{Look, Part, Queues, queue_ref, sub_queue};

/// Why a queue, topic or subscription is not created or replaced.
pub(super) const WRONG_SETTING: ReplyDoc =
    ReplyDoc::problem(400, "The name or a setting is wrong; the detail names it.");
pub(super) const CANNOT_PUT: ReplyDoc = ReplyDoc::problem(
    409,
    "Sessions cannot be switched on or off, the name is taken, or the partition is \
                        full of queues.",
);

/// The routes of a queue, which a subscription has alike.
macro_rules! queue_routes {
    (
        at: $at:literal,
        scope: $scope:literal,
        names: [$($name:expr),+],
        noun: $noun:literal,
        show: $show:literal,
        put: $put:literal,
        delete: $delete:literal,
        peek: $peek:literal,
        redrive: $redrive:literal,
        purge: $purge:literal,
        draft: $draft:expr,
        missing: $missing:expr $(,)?
    ) => {
        &[
            Route {
                method: Method::GET,
                path: $at,
                access: RouteAccess::Queue(Permission::Read),
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::Call(|| handle(show)),
                doc: Operation {
                    id: $show,
                    summary: concat!("A ", $noun, " with its counts"),
                    description: "",
                    parameters: &[$($name),+],
                    body: None,
                    replies: &[
                        ReplyDoc::json::<QueueView>(200, concat!("The ", $noun, ".")).with(&[ETAG]),
                        WRONG_FIELD,
                        $missing,
                        ANOTHER_KIND,
                        STOPPED,
                    ],
                },
            },
            Route {
                method: Method::PUT,
                path: $at,
                access: RouteAccess::Queue(Permission::Edit),
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::Call(|| handle(put)),
                doc: Operation {
                    id: $put,
                    summary: concat!("Create or replace a ", $noun, "; its messages stay"),
                    description: "",
                    parameters: &[$($name),+, IF_MATCH, IF_NONE_MATCH],
                    body: Some(RequestBody { required: false, content: &[$draft] }),
                    replies: &[
                        ReplyDoc::json::<QueueView>(200, "Replaced.").with(&[ETAG]),
                        ReplyDoc::json::<QueueView>(201, "Created.").with(&[ETAG]),
                        WRONG_SETTING,
                        NO_SUCH_TOPIC,
                        CANNOT_PUT,
                        ANOTHER_VERSION,
                        OVER_64_KIB,
                        STOPPED,
                    ],
                },
            },
            Route {
                method: Method::DELETE,
                path: $at,
                access: RouteAccess::Queue(Permission::Edit),
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::Call(|| handle(delete)),
                doc: Operation {
                    id: $delete,
                    summary: concat!("Delete a ", $noun, " with all its messages"),
                    description: "",
                    parameters: &[$($name),+, IF_MATCH],
                    body: None,
                    replies: &[
                        ReplyDoc::empty(204, "Deleted."),
                        WRONG_FIELD,
                        $missing,
                        ANOTHER_KIND,
                        ANOTHER_VERSION,
                        STOPPED,
                    ],
                },
            },
            Route {
                method: Method::GET,
                path: concat!($at, "/messages"),
                access: RouteAccess::Queue(Permission::Read),
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::Call(|| handle(messages)),
                doc: Operation {
                    id: $peek,
                    summary: "Look at messages, oldest first, without receiving them",
                    description: "",
                    parameters: &[$($name),+, SUB_QUEUE, FROM_NUMBER, MESSAGE_LIMIT],
                    body: None,
                    replies: &[
                        ReplyDoc::json::<MessagePage>(200, "A page."),
                        WRONG_FIELD,
                        $missing,
                        ANOTHER_KIND,
                        STOPPED,
                    ],
                },
            },
            Route {
                method: Method::POST,
                path: concat!($at, "/redrive"),
                access: RouteAccess::Queue(Permission::Operate),
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::Call(|| handle(redrive)),
                doc: Operation {
                    id: $redrive,
                    summary: "Bring dead letters back, oldest first",
                    description: "",
                    parameters: &[$($name),+],
                    body: Some(RequestBody {
                        required: false,
                        content: &[Media::json::<RedriveDraft>().example(|| json!({ "max": 100 }))],
                    }),
                    replies: &[
                        ReplyDoc::json::<Moved>(200, "How many."),
                        WRONG_FIELD,
                        $missing,
                        ANOTHER_KIND,
                        OVER_64_KIB,
                        STOPPED,
                    ],
                },
            },
            Route {
                method: Method::POST,
                path: concat!($at, "/purge"),
                access: RouteAccess::Queue(Permission::Operate),
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::Call(|| handle(purge)),
                doc: Operation {
                    id: $purge,
                    summary: "Delete messages that no consumer has locked",
                    description: "",
                    parameters: &[$($name),+],
                    body: Some(RequestBody {
                        required: false,
                        content: &[Media::json::<PurgeDraft>().example(|| json!({ "sub_queue": "dead" }))],
                    }),
                    replies: &[
                        ReplyDoc::json::<Moved>(200, "How many."),
                        WRONG_FIELD,
                        $missing,
                        ANOTHER_KIND,
                        OVER_64_KIB,
                        STOPPED,
                    ],
                },
            },
        ]
    };
}

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[Route {
    method: Method::GET,
    path: "/v1/queues",
    access: RouteAccess::Queue(Permission::Read),
    scope: RouteScope::Merged(Merge::Queues),
    standby: OnStandby::Refuse,
    handler: RouteHandler::Call(|| handle(list)),
    doc: Operation {
        id: "listQueues",
        summary: "The queues with their counts, in the order of their names",
        description: "",
        parameters: &[AFTER, NAME_LIMIT],
        body: None,
        replies: &[
            ReplyDoc::json::<NamePage<QueueView>>(200, "A page."),
            WRONG_FIELD,
            ReplyDoc::retry_later(503, "A partition is stopped: its part cannot be listed."),
        ],
    },
}];

pub(super) const QUEUE_ROUTES: &[Route] = queue_routes! {
    at: "/v1/queues/{queue}",
    scope: "queue",
    names: [QUEUE],
    noun: "queue",
    show: "showQueue",
    put: "putQueue",
    delete: "deleteQueue",
    peek: "peekQueue",
    redrive: "redriveQueue",
    purge: "purgeQueue",
    draft: Media::json::<QueueDraft>().example(|| json!({ "lock": "30s", "deliveries_max": 5 })),
    missing: NO_SUCH_QUEUE,
};

pub(super) const SUBSCRIPTION_ROUTES: &[Route] = queue_routes! {
    at: "/v1/topics/{topic}/subscriptions/{subscription}",
    scope: "topic",
    names: [TOPIC, SUBSCRIPTION],
    noun: "subscription",
    show: "showSubscription",
    put: "putSubscription",
    delete: "deleteSubscription",
    peek: "peekSubscription",
    redrive: "redriveSubscription",
    purge: "purgeSubscription",
    draft: Media::json::<SubscriptionDraft>()
        .example(|| json!({ "filter": { "label": "paid", "properties": { "country": "NO" } } })),
    missing: NO_SUCH_SUBSCRIPTION,
};

/// The queue, topic or subscription that a path names.
pub(super) struct At(pub QueueRef);

impl<S: Send + Sync> FromRequestParts<S> for At {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<At, ApiError> {
        let params = PathParams::from_request_parts(parts, state).await?;
        let name = params.get("queue").map_or_else(|| params.require("topic"), Ok)?;
        Ok(At(queue_ref(name, params.get("subscription"))?))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartQuery {
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LookQuery {
    sub_queue: Option<String>,
    from: Option<u64>,
    limit: Option<usize>,
}

pub(super) fn part(query: PartQuery) -> Result<Part, ApiError> {
    let limit = query.limit.unwrap_or(PAGE_ITEMS_MAX);
    if !(1..=PAGE_ITEMS_MAX).contains(&limit) {
        return Err(ApiError::BadRequest(format!("limit: {limit} is not 1 to {PAGE_ITEMS_MAX}")));
    }
    Ok(Part { after: query.after.map(|name| name.to_ascii_lowercase()), limit })
}

/// How many names a list of queues or topics is asked for.
pub(crate) fn name_limit(uri: &http::Uri) -> Result<usize, ApiError> {
    let QueryParams(query) = QueryParams::of(uri)?;
    Ok(part(query)?.limit)
}

fn look(query: LookQuery) -> Result<Look, ApiError> {
    let limit = query.limit.unwrap_or(PAGE_ITEMS_DEFAULT);
    if !(1..=Look::LIMIT_MAX).contains(&limit) {
        return Err(ApiError::BadRequest(format!("limit: {limit} is not 1 to {}", Look::LIMIT_MAX)));
    }
    let sub_queue = query.sub_queue.as_deref().map_or(Ok(SubQueue::Main), sub_queue)?;
    Ok(Look { sub_queue, from: query.from.unwrap_or(0), limit })
}

pub(super) async fn list(
    State(queues): State<Queues>,
    QueryParams(query): QueryParams<PartQuery>,
) -> Result<Response, ApiError> {
    Ok(answer(&queues.list_queues(part(query)?).await?))
}

/// A queue or a subscription.
pub(super) async fn show(State(queues): State<Queues>, At(at): At) -> Result<Response, ApiError> {
    Ok(reply(&queues.show_queue(&at).await?, StatusCode::OK))
}

pub(super) async fn put(
    State(queues): State<Queues>,
    At(at): At,
    request: Request,
) -> Result<Response, ApiError> {
    let expect = expect(request.method(), request.headers())?;
    let (queue, created) = queues.put_queue(&at, &read(request).await?, expect).await?;
    Ok(reply(&queue, if created { StatusCode::CREATED } else { StatusCode::OK }))
}

pub(super) async fn delete(
    State(queues): State<Queues>,
    At(at): At,
    request: Request,
) -> Result<Response, ApiError> {
    queues.delete_queue(&at, expect(request.method(), request.headers())?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn reply(queue: &QueueView, status: StatusCode) -> Response {
    let mut response = answer(queue);
    *response.status_mut() = status;
    with_etag(response, queue.version)
}

pub(super) async fn messages(
    State(queues): State<Queues>,
    At(at): At,
    QueryParams(query): QueryParams<LookQuery>,
) -> Result<Response, ApiError> {
    Ok(answer(&queues.peek(&at, look(query)?).await?))
}

pub(super) async fn redrive(
    State(queues): State<Queues>,
    At(at): At,
    request: Request,
) -> Result<Response, ApiError> {
    let messages = queues.redrive(&at, &read(request).await?).await?;
    Ok(answer(&Moved { messages }))
}

pub(super) async fn purge(
    State(queues): State<Queues>,
    At(at): At,
    request: Request,
) -> Result<Response, ApiError> {
    let messages = queues.purge(&at, &read(request).await?).await?;
    Ok(answer(&Moved { messages }))
}

/// A body as JSON. Everything in these has a default, and so has all of it.
pub(super) async fn read(request: Request) -> Result<Value, ApiError> {
    let bytes = body::read(request, QUEUE_BYTES_MAX).await?;
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::BadQueue(format!("the body is not JSON: {error}")))
}
