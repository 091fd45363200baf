//! Messages in the shape of Service Bus: documented here, answered by its adapter.

use api_types::{ApiSchema, Components, ReceivedMessage, SentMessage};
use http::Method;
use serde_json::{Value, json};

use super::table::{OnStandby, Route, RouteAccess, RouteHandler};
use crate::auth::access::Permission;
use crate::forward::scope::RouteScope;
use crate::openapi::drafts::DeadLetterReason;
use crate::openapi::operation::{Media, Operation, ReplyDoc, RequestBody};
use crate::openapi::shared::{
    BROKER_PROPERTIES, LOCK, LOCK_TOKEN, LOCKED_UNTIL, MAX, QUEUE, SEQUENCE_NUMBER, SESSION, SUBSCRIPTION,
    TIMEOUT, TOPIC, UNREADABLE,
};
use crate::servicebus::{MessagePath, ServiceBusPath};

const SEND: RouteAccess = RouteAccess::Queue(Permission::Ingest);
const RECEIVE: RouteAccess = RouteAccess::Queue(Permission::Receive);

/// The media type of several messages at once.
const MESSAGES: &str = "application/vnd.microsoft.servicebus.json";

/// Several messages, or the body of one whose properties are headers.
const RECEIVED: &[Media] = &[
    Media::new(MESSAGES, Vec::<ReceivedMessage>::schema),
    Media::new("*/*", |_| json!({ "type": "string", "format": "binary" })),
];

const WRONG: ReplyDoc =
    ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it.");
const IS_TOPIC: ReplyDoc = ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant.");
const LOCKED: ReplyDoc =
    ReplyDoc::media(201, "Messages, each with its lock.", RECEIVED).with(&[BROKER_PROPERTIES]);
const TAKEN: ReplyDoc =
    ReplyDoc::media(200, "Messages; they are deleted.", RECEIVED).with(&[BROKER_PROPERTIES]);
const RENEWED: ReplyDoc = ReplyDoc::empty(200, "Renewed; the header has the new end.").with(&[LOCKED_UNTIL]);
const TOO_LARGE: ReplyDoc = ReplyDoc::problem(413, "The body is too large.");
const DONE: ReplyDoc = ReplyDoc::empty(200, "Done.");
const NOTHING: ReplyDoc = ReplyDoc::empty(204, "No message arrived in time.");
const LARGE_BODY: ReplyDoc = ReplyDoc::problem(413, "There is a body, and it is large.");

/// Who may call a path of Service Bus, whose forms are more than the table documents.
pub(crate) fn access(path: &ServiceBusPath) -> RouteAccess {
    match path.message {
        MessagePath::Messages => SEND,
        MessagePath::Head | MessagePath::Lock(_) | MessagePath::DeadLetter(_) => RECEIVE,
    }
}

fn sent_messages(components: &mut Components) -> Value {
    json!({ "type": "array", "minItems": 1, "maxItems": 1000, "items": SentMessage::schema(components) })
}

fn example_messages() -> Value {
    json!([{
        "Body": "{\"order\":7}",
        "BrokerProperties": { "MessageId": "order-7", "Label": "paid" },
    }])
}

