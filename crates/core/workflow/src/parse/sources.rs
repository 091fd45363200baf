//! Reads the sources of a workflow.

use action::{FieldKind, FieldValue, FieldValues, Origin, OriginType};
use types::{QueueName, ServiceName, WorkflowName};

use super::action::find_service;
use super::fields::{Field, Fields};
use super::queue_name;
use crate::action::Service;
use crate::limits::SOURCES_MAX;
use crate::source::Source;
use types::problem::Report;

/// Messages that are taken and not yet settled, unless the source says otherwise.
const CONCURRENCY: u32 = 64;
/// What one consumer is handed at once.
const CONCURRENCY_MAX: u32 = 256;

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
    let types: Vec<&'static str> = OriginType::all().map(OriginType::name).collect();
    let kind = OriginType::named(any.require("type", report)?.one_of(&types, report)?)?;
    let is_external = !kind.schemes().is_empty();
    let mut allowed = vec!["type", "concurrency"];
    allowed.extend(is_external.then_some("service"));
    allowed.extend(kind.fields().iter().map(|field| field.name));
    allowed.extend(is_external.then_some("park"));
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

fn read_from(
    kind: OriginType,
    fields: &Fields<'_>,
    services: &[Service],
    report: &mut Report,
) -> Option<Origin> {
    let queue = |name: &str, report: &mut Report| {
        fields.require(name, report).and_then(|field| queue_name(&field, report))
    };
    match kind {
        OriginType::Queue => Some(Origin::Queue { queue: queue("queue", report)? }),
        OriginType::Topic => {
            let (topic, subscription) = (queue("topic", report), queue("subscription", report));
            Some(Origin::Subscription { topic: topic?, subscription: subscription? })
        }
        OriginType::Broker(_) => {
            let service = read_service(fields, services, kind.schemes(), report);
            let values = read_values(kind, fields, report);
            Some(Origin::Broker { service: service?, from: kind.at_broker(values?)? })
        }
    }
}

/// The values of the declared fields; none when one of them is wrong, after all have been read.
fn read_values(kind: OriginType, fields: &Fields<'_>, report: &mut Report) -> Option<FieldValues<String>> {
    let (mut values, mut complete) = (FieldValues::default(), true);
    for declared in kind.fields() {
        if !declared.required && !fields.has(declared.name) {
            continue;
        }
        let field = fields.require(declared.name, report);
        let value = field.and_then(|field| match declared.kind {
            FieldKind::Name | FieldKind::Text => {
                let text = field.text(report)?;
                if text.is_empty() && declared.kind == FieldKind::Name {
                    field.wrong("must not be empty", report);
                }
                Some(FieldValue::Text(text.to_owned()))
            }
            FieldKind::Flag => Some(FieldValue::Flag(fields.flag(declared.name, report))),
            FieldKind::Choice(words) => field.one_of(words, report).map(FieldValue::Choice),
        });
        match value {
            Some(value) => values.push(declared, value),
            None => complete = false,
        }
    }
    complete.then_some(values)
}

fn read_service(
    fields: &Fields<'_>,
    services: &[Service],
    schemes: &[&str],
    report: &mut Report,
) -> Option<ServiceName> {
    let found = find_service(fields, services, report)?;
    let (name, scheme) = (&found.name, found.scheme());
    // A service whose URL is wrong was reported where it is declared.
    if let Some(field) = fields.get("service").filter(|_| !scheme.is_empty() && !schemes.contains(&scheme)) {
        let needed = schemes.join("://, ");
        field.wrong(format!("service '{name}' is at {scheme}://; this source needs {needed}://"), report);
    }
    Some(found.name.clone())
}
