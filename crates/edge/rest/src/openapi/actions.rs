//! What jobs do when they fire, in the members of Azure Scheduler.

use action::{DestinationType, Field, FieldKind, JobSpelling};
use api_types::Components;
use schedule::spelling::{
    self, AuthenticationType, BusAuthenticationType, Envelope, RetryType, TransportType,
};

use super::build::{
    Member, Schema, anything, boolean, described, integer, map_of, named, object, of, one_of, optional,
    required, text, time,
};

described! {
    JobAction(c) => object(call_members(c).chain([
        optional("errorAction", of::<JobErrorAction>(c).or_null()),
    ]));

    /// What runs when the action has used up its retries.
    JobErrorAction(c) => object(call_members(c));

    JobBrokeredProperties(c) => object([
        optional("contentType", text().or_null()),
        optional("correlationId", text().or_null()),
        optional("forcePersistence", boolean().or_null()),
        optional("label", text().or_null()),
        optional("messageId", text().or_null().describe("The key of the occurrence when absent: the same in every attempt.")),
        optional("partitionKey", text().or_null()),
        optional("replyTo", text().or_null()),
        optional("replyToSessionId", text().or_null()),
        optional("scheduledEnqueueTimeUtc", time().or_null()),
        optional("sessionId", text().or_null()),
        optional("timeToLive", text().or_null().describe("A length of time, like PT1H.")),
        optional("to", text().or_null()),
        optional("viaPartitionKey", text().or_null()),
    ]);

    JobRequest(c) => object([
        required("uri", text().max_length(2048)),
        required("method", text()),
        optional("headers", map_of(text()).or_null().describe("At most 50; names and values at most 4,096 characters together.")),
        optional("body", text().or_null().max_length(8192)),
        optional("authentication", of::<JobAuthentication>(c).or_null()),
    ]);

    /// Basic: username, password. ClientCertificate: pfx, password. ActiveDirectoryOAuth: tenant, audience, clientId, secret.
    JobAuthentication(c) => object([
        required("type", one_of(AuthenticationType::SPELLINGS)),
        optional("username", text().or_null()),
        optional("password", text().or_null().write_only()),
        optional("pfx", text().or_null().write_only().describe("A PKCS#12 file in base64.")),
        optional("tenant", text().or_null()),
        optional("audience", text().or_null()),
        optional("clientId", text().or_null()),
        optional("secret", text().or_null().write_only()),
        optional("certificateThumbprint", text().or_null().read_only()),
        optional("certificateExpiration", time().or_null().read_only()),
        optional("certificateSubjectName", text().or_null().read_only()),
    ]);

    JobRetryPolicy(c) => object([
        optional("retryType", one_of(RetryType::SPELLINGS).or_null().default("fixed")),
        optional("retryInterval", text().or_null().describe("A length of time: `30s`, `PT30S` or `00:00:30`.").default("PT30S")),
        optional("retryCount", integer().or_null().minimum(0).default(4)),
        optional("maxRetryInterval", text().or_null().describe("The longest delay of an exponential policy.")),
    ]);

    /// A message for a queue of Azure Storage.
    StorageQueueMessage(c) => object([
        required("storageAccount", text().describe("The name of an account of Azure, its host, or the URL of a server that speaks like it.")),
        required("queueName", text()),
        optional("sasToken", text().or_null().write_only().describe("Sealed when it is stored, and never shown.")),
        required("message", text()),
        optional("envelope", one_of(Envelope::SPELLINGS).or_null()),
    ]);

    /// A message for Service Bus, or for a server that speaks like it.
    ServiceBusQueueMessage(c) => object([
        required("queueName", text()),
        required("namespace", text().describe("The name of a namespace of Azure, its host, or the URL of a server that speaks like it.")),
        required("transportType", one_of(TransportType::SPELLINGS)),
        optional("authentication", of::<ServiceBusAuthentication>(c).or_null()),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    /// A message for Service Bus, or for a server that speaks like it.
    ServiceBusTopicMessage(c) => object([
        required("topicPath", text()),
        required("namespace", text().describe("The name of a namespace of Azure, its host, or the URL of a server that speaks like it.")),
        required("transportType", one_of(TransportType::SPELLINGS)),
        optional("authentication", of::<ServiceBusAuthentication>(c).or_null()),
        required("message", text()),
        optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()),
        optional("customMessageProperties", map_of(text()).or_null()),
    ]);

    WorkflowStart(c) => object([
        required("name", text()),
        optional("id", text().or_null().describe("The run's id; made from the occurrence when absent.")),
        optional("body", anything()),
    ]);

    ActionType(c) => one_of(spelling::ActionType::SPELLINGS);

    ServiceBusAuthentication(c) => object([
        optional("sasKeyName", text()),
        optional("sasKey", text().or_null().write_only().describe("Sealed when it is stored, and never shown.")),
        optional("type", one_of(BusAuthenticationType::SPELLINGS)),
    ]);
}

/// What an action and its errorAction have in common: a target for each type, and how it is retried.
fn call_members(c: &mut Components) -> impl Iterator<Item = Member> + use<> {
    let mut members = vec![
        required("type", of::<ActionType>(c)),
        optional("request", of::<JobRequest>(c).or_null()),
        optional("queueMessage", of::<StorageQueueMessage>(c).or_null()),
        optional("serviceBusQueueMessage", of::<ServiceBusQueueMessage>(c).or_null()),
        optional("serviceBusTopicMessage", of::<ServiceBusTopicMessage>(c).or_null()),
        optional("workflow", of::<WorkflowStart>(c).or_null()),
    ];
    for kind in DestinationType::SPELLED_IN_JOBS {
        members.extend(kind.job().map(|job| optional(job.member, declared_message(kind, job, c).or_null())));
    }
    members.push(optional("retryPolicy", of::<JobRetryPolicy>(c).or_null()));
    members.into_iter()
}

/// A message for a destination that `action` declares.
fn declared_message(kind: DestinationType, job: &JobSpelling, c: &mut Components) -> Schema {
    named(c, format!("{}Message", job.action_type), |c| {
        let mut members = Vec::new();
        if let Some(endpoint) = &job.endpoint {
            members.push(required(endpoint.member, text().describe(endpoint.doc)));
        }
        members.extend(kind.fields().iter().map(declared_field));
        if job.endpoint.is_some() {
            let password = text().or_null().write_only();
            members.push(optional("username", text().or_null()));
            members
                .push(optional("password", password.describe("Sealed when it is stored, and never shown.")));
        }
        members.push(required("message", text()));
        members.push(optional("brokeredMessageProperties", of::<JobBrokeredProperties>(c).or_null()));
        members.push(optional("customMessageProperties", map_of(text()).or_null()));
        object(members).describe(&format!("A message for {}.", kind.title()))
    })
}

fn declared_field(field: &Field) -> Member {
    let schema = match field.kind {
        FieldKind::Name | FieldKind::Text => text(),
        FieldKind::Flag => boolean(),
        FieldKind::Choice(words) => one_of(words),
    };
    let schema = schema.describe(field.doc);
    if field.required { required(field.member, schema) } else { optional(field.member, schema.or_null()) }
}