/// The routes of a consumer, which a queue and a subscription have alike.
macro_rules! consumer_routes {
    (
        at: $at:literal,
        scope: $scope:literal,
        names: [$($name:expr),+],
        receive: $receive:literal,
        take: $take:literal,
        complete: $complete:literal,
        abandon: $abandon:literal,
        renew: $renew:literal,
        dead_letter: $dead_letter:literal,
        missing: $missing:expr,
        lost: $lost:expr $(,)?
    ) => {
        &[
            Route {
                method: Method::POST,
                path: concat!($at, "/messages/head"),
                access: RECEIVE,
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::ServiceBus,
                doc: Operation {
                    id: $receive,
                    summary: "Receive messages and lock them",
                    description: "",
                    parameters: &[$($name),+, TIMEOUT, MAX, LOCK, SESSION],
                    body: None,
                    replies: &[LOCKED, NOTHING, WRONG, $missing, IS_TOPIC, LARGE_BODY, UNREADABLE],
                },
            },
            Route {
                method: Method::DELETE,
                path: concat!($at, "/messages/head"),
                access: RECEIVE,
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::ServiceBus,
                doc: Operation {
                    id: $take,
                    summary: "Receive messages and delete them at once: one that gets lost on its way is lost",
                    description: "",
                    parameters: &[$($name),+, TIMEOUT, MAX, SESSION],
                    body: None,
                    replies: &[TAKEN, NOTHING, WRONG, $missing, IS_TOPIC, LARGE_BODY, UNREADABLE],
                },
            },
            Route {
                method: Method::DELETE,
                path: concat!($at, "/messages/{number}/{lock}"),
                access: RECEIVE,
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::ServiceBus,
                doc: Operation {
                    id: $complete,
                    summary: "Complete a message: it is deleted",
                    description: "",
                    parameters: &[$($name),+, SEQUENCE_NUMBER, LOCK_TOKEN],
                    body: None,
                    replies: &[DONE, WRONG, $lost, IS_TOPIC, UNREADABLE],
                },
            },
            Route {
                method: Method::PUT,
                path: concat!($at, "/messages/{number}/{lock}"),
                access: RECEIVE,
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::ServiceBus,
                doc: Operation {
                    id: $abandon,
                    summary: "Give a message back: another may have it at once, and the delivery counts",
                    description: "",
                    parameters: &[$($name),+, SEQUENCE_NUMBER, LOCK_TOKEN],
                    body: None,
                    replies: &[DONE, WRONG, $lost, IS_TOPIC, UNREADABLE],
                },
            },
            Route {
                method: Method::POST,
                path: concat!($at, "/messages/{number}/{lock}"),
                access: RECEIVE,
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::ServiceBus,
                doc: Operation {
                    id: $renew,
                    summary: "Renew the lock, for as long as the queue says",
                    description: "",
                    parameters: &[$($name),+, SEQUENCE_NUMBER, LOCK_TOKEN],
                    body: None,
                    replies: &[RENEWED, WRONG, $lost, IS_TOPIC, UNREADABLE],
                },
            },
            Route {
                method: Method::POST,
                path: concat!($at, "/messages/{number}/{lock}/deadletter"),
                access: RECEIVE,
                scope: RouteScope::Queue($scope),
                standby: OnStandby::Refuse,
                handler: RouteHandler::ServiceBus,
                doc: Operation {
                    id: $dead_letter,
                    summary: "Make a message a dead letter",
                    description: "",
                    parameters: &[$($name),+, SEQUENCE_NUMBER, LOCK_TOKEN],
                    body: Some(RequestBody {
                        required: false,
                        content: &[
                            Media::json::<DeadLetterReason>().example(|| json!({ "reason": "no such customer" })),
                        ],
                    }),
                    replies: &[DONE, WRONG, $lost, IS_TOPIC, TOO_LARGE, UNREADABLE],
                },
            },
        ]
    };
}

/// The routes, with their documentation: to send, and to receive from a queue or from a subscription.
pub(super) const SEND_ROUTES: &[Route] = &[Route {
    method: Method::POST,
    path: "/{queue}/messages",
    access: SEND,
    scope: RouteScope::Queue("queue"),
    standby: OnStandby::Refuse,
    handler: RouteHandler::ServiceBus,
    doc: Operation {
        id: "sendMessages",
        summary: "Send messages to a queue or topic: all of them, or none",
        description: "A body of any other type is one message, whose properties are headers: see \
                docs/reference/queues.md.",
        parameters: &[QUEUE],
        body: Some(RequestBody {
            required: true,
            content: &[Media::new(MESSAGES, sent_messages).example(example_messages)],
        }),
        replies: &[
            ReplyDoc::empty(201, "They are durable."),
            WRONG,
            ReplyDoc::problem(
                403,
                "The role of the token or the right of the key does not allow \
                    it, or the queue is full (`queue_full`).",
            ),
            ReplyDoc::problem(404, "No such queue or topic."),
            ReplyDoc::problem(409, "The current state does not allow it; the detail says why."),
            ReplyDoc::problem(413, "More than 256 KiB alone, or 1 MiB together."),
            UNREADABLE,
        ],
    },
}];

pub(super) const QUEUE_ROUTES: &[Route] = consumer_routes! {
    at: "/{queue}",
    scope: "queue",
    names: [QUEUE],
    receive: "receiveFromQueue",
    take: "takeFromQueue",
    complete: "completeQueueMessage",
    abandon: "abandonQueueMessage",
    renew: "renewQueueLock",
    dead_letter: "deadLetterQueueMessage",
    missing: ReplyDoc::problem(404, "No such queue."),
    lost: ReplyDoc::problem(404, "No such queue; or the lock has expired or was settled (`lock_lost`)."),
};

pub(super) const SUBSCRIPTION_ROUTES: &[Route] = consumer_routes! {
    at: "/{topic}/subscriptions/{subscription}",
    scope: "topic",
    names: [TOPIC, SUBSCRIPTION],
    receive: "receiveFromSubscription",
    take: "takeFromSubscription",
    complete: "completeSubscriptionMessage",
    abandon: "abandonSubscriptionMessage",
    renew: "renewSubscriptionLock",
    dead_letter: "deadLetterSubscriptionMessage",
    missing: ReplyDoc::problem(404, "No such subscription."),
    lost: ReplyDoc::problem(404, "No such subscription; or the lock has expired or was settled \
        (`lock_lost`)."),
};
