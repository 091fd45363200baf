//! The members of actions.

use super::COUNT_MAX;
use crate::shape::{MemberKind, Shape, optional, required};
use crate::spelling::{
    ActionType, AuthenticationType, BusAuthenticationType, Envelope, RetryType, TransportType,
};

pub(super) static ACTION: Shape = Shape {
    members: &[
        required("type", MemberKind::Word(ActionType::SPELLINGS)),
        optional("request", MemberKind::Object(&REQUEST)),
        optional("queueMessage", MemberKind::Object(&QUEUE_MESSAGE)),
        optional("serviceBusQueueMessage", MemberKind::Object(&BUS_QUEUE_MESSAGE)),
        optional("serviceBusTopicMessage", MemberKind::Object(&BUS_TOPIC_MESSAGE)),
        optional("workflow", MemberKind::Object(&WORKFLOW)),
        optional("queue", MemberKind::Object(&QUEUE)),
        optional("topic", MemberKind::Object(&QUEUE)),
        optional("amqp", MemberKind::Object(&AMQP)),
        optional("rabbitMq", MemberKind::Object(&RABBIT_MQ)),
        optional("nats", MemberKind::Object(&NATS)),
        optional("kafka", MemberKind::Object(&KAFKA)),
        optional("retryPolicy", MemberKind::Object(&RETRY_POLICY)),
        optional("errorAction", MemberKind::Object(&ERROR_ACTION)),
    ],
    hints: &[],
};

static ERROR_ACTION: Shape = Shape {
    members: &[
        required("type", MemberKind::Word(ActionType::SPELLINGS)),
        optional("request", MemberKind::Object(&REQUEST)),
        optional("queueMessage", MemberKind::Object(&QUEUE_MESSAGE)),
        optional("serviceBusQueueMessage", MemberKind::Object(&BUS_QUEUE_MESSAGE)),
        optional("serviceBusTopicMessage", MemberKind::Object(&BUS_TOPIC_MESSAGE)),
        optional("workflow", MemberKind::Object(&WORKFLOW)),
        optional("queue", MemberKind::Object(&QUEUE)),
        optional("topic", MemberKind::Object(&QUEUE)),
        optional("amqp", MemberKind::Object(&AMQP)),
        optional("rabbitMq", MemberKind::Object(&RABBIT_MQ)),
        optional("nats", MemberKind::Object(&NATS)),
        optional("kafka", MemberKind::Object(&KAFKA)),
        optional("retryPolicy", MemberKind::Object(&RETRY_POLICY)),
    ],
    hints: &[("errorAction", "an errorAction has no errorAction of its own")],
};

static REQUEST: Shape = Shape {
    members: &[
        required("uri", MemberKind::Text),
        required("method", MemberKind::Text),
        optional("headers", MemberKind::Texts),
        optional("body", MemberKind::Content),
        optional("authentication", MemberKind::Object(&AUTHENTICATION)),
    ],
    hints: &[("retryPolicy", "unknown member; it belongs beside the request, as retryPolicy of the action")],
};

static AUTHENTICATION: Shape = Shape {
    members: &[
        required("type", MemberKind::Word(AuthenticationType::SPELLINGS)),
        optional("username", MemberKind::Text),
        optional("password", MemberKind::Secret),
        optional("pfx", MemberKind::Secret),
        optional("secret", MemberKind::Secret),
        optional("tenant", MemberKind::Text),
        optional("audience", MemberKind::Text),
        optional("clientId", MemberKind::Text),
        optional("certificateThumbprint", MemberKind::ReadOnly),
        optional("certificateExpiration", MemberKind::ReadOnly),
        optional("certificateExpirationDate", MemberKind::ReadOnly),
        optional("certificateSubjectName", MemberKind::ReadOnly),
    ],
    hints: &[],
};

static QUEUE_MESSAGE: Shape = Shape {
    members: &[
        required("storageAccount", MemberKind::Text),
        required("queueName", MemberKind::Text),
        required("sasToken", MemberKind::Secret),
        required("message", MemberKind::Content),
        optional("envelope", MemberKind::Word(Envelope::SPELLINGS)),
    ],
    hints: &[],
};

