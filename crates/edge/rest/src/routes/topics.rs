//! Topics: made, shown, changed, deleted. What is received from them is their subscriptions'.

use api_types::{NamePage, QueueView, TopicView};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use serde_json::json;

use super::json as answer;
use super::params::QueryParams;
use super::queues::{At, CANNOT_PUT, PartQuery, WRONG_SETTING, part, read};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::etag::{expect, with_etag};
use crate::forward::scope::{Merge, RouteScope};
use crate::openapi::drafts::TopicDraft;
use crate::openapi::operation::{Media, Operation, ReplyDoc, RequestBody};
use crate::openapi::shared::{
    AFTER, ANOTHER_KIND, ANOTHER_VERSION, ETAG, IF_MATCH, IF_NONE_MATCH, NAME_LIMIT, NO_SUCH_TOPIC,
    OVER_64_KIB, STOPPED, TOPIC, WRONG_FIELD,
};
use crate::queues::Queues;

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/topics",
        access: RouteAccess::Queue(Permission::Read),
        scope: RouteScope::Merged(Merge::Topics),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(list)),
        doc: Operation {
            id: "listTopics",
            summary: "The topics, in the order of their names",
            description: "",
            parameters: &[AFTER, NAME_LIMIT],
            body: None,
            replies: &[
                ReplyDoc::json::<NamePage<TopicView>>(200, "A page."),
                WRONG_FIELD,
                ReplyDoc::retry_later(503, "A partition is stopped: its part cannot be listed."),
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/topics/{topic}",
        access: RouteAccess::Queue(Permission::Read),
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(show)),
        doc: Operation {
            id: "showTopic",
            summary: "A topic",
            description: "",
            parameters: &[TOPIC],
            body: None,
            replies: &[
                ReplyDoc::json::<TopicView>(200, "The topic.").with(&[ETAG]),
                WRONG_FIELD,
                NO_SUCH_TOPIC,
                ANOTHER_KIND,
                STOPPED,
            ],
        },
    },
    Route {
        method: Method::PUT,
        path: "/v1/topics/{topic}",
        access: RouteAccess::Queue(Permission::Edit),
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(put)),
        doc: Operation {
            id: "putTopic",
            summary: "Create or replace a topic; its messages stay",
            description: "",
            parameters: &[TOPIC, IF_MATCH, IF_NONE_MATCH],
            body: Some(RequestBody {
                required: false,
                content: &[Media::json::<TopicDraft>().example(|| json!({ "duplicate_window": "1h" }))],
            }),
            replies: &[
                ReplyDoc::json::<TopicView>(200, "Replaced.").with(&[ETAG]),
                ReplyDoc::json::<TopicView>(201, "Created.").with(&[ETAG]),
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
        path: "/v1/topics/{topic}",
        access: RouteAccess::Queue(Permission::Edit),
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(delete)),
        doc: Operation {
            id: "deleteTopic",
            summary: "Delete a topic with all its messages",
            description: "",
            parameters: &[TOPIC, IF_MATCH],
            body: None,
            replies: &[
                ReplyDoc::empty(204, "Deleted."),
                WRONG_FIELD,
                NO_SUCH_TOPIC,
                ANOTHER_KIND,
                ANOTHER_VERSION,
                STOPPED,
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/topics/{topic}/subscriptions",
        access: RouteAccess::Queue(Permission::Read),
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(subscriptions)),
        doc: Operation {
            id: "listSubscriptions",
            summary: "The subscriptions of a topic with their counts",
            description: "",
            parameters: &[TOPIC, AFTER, NAME_LIMIT],
            body: None,
            replies: &[
                ReplyDoc::json::<NamePage<QueueView>>(200, "A page."),
                WRONG_FIELD,
                NO_SUCH_TOPIC,
                ReplyDoc::problem(409, "The name belongs to a queue."),
                STOPPED,
            ],
        },
    },
];

pub(super) async fn list(
    State(queues): State<Queues>,
    QueryParams(query): QueryParams<PartQuery>,
) -> Result<Response, ApiError> {
    Ok(answer(&queues.list_topics(part(query)?).await?))
}

pub(super) async fn show(State(queues): State<Queues>, At(at): At) -> Result<Response, ApiError> {
    Ok(reply(&queues.show_topic(&at.name).await?, StatusCode::OK))
}

pub(super) async fn put(
    State(queues): State<Queues>,
    At(at): At,
    request: Request,
) -> Result<Response, ApiError> {
    let expect = expect(request.method(), request.headers())?;
    let (topic, created) = queues.put_topic(&at.name, &read(request).await?, expect).await?;
    Ok(reply(&topic, if created { StatusCode::CREATED } else { StatusCode::OK }))
}

pub(super) async fn delete(
    State(queues): State<Queues>,
    At(at): At,
    request: Request,
) -> Result<Response, ApiError> {
    queues.delete_topic(&at.name, expect(request.method(), request.headers())?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn reply(topic: &TopicView, status: StatusCode) -> Response {
    let mut response = answer(topic);
    *response.status_mut() = status;
    with_etag(response, topic.version)
}

pub(super) async fn subscriptions(
    State(queues): State<Queues>,
    At(at): At,
    QueryParams(query): QueryParams<PartQuery>,
) -> Result<Response, ApiError> {
    Ok(answer(&queues.list_subscriptions(&at.name, part(query)?).await?))
}
