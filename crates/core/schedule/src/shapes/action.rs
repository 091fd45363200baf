//! The members of actions.

use std::sync::LazyLock;

use action::{DestinationType, FieldKind, JobSpelling};

use super::COUNT_MAX;
use crate::problem::below;
use crate::shape::{MemberKind, Shape, ShapeMember, optional, required};
use crate::spelling::{
    ActionType, AuthenticationType, BusAuthenticationType, Envelope, RetryType, TransportType,
};

pub(super) static ACTION: LazyLock<Shape> = LazyLock::new(|| {
    let mut members = call_members();
    members.push(optional("errorAction", MemberKind::Object(&ERROR_ACTION)));
    Shape { members, hints: &[] }
});

static ERROR_ACTION: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: call_members(),
    hints: &[("errorAction", "an errorAction has no errorAction of its own")],
});

/// What an action and its errorAction have in common: a target for each type, in the order in which messages list them.
fn call_members() -> Vec<ShapeMember> {
    let mut members = vec![
        required("type", MemberKind::Word(ActionType::SPELLINGS)),
        optional("request", MemberKind::Object(&REQUEST)),
        optional("queueMessage", MemberKind::Object(&QUEUE_MESSAGE)),
        optional("serviceBusQueueMessage", MemberKind::Object(&BUS_QUEUE_MESSAGE)),
        optional("serviceBusTopicMessage", MemberKind::Object(&BUS_TOPIC_MESSAGE)),
        optional("workflow", MemberKind::Object(&WORKFLOW)),
    ];
    members.extend(DECLARED.iter().map(|(member, shape)| optional(member, MemberKind::Object(shape))));
    members.push(optional("retryPolicy", MemberKind::Object(&RETRY_POLICY)));
    members
}

/// The members of the destinations that `action` declares, and their shapes.
static DECLARED: LazyLock<Vec<(&'static str, Shape)>> = LazyLock::new(|| {
    let spelled = |kind: DestinationType| kind.job().map(|job| (job.member, declared_shape(kind, job)));
    DestinationType::SPELLED_IN_JOBS.into_iter().filter_map(spelled).collect()
});

static REQUEST: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("uri", MemberKind::Text),
        required("method", MemberKind::Text),
        optional("headers", MemberKind::Texts),
        optional("body", MemberKind::Content),
        optional("authentication", MemberKind::Object(&AUTHENTICATION)),
    ],
    hints: &[("retryPolicy", "unknown member; it belongs beside the request, as retryPolicy of the action")],
});

static AUTHENTICATION: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("type", MemberKind::Word(AuthenticationType::SPELLINGS)),
        optional("username", MemberKind::Text),
        optional("pfx", MemberKind::Secret),
        optional("password", MemberKind::Secret),
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
});

static QUEUE_MESSAGE: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("storageAccount", MemberKind::Text),
        required("queueName", MemberKind::Text),
        required("sasToken", MemberKind::Secret),
        required("message", MemberKind::Content),
        optional("envelope", MemberKind::Word(Envelope::SPELLINGS)),
    ],
    hints: &[],
});

static BUS_QUEUE_MESSAGE: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("queueName", MemberKind::Text),
        required("namespace", MemberKind::Text),
        required("transportType", MemberKind::Word(TransportType::SPELLINGS)),
        optional("authentication", MemberKind::Object(&BUS_AUTHENTICATION)),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[("topicPath", "unknown member; a queue has a queueName")],
});

static BUS_TOPIC_MESSAGE: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("topicPath", MemberKind::Text),
        required("namespace", MemberKind::Text),
        required("transportType", MemberKind::Word(TransportType::SPELLINGS)),
        optional("authentication", MemberKind::Object(&BUS_AUTHENTICATION)),
        required("message", MemberKind::Content),
        optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)),
        optional("customMessageProperties", MemberKind::Texts),
    ],
    hints: &[("queueName", "unknown member; a topic has a topicPath")],
});

static BUS_AUTHENTICATION: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("sasKeyName", MemberKind::Text),
        required("sasKey", MemberKind::Secret),
        required("type", MemberKind::Word(BusAuthenticationType::SPELLINGS)),
    ],
    hints: &[],
});

static BROKERED: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
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
});

static WORKFLOW: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        required("name", MemberKind::Text),
        optional("id", MemberKind::Text),
        optional("body", MemberKind::Any),
    ],
    hints: &[],
});

static RETRY_POLICY: LazyLock<Shape> = LazyLock::new(|| Shape {
    members: vec![
        optional("retryType", MemberKind::Word(RetryType::SPELLINGS)),
        optional("retryInterval", MemberKind::Duration),
        optional("retryCount", MemberKind::Whole { min: 0, max: COUNT_MAX }),
        optional("maxRetryInterval", MemberKind::Duration),
    ],
    hints: &[],
});

/// The shape of a declared destination: the address of its broker, its fields, who signs in, and the message.
fn declared_shape(kind: DestinationType, spelling: &'static JobSpelling) -> Shape {
    let mut members = Vec::new();
    members.extend(spelling.endpoint.iter().map(|endpoint| required(endpoint.member, MemberKind::Text)));
    members.extend(kind.fields().iter().map(|field| ShapeMember {
        name: field.member,
        kind: match field.kind {
            FieldKind::Name => MemberKind::Text,
            FieldKind::Text => MemberKind::Content,
            FieldKind::Flag => MemberKind::Flag,
            FieldKind::Choice(words) => MemberKind::Word(words),
        },
        required: field.required,
    }));
    if spelling.endpoint.is_some() {
        members.push(optional("username", MemberKind::Text));
        members.push(optional("password", MemberKind::Secret));
    }
    members.push(required("message", MemberKind::Content));
    members.push(optional("brokeredMessageProperties", MemberKind::Object(&BROKERED)));
    members.push(optional("customMessageProperties", MemberKind::Texts));
    Shape { members, hints: spelling.hints }
}

/// Where a call keeps its secrets: paths of objects below the call, and the names of the members that are secret.
pub fn secret_members() -> &'static [(String, Vec<&'static str>)] {
    static SECRETS: LazyLock<Vec<(String, Vec<&'static str>)>> = LazyLock::new(|| {
        let mut found = Vec::new();
        collect_secrets(&ERROR_ACTION, "", &mut found);
        found
    });
    &SECRETS
}

/// Every member that clients may write below an action or its errorAction, as a path.
pub fn action_members() -> Vec<String> {
    let mut found = Vec::new();
    collect_members(&ERROR_ACTION, "", &mut found);
    found
}

fn collect_members(shape: &Shape, path: &str, found: &mut Vec<String>) {
    for member in shape.members.iter().filter(|member| !matches!(member.kind, MemberKind::ReadOnly)) {
        let path = below(path, member.name);
        if let MemberKind::Object(shape) = &member.kind {
            collect_members(shape, &path, found);
        }
        found.push(path);
    }
}

fn collect_secrets(shape: &Shape, path: &str, found: &mut Vec<(String, Vec<&'static str>)>) {
    let secrets = shape.members.iter().filter(|member| matches!(member.kind, MemberKind::Secret));
    let names: Vec<&'static str> = secrets.map(|member| member.name).collect();
    if !names.is_empty() {
        found.push((path.to_owned(), names));
    }
    for member in &shape.members {
        if let MemberKind::Object(shape) = &member.kind {
            collect_secrets(shape, &below(path, member.name), found);
        }
    }
}
