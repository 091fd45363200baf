//! The members of actions.

use super::COUNT_MAX;
use crate::shape::{Kind, Shape, optional, required};
use crate::spelling::{
    ActionType, AuthenticationType, BusAuthenticationType, Envelope, RetryType, TransportType,
};

pub(super) static ACTION: Shape = Shape {
    members: &[
        required("type", Kind::Word(ActionType::SPELLINGS)),
        optional("request", Kind::Object(&REQUEST)),
        optional("queueMessage", Kind::Object(&QUEUE_MESSAGE)),
        optional("serviceBusQueueMessage", Kind::Object(&BUS_QUEUE_MESSAGE)),
        optional("serviceBusTopicMessage", Kind::Object(&BUS_TOPIC_MESSAGE)),
        optional("workflow", Kind::Object(&WORKFLOW)),
        optional("queue", Kind::Object(&QUEUE)),
        optional("topic", Kind::Object(&QUEUE)),
        optional("amqp", Kind::Object(&AMQP)),
        optional("rabbitMq", Kind::Object(&RABBIT_MQ)),
        optional("nats", Kind::Object(&NATS)),
        optional("kafka", Kind::Object(&KAFKA)),
        optional("retryPolicy", Kind::Object(&RETRY_POLICY)),
        optional("errorAction", Kind::Object(&ERROR_ACTION)),
    ],
    hints: &[],
};

static ERROR_ACTION: Shape = Shape {
    members: &[
        required("type", Kind::Word(ActionType::SPELLINGS)),
        optional("request", Kind::Object(&REQUEST)),
        optional("queueMessage", Kind::Object(&QUEUE_MESSAGE)),
        optional("serviceBusQueueMessage", Kind::Object(&BUS_QUEUE_MESSAGE)),
        optional("serviceBusTopicMessage", Kind::Object(&BUS_TOPIC_MESSAGE)),
        optional("workflow", Kind::Object(&WORKFLOW)),
        optional("queue", Kind::Object(&QUEUE)),
        optional("topic", Kind::Object(&QUEUE)),
        optional("amqp", Kind::Object(&AMQP)),
        optional("rabbitMq", Kind::Object(&RABBIT_MQ)),
        optional("nats", Kind::Object(&NATS)),
        optional("kafka", Kind::Object(&KAFKA)),
        optional("retryPolicy", Kind::Object(&RETRY_POLICY)),
    ],
    hints: &[("errorAction", "an errorAction has no errorAction of its own")],
};

static REQUEST: Shape = Shape {
    members: &[
        required("uri", Kind::Text),
        required("method", Kind::Text),
        optional("headers", Kind::Texts),
        optional("body", Kind::Content),
        optional("authentication", Kind::Object(&AUTHENTICATION)),
    ],
    hints: &[("retryPolicy", "unknown member; it belongs beside the request, as retryPolicy of the action")],
};

static AUTHENTICATION: Shape = Shape {
    members: &[
        required("type", Kind::Word(AuthenticationType::SPELLINGS)),
        optional("username", Kind::Text),
        optional("password", Kind::Secret),
        optional("pfx", Kind::Secret),
        optional("secret", Kind::Secret),
        optional("tenant", Kind::Text),
        optional("audience", Kind::Text),
        optional("clientId", Kind::Text),
        optional("certificateThumbprint", Kind::ReadOnly),
        optional("certificateExpiration", Kind::ReadOnly),
        optional("certificateExpirationDate", Kind::ReadOnly),
        optional("certificateSubjectName", Kind::ReadOnly),
    ],
    hints: &[],
};

static QUEUE_MESSAGE: Shape = Shape {
    members: &[
        required("storageAccount", Kind::Text),
        required("queueName", Kind::Text),
        required("sasToken", Kind::Secret),
        required("message", Kind::Content),
        optional("envelope", Kind::Word(Envelope::SPELLINGS)),
    ],
    hints: &[],
};

static BUS_QUEUE_MESSAGE: Shape = Shape {
    members: &[
        required("queueName", Kind::Text),
        required("namespace", Kind::Text),
        required("transportType", Kind::Word(TransportType::SPELLINGS)),
        optional("authentication", Kind::Object(&BUS_AUTHENTICATION)),
        required("message", Kind::Content),
        optional("brokeredMessageProperties", Kind::Object(&BROKERED)),
        optional("customMessageProperties", Kind::Texts),
    ],
    hints: &[("topicPath", "unknown member; a queue has a queueName")],
};

