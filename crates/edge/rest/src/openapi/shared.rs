//! Parameters and replies that several operations have, and refer to by name.

use api_types::ApiSchema;
use serde_json::json;

use super::drafts::SubQueueName;
use super::operation::{Parameter, ReplyDoc, ReplyHeader};

/// Parameters of several operations.
pub(crate) const QUEUE: Parameter = Parameter::path("queue", "The queue's name, in any case.", |_| {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
    })
})
.shared("Queue");
pub(crate) const TOPIC: Parameter = Parameter::path("topic", "The topic's name, in any case.", |_| {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
    })
})
.shared("Topic");
pub(crate) const SUBSCRIPTION: Parameter =
    Parameter::path("subscription", "The subscription's name, in any case.", |_| {
        json!({
            "type": "string",
            "minLength": 1,
            "maxLength": 128,
            "pattern": "^[A-Za-z0-9_-][A-Za-z0-9._-]*$",
        })
    })
    .shared("Subscription");
pub(crate) const WORKFLOW: Parameter = Parameter::path("workflow", "The workflow's name.", |_| {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 64,
        "pattern": "^[A-Za-z0-9._-]+$",
    })
})
.shared("Workflow");
pub(crate) const IF_NONE_MATCH: Parameter = Parameter::header(
    "If-None-Match",
    "`*`: only if nothing is there yet.",
    |_| json!({ "type": "string", "enum": ["*"] }),
)
.shared("IfNoneMatch");
pub(crate) const CURSOR: Parameter =
    Parameter::query("cursor", "`next` of the page before.", |_| json!({ "type": "string" }))
        .shared("Cursor");
pub(crate) const AFTER: Parameter =
    Parameter::query("after", "`next` of the page before.", |_| json!({ "type": "string" })).shared("After");
pub(crate) const SUB_QUEUE: Parameter =
    Parameter::query("sub_queue", "Among which messages: `dead` are the dead letters.", SubQueueName::schema)
        .shared("SubQueue");
pub(crate) const IF_MATCH: Parameter = Parameter::header(
    "If-Match",
    "The expected version, as ETag gives it.",
    |_| json!({ "type": "string", "pattern": "^(\\*|(W/)?(\"[0-9]{1,9}\"|[0-9]{1,9}))$" }),
)
.shared("IfMatch");
pub(crate) const LIMIT: Parameter = Parameter::query(
    "limit",
    "Rows of the page.",
    |_| json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 50 }),
)
.shared("Limit");
pub(crate) const NAME_LIMIT: Parameter = Parameter::query(
    "limit",
    "Rows of the page.",
    |_| json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 1000 }),
)
.shared("NameLimit");
pub(crate) const MESSAGE_LIMIT: Parameter = Parameter::query(
    "limit",
    "Messages of the page; fewer come when they are large.",
    |_| json!({ "type": "integer", "minimum": 1, "maximum": 256, "default": 50 }),
)
.shared("MessageLimit");
pub(crate) const FROM_NUMBER: Parameter =
    Parameter::query("from", "`next` of the page before, or a sequence number.", |_| {
        json!({
            "type": "integer",
            "minimum": 0,
            "maximum": u64::MAX,
            "default": 0,
        })
    })
    .shared("FromNumber");
pub(crate) const COLLECTION: Parameter = Parameter::path("collection", "The collection's name, or `subscription~group~name`.", |_| json!({
    "type": "string",
    "minLength": 1,
    "pattern": "^[^/\\\\?#%~\\u0000-\\u001f\\u007f-\\u009f]{1,100}(~[^/\\\\?#%~\\u0000-\\u001f\\u007f-\\u009f]{1,100}~[^/\\\\?#%~\\u0000-\\u001f\\u007f-\\u009f]{1,100})?$",
})).shared("Collection");
pub(crate) const JOB: Parameter = Parameter::path("job", "The job's name.", |_| {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "pattern": "^[^/\\\\?#%~\\u0000-\\u001f\\u007f-\\u009f]{1,100}$",
    })
})
.shared("Job");
pub(crate) const TIMEOUT: Parameter = Parameter::query(
    "timeout",
    "Seconds to wait for the first message; 0 does not wait.",
    |_| json!({ "type": "integer", "minimum": 0, "maximum": 300, "default": 60 }),
)
.shared("Timeout");
pub(crate) const MAX: Parameter = Parameter::query("max", "At most so many messages, as one list. Without it: one message, its body as the body and its properties in headers.", |_| json!({ "type": "integer", "minimum": 1, "maximum": 256 })).shared("Max");
pub(crate) const LOCK: Parameter = Parameter::query(
    "lock",
    "A lock of this length, 1s to 1h, instead of the queue's.",
    |_| json!({ "type": "string", "pattern": "^([1-9][0-9]{0,2}s|([1-9]|[1-5][0-9])m|1h)$" }),
)
.shared("Lock");
pub(crate) const SESSION: Parameter = Parameter::query("session", "Only messages of this session.", |_| {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9._~:-]+$",
    })
})
.shared("Session");
pub(crate) const SEQUENCE_NUMBER: Parameter = Parameter::path(
    "number",
    "The sequence number of the message.",
    |_| json!({ "type": "integer", "minimum": 0 }),
)
.shared("SequenceNumber");
pub(crate) const LOCK_TOKEN: Parameter =
    Parameter::path("lock", "The token of the lock.", |_| json!({ "type": "string", "format": "uuid" }))
        .shared("LockToken");