static BUS_QUEUE_MESSAGE: Shape = Shape {
    members: &[
        required("queueName", MemberKind::Text),
        required("namespace", MemberKind::Text),
        required("transportType", MemberKind::Word(TransportType::SPELLINGS)),
        optional("authentication", MemberKind::Object(&BUS_AUTHENTICATION)),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[("topicPath", "unknown member; a queue has a queueName")],
};

static BUS_TOPIC_MESSAGE: Shape = Shape {
    members: &[
        required("topicPath", MemberKind::Text),
        required("namespace", MemberKind::Text),
        required("transportType", MemberKind::Word(TransportType::SPELLINGS)),
        optional("authentication", MemberKind::Object(&BUS_AUTHENTICATION)),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[("queueName", "unknown member; a topic has a topicPath")],
};

static BUS_AUTHENTICATION: Shape = Shape {
    members: &[
        required("sasKeyName", MemberKind::Text),
        required("sasKey", MemberKind::Secret),
        required("type", MemberKind::Word(BusAuthenticationType::SPELLINGS)),
    ],
    hints: &[],
};

static BROKERED: Shape = Shape {
    members: &[
        optional("contentType", MemberKind::Content),
        optional("correlationId", MemberKind::Content),
        optional("forcePersistence", MemberKind::Flag),
        optional("label", MemberKind::Content),
        optional("messageId", MemberKind::Content),
        optional("partitionKey", MemberKind::Content),
        optional("replyTo", MemberKind::Content),
        optional("replyToSessionId", MemberKind::Content),
        optional("scheduledEnqueueTimeUtc", MemberKind::Date),
        optional("sessionId", MemberKind::Content),
        optional("timeToLive", MemberKind::Duration),
        optional("to", MemberKind::Content),
        optional("viaPartitionKey", MemberKind::Content),
    ],
    hints: &[],
};

static WORKFLOW: Shape = Shape {
    members: &[
        required("name", MemberKind::Text),
        optional("id", MemberKind::Text),
        optional("body", MemberKind::Any),
    ],
    hints: &[],
};

/// A queue or topic of Sortie's own.
static QUEUE: Shape = Shape {
    members: &[
        required("name", MemberKind::Text),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[
        ("queueName", "unknown member; a queue of Sortie's own has a name"),
        ("topicPath", "unknown member; a topic of Sortie's own has a name"),
    ],
};

static AMQP: Shape = Shape {
    members: &[
        required("url", MemberKind::Text),
        required("address", MemberKind::Text),
        optional("username", MemberKind::Text),
        optional("password", MemberKind::Secret),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[("queueName", "unknown member; the queue is the address")],
};

static RABBIT_MQ: Shape = Shape {
    members: &[
        required("url", MemberKind::Text),
        optional("exchange", MemberKind::Content),
        required("routingKey", MemberKind::Text),
        optional("username", MemberKind::Text),
        optional("password", MemberKind::Secret),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[("queueName", "unknown member; a queue is the routingKey of the exchange without a name")],
};

static NATS: Shape = Shape {
    members: &[
        required("url", MemberKind::Text),
        required("subject", MemberKind::Text),
        optional("stream", MemberKind::Flag),
        optional("username", MemberKind::Text),
        optional("password", MemberKind::Secret),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[],
};

static KAFKA: Shape = Shape {
    members: &[
        required("servers", MemberKind::Text),
        required("topic", MemberKind::Text),
        optional("key", MemberKind::Content),
        optional("username", MemberKind::Text),
        optional("password", MemberKind::Secret),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[("url", "unknown member; kafka has servers, like broker-1:9092,broker-2:9092")],
};

static RETRY_POLICY: Shape = Shape {
    members: &[
        optional("retryType", MemberKind::Word(RetryType::SPELLINGS)),
        optional("retryInterval", MemberKind::Duration),
        optional("retryCount", MemberKind::Whole { min: 0, max: COUNT_MAX }),
        optional("maxRetryInterval", MemberKind::Duration),
    ],
    hints: &[],
};