static BUS_TOPIC_MESSAGE: Shape = Shape {
    members: &[
        required("topicPath", Kind::Text),
        required("namespace", Kind::Text),
        required("transportType", Kind::Word(TransportType::SPELLINGS)),
        optional("authentication", Kind::Object(&BUS_AUTHENTICATION)),
        required("message", Kind::Content),
        optional("brokeredMessageProperties", Kind::Object(&BROKERED)),
        optional("customMessageProperties", Kind::Texts),
    ],
    hints: &[("queueName", "unknown member; a topic has a topicPath")],
};

static BUS_AUTHENTICATION: Shape = Shape {
    members: &[
        required("sasKeyName", Kind::Text),
        required("sasKey", Kind::Secret),
        required("type", Kind::Word(BusAuthenticationType::SPELLINGS)),
    ],
    hints: &[],
};

static BROKERED: Shape = Shape {
    members: &[
        optional("contentType", Kind::Content),
        optional("correlationId", Kind::Content),
        optional("forcePersistence", Kind::Flag),
        optional("label", Kind::Content),
        optional("messageId", Kind::Content),
        optional("partitionKey", Kind::Content),
        optional("replyTo", Kind::Content),
        optional("replyToSessionId", Kind::Content),
        optional("scheduledEnqueueTimeUtc", Kind::Date),
        optional("sessionId", Kind::Content),
        optional("timeToLive", Kind::Duration),
        optional("to", Kind::Content),
        optional("viaPartitionKey", Kind::Content),
    ],
    hints: &[],
};

static WORKFLOW: Shape = Shape {
    members: &[required("name", Kind::Text), optional("id", Kind::Text), optional("body", Kind::Any)],
    hints: &[],
};

/// A queue or topic of Sortie's own.
static QUEUE: Shape = Shape {
    members: &[
        required("name", Kind::Text),
        required("message", Kind::Content),
        optional("brokeredMessageProperties", Kind::Object(&BROKERED)),
        optional("customMessageProperties", Kind::Texts),
    ],
    hints: &[
        ("queueName", "unknown member; a queue of Sortie's own has a name"),
        ("topicPath", "unknown member; a topic of Sortie's own has a name"),
    ],
};

static AMQP: Shape = Shape {
    members: &[
        required("url", Kind::Text),
        required("address", Kind::Text),
        optional("username", Kind::Text),
        optional("password", Kind::Secret),
        required("message", Kind::Content),
        optional("brokeredMessageProperties", Kind::Object(&BROKERED)),
        optional("customMessageProperties", Kind::Texts),
    ],
    hints: &[("queueName", "unknown member; the queue is the address")],
};

static RABBIT_MQ: Shape = Shape {
    members: &[
        required("url", Kind::Text),
        optional("exchange", Kind::Content),
        required("routingKey", Kind::Text),
        optional("username", Kind::Text),
        optional("password", Kind::Secret),
        required("message", Kind::Content),
        optional("brokeredMessageProperties", Kind::Object(&BROKERED)),
        optional("customMessageProperties", Kind::Texts),
    ],
    hints: &[("queueName", "unknown member; a queue is the routingKey of the exchange without a name")],
};

static NATS: Shape = Shape {
    members: &[
        required("url", Kind::Text),
        required("subject", Kind::Text),
        optional("stream", Kind::Flag),
        optional("username", Kind::Text),
        optional("password", Kind::Secret),
        required("message", Kind::Content),
        optional("brokeredMessageProperties", Kind::Object(&BROKERED)),
        optional("customMessageProperties", Kind::Texts),
    ],
    hints: &[],
};

static KAFKA: Shape = Shape {
    members: &[
        required("servers", Kind::Text),
        required("topic", Kind::Text),
        optional("key", Kind::Content),
        optional("username", Kind::Text),
        optional("password", Kind::Secret),
        required("message", Kind::Content),
        optional("brokeredMessageProperties", Kind::Object(&BROKERED)),
        optional("customMessageProperties", Kind::Texts),
    ],
    hints: &[("url", "unknown member; kafka has servers, like broker-1:9092,broker-2:9092")],
};

static RETRY_POLICY: Shape = Shape {
    members: &[
        optional("retryType", Kind::Word(RetryType::SPELLINGS)),
        optional("retryInterval", Kind::Duration),
        optional("retryCount", Kind::Whole { min: 0, max: COUNT_MAX }),
        optional("maxRetryInterval", Kind::Duration),
    ],
    hints: &[],
};
