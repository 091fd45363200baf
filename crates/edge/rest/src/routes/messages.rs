//! Messages in the shape of Service Bus: documented here, answered by its adapter.

use api_types::{ApiSchema, ReceivedMessage, SentMessage};
use http::Method;
use serde_json::json;

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

/// Who may call a path of Service Bus, whose forms are more than the table documents.
pub(crate) fn access(path: &ServiceBusPath) -> RouteAccess {
    match path.message {
        MessagePath::Messages => SEND,
        MessagePath::Head | MessagePath::Lock(_) | MessagePath::DeadLetter(_) => RECEIVE,
    }
}

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::POST,
        path: "/{queue}/messages",
        access: SEND,
        scope: RouteScope::Queue("queue"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "sendMessages",
            summary: "Send messages to a queue or topic: all of them, or none",
            description: "A body of any other type is one message, whose properties are headers: see docs/reference/queues.md.",
            parameters: &[QUEUE],
            body: Some(RequestBody {
                required: true,
                content: &[
                    Media::new("application/vnd.microsoft.servicebus.json", |c| json!({ "type": "array", "minItems": 1, "maxItems": 1000, "items": SentMessage::schema(c) })).example(|| json!([
    {
        "Body": "{\"order\":7}",
        "BrokerProperties": { "MessageId": "order-7", "Label": "paid" },
    },
])),
                ],
            }),
            replies: &[
                ReplyDoc::empty(201, "They are durable."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(403, "The role of the token or the right of the key does not allow it, or the queue is full (`queue_full`)."),
                ReplyDoc::problem(404, "No such queue or topic."),
                ReplyDoc::problem(409, "The current state does not allow it; the detail says why."),
                ReplyDoc::problem(413, "More than 256 KiB alone, or 1 MiB together."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/{queue}/messages/head",
        access: RECEIVE,
        scope: RouteScope::Queue("queue"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "receiveFromQueue",
            summary: "Receive messages and lock them",
            description: "",
            parameters: &[QUEUE, TIMEOUT, MAX, LOCK, SESSION],
            body: None,
            replies: &[
                ReplyDoc::media(201, "Messages, each with its lock.", &[Media::new("application/vnd.microsoft.servicebus.json", Vec::<ReceivedMessage>::schema), Media::new("*/*", |_| json!({ "type": "string", "format": "binary" }))]).with(&[BROKER_PROPERTIES]),
                ReplyDoc::empty(204, "No message arrived in time."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such queue."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                ReplyDoc::problem(413, "There is a body, and it is large."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::DELETE,
        path: "/{queue}/messages/head",
        access: RECEIVE,
        scope: RouteScope::Queue("queue"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "takeFromQueue",
            summary: "Receive messages and delete them at once: one that gets lost on its way is lost",
            description: "",
            parameters: &[QUEUE, TIMEOUT, MAX, SESSION],
            body: None,
            replies: &[
                ReplyDoc::media(200, "Messages; they are deleted.", &[Media::new("application/vnd.microsoft.servicebus.json", Vec::<ReceivedMessage>::schema), Media::new("*/*", |_| json!({ "type": "string", "format": "binary" }))]).with(&[BROKER_PROPERTIES]),
                ReplyDoc::empty(204, "No message arrived in time."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such queue."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                ReplyDoc::problem(413, "There is a body, and it is large."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::DELETE,
        path: "/{queue}/messages/{number}/{lock}",
        access: RECEIVE,
        scope: RouteScope::Queue("queue"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "completeQueueMessage",
            summary: "Complete a message: it is deleted",
            description: "",
            parameters: &[QUEUE, SEQUENCE_NUMBER, LOCK_TOKEN],
            body: None,
            replies: &[
                ReplyDoc::empty(200, "Done."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such queue; or the lock has expired or was settled (`lock_lost`)."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::PUT,
        path: "/{queue}/messages/{number}/{lock}",
        access: RECEIVE,
        scope: RouteScope::Queue("queue"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "abandonQueueMessage",
            summary: "Give a message back: another may have it at once, and the delivery counts",
            description: "",
            parameters: &[QUEUE, SEQUENCE_NUMBER, LOCK_TOKEN],
            body: None,
            replies: &[
                ReplyDoc::empty(200, "Done."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such queue; or the lock has expired or was settled (`lock_lost`)."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/{queue}/messages/{number}/{lock}",
        access: RECEIVE,
        scope: RouteScope::Queue("queue"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "renewQueueLock",
            summary: "Renew the lock, for as long as the queue says",
            description: "",
            parameters: &[QUEUE, SEQUENCE_NUMBER, LOCK_TOKEN],
            body: None,
            replies: &[
                ReplyDoc::empty(200, "Renewed; the header has the new end.").with(&[LOCKED_UNTIL]),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such queue; or the lock has expired or was settled (`lock_lost`)."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/{queue}/messages/{number}/{lock}/deadletter",
        access: RECEIVE,
        scope: RouteScope::Queue("queue"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "deadLetterQueueMessage",
            summary: "Make a message a dead letter",
            description: "",
            parameters: &[QUEUE, SEQUENCE_NUMBER, LOCK_TOKEN],
            body: Some(RequestBody {
                required: false,
                content: &[
                    Media::json::<DeadLetterReason>().example(|| json!({ "reason": "no such customer" })),
                ],
            }),
            replies: &[
                ReplyDoc::empty(200, "Done."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such queue; or the lock has expired or was settled (`lock_lost`)."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                ReplyDoc::problem(413, "The body is too large."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/{topic}/subscriptions/{subscription}/messages/head",
        access: RECEIVE,
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "receiveFromSubscription",
            summary: "Receive messages and lock them",
            description: "",
            parameters: &[TOPIC, SUBSCRIPTION, TIMEOUT, MAX, LOCK, SESSION],
            body: None,
            replies: &[
                ReplyDoc::media(201, "Messages, each with its lock.", &[Media::new("application/vnd.microsoft.servicebus.json", Vec::<ReceivedMessage>::schema), Media::new("*/*", |_| json!({ "type": "string", "format": "binary" }))]).with(&[BROKER_PROPERTIES]),
                ReplyDoc::empty(204, "No message arrived in time."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such subscription."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                ReplyDoc::problem(413, "There is a body, and it is large."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::DELETE,
        path: "/{topic}/subscriptions/{subscription}/messages/head",
        access: RECEIVE,
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "takeFromSubscription",
            summary: "Receive messages and delete them at once: one that gets lost on its way is lost",
            description: "",
            parameters: &[TOPIC, SUBSCRIPTION, TIMEOUT, MAX, SESSION],
            body: None,
            replies: &[
                ReplyDoc::media(200, "Messages; they are deleted.", &[Media::new("application/vnd.microsoft.servicebus.json", Vec::<ReceivedMessage>::schema), Media::new("*/*", |_| json!({ "type": "string", "format": "binary" }))]).with(&[BROKER_PROPERTIES]),
                ReplyDoc::empty(204, "No message arrived in time."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such subscription."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                ReplyDoc::problem(413, "There is a body, and it is large."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::DELETE,
        path: "/{topic}/subscriptions/{subscription}/messages/{number}/{lock}",
        access: RECEIVE,
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "completeSubscriptionMessage",
            summary: "Complete a message: it is deleted",
            description: "",
            parameters: &[TOPIC, SUBSCRIPTION, SEQUENCE_NUMBER, LOCK_TOKEN],
            body: None,
            replies: &[
                ReplyDoc::empty(200, "Done."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such subscription; or the lock has expired or was settled (`lock_lost`)."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::PUT,
        path: "/{topic}/subscriptions/{subscription}/messages/{number}/{lock}",
        access: RECEIVE,
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "abandonSubscriptionMessage",
            summary: "Give a message back: another may have it at once, and the delivery counts",
            description: "",
            parameters: &[TOPIC, SUBSCRIPTION, SEQUENCE_NUMBER, LOCK_TOKEN],
            body: None,
            replies: &[
                ReplyDoc::empty(200, "Done."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such subscription; or the lock has expired or was settled (`lock_lost`)."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/{topic}/subscriptions/{subscription}/messages/{number}/{lock}",
        access: RECEIVE,
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "renewSubscriptionLock",
            summary: "Renew the lock, for as long as the queue says",
            description: "",
            parameters: &[TOPIC, SUBSCRIPTION, SEQUENCE_NUMBER, LOCK_TOKEN],
            body: None,
            replies: &[
                ReplyDoc::empty(200, "Renewed; the header has the new end.").with(&[LOCKED_UNTIL]),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such subscription; or the lock has expired or was settled (`lock_lost`)."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                UNREADABLE,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/{topic}/subscriptions/{subscription}/messages/{number}/{lock}/deadletter",
        access: RECEIVE,
        scope: RouteScope::Queue("topic"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::ServiceBus,
        doc: Operation {
            id: "deadLetterSubscriptionMessage",
            summary: "Make a message a dead letter",
            description: "",
            parameters: &[TOPIC, SUBSCRIPTION, SEQUENCE_NUMBER, LOCK_TOKEN],
            body: Some(RequestBody {
                required: false,
                content: &[
                    Media::json::<DeadLetterReason>().example(|| json!({ "reason": "no such customer" })),
                ],
            }),
            replies: &[
                ReplyDoc::empty(200, "Done."),
                ReplyDoc::problem(400, "A name, parameter or property is wrong; the detail names it."),
                ReplyDoc::problem(404, "No such subscription; or the lock has expired or was settled (`lock_lost`)."),
                ReplyDoc::problem(409, "The name belongs to a topic, where a queue is meant."),
                ReplyDoc::problem(413, "The body is too large."),
                UNREADABLE,
            ],
        },
    },
];
