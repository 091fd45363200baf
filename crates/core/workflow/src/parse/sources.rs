//! Reads the sources of a workflow.

use types::{QueueName, ServiceName, WorkflowName};

use super::action::find_service;
use super::fields::{Field, Fields};
use super::queue_name;
use crate::action::Service;
use crate::limits::SOURCES_MAX;
use crate::problem::Report;
use crate::source::{Source, Stream};

/// Messages that are taken and not yet settled, unless the source says otherwise.
const CONCURRENCY: u32 = 64;
/// What one consumer is handed at once.
const CONCURRENCY_MAX: u32 = 256;

const TYPES: [&str; 5] = ["queue", "topic", "rabbitmq", "nats", "amqp"];

pub(super) fn read(
    field: &Field<'_>,
    workflow: Option<&WorkflowName>,
    services: &[Service],
    report: &mut Report,
) -> Vec<Source> {
    let items = field.list(report);
    if items.len() > SOURCES_MAX {
        field.wrong(format!("a workflow has at most {SOURCES_MAX} sources, not {}", items.len()), report);
        return Vec::new();
    }
    items.iter().filter_map(|item| read_one(item, workflow, services, report)).collect()
}

fn read_one(
    field: &Field<'_>,
    workflow: Option<&WorkflowName>,
    services: &[Service],
    report: &mut Report,
) -> Option<Source> {
    let any = Fields::read_any(field, report)?;
    let kind = any.require("type", report)?.one_of(&TYPES, report)?;
    let own: &[&str] = match kind {
        "queue" => &["queue"],
        "topic" => &["topic", "subscription"],
        "rabbitmq" => &["service", "queue", "park"],
        "nats" => &["service", "stream", "subject", "park"],
        _ => &["service", "address", "park"],
    };
    let allowed: Vec<&str> = ["type", "concurrency"].iter().chain(own).copied().collect();
    let fields = Fields::read(field, &allowed, report)?;
    let concurrency = fields.count("concurrency", CONCURRENCY_MAX, report).unwrap_or(CONCURRENCY);
    let from = read_from(kind, &fields, services, report);
    let park = match fields.get("park") {
        Some(field) => queue_name(&field, report),
        // A workflow without a valid name has a problem of its own.
        None => workflow.and_then(|name| QueueName::new(&format!("{name}.poison").to_lowercase()).ok()),
    };
    Some(Source { from: from?, concurrency, park: park? })
}

fn read_from(kind: &str, fields: &Fields<'_>, services: &[Service], report: &mut Report) -> Option<Stream> {
    match kind {
        "queue" => Some(Stream::Queue { queue: queue_name(&fields.require("queue", report)?, report)? }),
        "topic" => {
            let topic = fields.require("topic", report).and_then(|field| queue_name(&field, report));
            let subscription =
                fields.require("subscription", report).and_then(|field| queue_name(&field, report));
            Some(Stream::Subscription { topic: topic?, subscription: subscription? })
        }
        kind => {
            let schemes: &[&str] = if kind == "nats" { &["nats", "tls"] } else { &["amqp", "amqps"] };
            let service = read_service(fields, services, schemes, report);
            let text = |name: &str, report: &mut Report| {
                let field = fields.require(name, report)?;
                let text = field.text(report)?;
                if text.is_empty() {
                    field.wrong("must not be empty", report);
                }
                Some(text.to_owned())
            };
            match kind {
                "rabbitmq" => {
                    let queue = text("queue", report);
                    Some(Stream::RabbitMq { service: service?, queue: queue? })
                }
                "nats" => {
                    let stream = text("stream", report);
                    let subject = fields.get("subject").and_then(|field| field.text(report));
                    let subject = subject.map(str::to_owned);
                    Some(Stream::Nats { service: service?, stream: stream?, subject })
                }
                _ => {
                    let address = text("address", report);
                    Some(Stream::Amqp { service: service?, address: address? })
                }
            }
        }
    }
}

fn read_service(
    fields: &Fields<'_>,
    services: &[Service],
    schemes: &[&str],
    report: &mut Report,
) -> Option<ServiceName> {
    let found = find_service(fields, services, report)?;
    let (name, scheme) = (&found.name, found.scheme());
    // A service whose URL is wrong has been told so.
    if let Some(field) = fields.get("service").filter(|_| !scheme.is_empty() && !schemes.contains(&scheme)) {
        let needed = schemes.join("://, ");
        field.wrong(format!("service '{name}' is at {scheme}://; this source needs {needed}://"), report);
    }
    Some(found.name.clone())
}