pub(crate) const RUN_ID: Parameter = Parameter::path("id", "The run's id.", |_| {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9._~:-]+$",
    })
})
.shared("RunId");
pub(crate) const TRACEPARENT: Parameter =
    Parameter::header("traceparent", "W3C trace context; passed on.", |_| json!({ "type": "string" }))
        .shared("Traceparent");
pub(crate) const OF_WORKFLOW: Parameter = Parameter::query("workflow", "Only runs of this workflow.", |_| {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 64,
        "pattern": "^[A-Za-z0-9._-]+$",
    })
})
.shared("OfWorkflow");
pub(crate) const OF_KEY: Parameter = Parameter::query("key", "Only runs with this key.", |_| {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": "^[A-Za-z0-9._~:@/+, -]+$",
    })
})
.shared("OfKey");
pub(crate) const FROM_TIME: Parameter = Parameter::query(
    "from",
    "Accepted at this time or later.",
    |_| json!({ "type": "string", "format": "date-time" }),
)
.shared("FromTime");
pub(crate) const TO_TIME: Parameter = Parameter::query(
    "to",
    "Accepted before this time.",
    |_| json!({ "type": "string", "format": "date-time" }),
)
.shared("ToTime");

pub(crate) const NO_TOKEN: ReplyDoc = ReplyDoc::problem(401, "No valid token.").shared("NoToken");
pub(crate) const NOT_ALLOWED: ReplyDoc =
    ReplyDoc::problem(403, "The token's role does not allow it.").shared("NotAllowed");
pub(crate) const NOT_ALLOWED_HERE: ReplyDoc =
    ReplyDoc::problem(403, "The role of the token, or the right of the key, does not allow it.")
        .shared("NotAllowedHere");
pub(crate) const UNREADABLE: ReplyDoc =
    ReplyDoc::retry_later(503, "The partition is stopped, or the view cannot be read.").shared("Unreadable");
pub(crate) const STOPPED: ReplyDoc =
    ReplyDoc::retry_later(503, "Its partition is stopped.").shared("Stopped");
pub(crate) const WRONG_FIELD: ReplyDoc =
    ReplyDoc::problem(400, "A name, parameter or field is wrong; the detail names it.").shared("WrongField");
pub(crate) const ANOTHER_VERSION: ReplyDoc = ReplyDoc::problem(
    412,
    "It is at another version than `If-Match` says, or exists although `If-None-Match` says not.",
)
.shared("AnotherVersion");
pub(crate) const ANOTHER_KIND: ReplyDoc =
    ReplyDoc::problem(409, "The name belongs to a topic, or to a queue, where the other is meant.")
        .shared("AnotherKind");
pub(crate) const NO_SUCH_COLLECTION: ReplyDoc =
    ReplyDoc::problem(404, "No such collection.").shared("NoSuchCollection");
pub(crate) const NO_SUCH_JOB: ReplyDoc =
    ReplyDoc::problem(404, "No such collection or job.").shared("NoSuchJob");
pub(crate) const NO_SUCH_TOPIC: ReplyDoc = ReplyDoc::problem(404, "No such topic.").shared("NoSuchTopic");
pub(crate) const NO_SUCH_WORKFLOW: ReplyDoc =
    ReplyDoc::problem(404, "No such workflow.").shared("NoSuchWorkflow");
pub(crate) const NO_SUCH_QUEUE: ReplyDoc = ReplyDoc::problem(404, "No such queue.").shared("NoSuchQueue");
pub(crate) const NO_SUCH_SUBSCRIPTION: ReplyDoc =
    ReplyDoc::problem(404, "No such subscription.").shared("NoSuchSubscription");
pub(crate) const NO_SUCH_RUN: ReplyDoc = ReplyDoc::problem(404, "No such run.").shared("NoSuchRun");
pub(crate) const WRONG_PARAMETER: ReplyDoc =
    ReplyDoc::problem(400, "A parameter is wrong.").shared("WrongParameter");
pub(crate) const OVER_64_KIB: ReplyDoc =
    ReplyDoc::problem(413, "The body is larger than 64 KiB.").shared("Over64KiB");
pub(crate) const OVER_128_KIB: ReplyDoc =
    ReplyDoc::problem(413, "The body is larger than 128 KiB.").shared("Over128KiB");
pub(crate) const NO_REGIONS: ReplyDoc =
    ReplyDoc::problem(404, "The installation has no regions.").shared("NoRegions");
pub(crate) const NO_ANSWER: ReplyDoc =
    ReplyDoc::problem(503, "The pair or the witness did not answer.").shared("NoAnswer");
pub(crate) const BUSY: ReplyDoc =
    ReplyDoc::retry_later(429, "Too many accepted runs have not ended.").shared("Busy");

pub(crate) const ETAG: ReplyHeader =
    ReplyHeader { name: "ETag", description: "The version, quoted.", schema: String::schema };
pub(crate) const LOCATION_OF_RUN: ReplyHeader =
    ReplyHeader { name: "Location", description: "Where the run can be seen.", schema: String::schema };
pub(crate) const BROKER_PROPERTIES: ReplyHeader = ReplyHeader {
    name: "BrokerProperties",
    description: "What the broker knows of the message, as JSON, when it comes alone.",
    schema: String::schema,
};
pub(crate) const LOCKED_UNTIL: ReplyHeader = ReplyHeader {
    name: "BrokerProperties",
    description: "`LockedUntilUtc`, as JSON.",
    schema: String::schema,
};
