//! Reads actions that send a message: where it goes and what it carries.

use action::{Destination, DestinationType, FieldKind, FieldValue, FieldValues, Transport};
use types::Property;
use types::problem::Report;

use super::action::{ACTION_TIMEOUT, find_service, read_body, read_pairs, read_template};
use super::fields::{Field, Fields};
use super::scope::Scope;
use crate::action::{Action, Service};
use crate::message::{self, MessageAction, MessageFields, PropertyTemplate};
use crate::template::Template;
use crate::yaml::YamlKind as Yaml;

/// What an action can be; `http` is not a message.
pub(super) fn types() -> Vec<&'static str> {
    std::iter::once("http").chain(DestinationType::all().map(DestinationType::name)).collect()
}

/// The kind of destination that the field `type` names.
pub(super) fn destination_type(fields: &Fields<'_>) -> Option<DestinationType> {
    match &fields.get("type")?.node.kind {
        Yaml::Text(text) => DestinationType::named(text),
        _ => None,
    }
}

/// Reads `{ type: queue, queue, body, message, properties }` and its like; `more` names fields that the same map may
/// hold besides.
pub(super) fn read(
    kind: DestinationType,
    field: &Field<'_>,
    more: &[&str],
    services: &[Service],
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<Action> {
    let mut allowed = vec!["type", "body", "message"];
    allowed.extend((!kind.schemes().is_empty()).then_some("service"));
    allowed.extend(kind.fields().iter().map(|field| field.name));
    allowed.extend(kind.has_properties().then_some("properties"));
    allowed.extend(more);
    let fields = Fields::read(field, &allowed, report)?;
    let service = read_service(kind, &fields, services, report);
    let to = read_destination(kind, &fields, service.flatten(), scope, report);
    let message = read_fields(kind, &fields, scope, report);
    let properties = read_pairs(&fields, "properties", report, |name, field, report| {
        Some((name.to_owned(), read_property(field, scope, report)?))
    });
    let body = fields.get("body").map(|field| read_body(&field, None, scope, report));
    let service = service?;
    Some(Action::Message(MessageAction {
        service: service.map(|service| service.name.clone()),
        to: to?,
        body,
        fields: message,
        properties,
        timeout: service.map_or(ACTION_TIMEOUT, |service| service.timeout),
        visible: scope.visible,
    }))
}

/// The service of an action, which fits it; none for those that need none.
fn read_service<'s>(
    kind: DestinationType,
    fields: &Fields<'_>,
    services: &'s [Service],
    report: &mut Report,
) -> Option<Option<&'s Service>> {
    if kind.schemes().is_empty() {
        return Some(None);
    }
    let service = find_service(fields, services, report)?;
    let field = fields.get("service")?;
    let (name, scheme, word) = (&service.name, service.scheme(), kind.name());
    // A service whose URL is wrong was reported where it is declared.
    if !scheme.is_empty() && !kind.schemes().contains(&scheme) {
        let needed = kind.schemes().join("://, ");
        field.wrong(format!("service '{name}' is at {scheme}://; {word} needs {needed}://"), report);
    }
    match (kind, &service.username, &service.secret) {
        (DestinationType::StorageQueue, Some(_), _) => {
            let rule = "a storage_queue signs in by its secret alone, a SAS token";
            field.wrong(format!("service '{name}' has a username; {rule}"), report);
        }
        (DestinationType::StorageQueue, None, _) | (_, None, None) | (_, Some(_), Some(_)) => {}
        (_, Some(_), None) => field.wrong(format!("service '{name}' has a username but no secret"), report),
        (_, None, Some(_)) => field.wrong(format!("service '{name}' has a secret but no username"), report),
    }
    Some(Some(service))
}

fn read_destination(
    kind: DestinationType,
    fields: &Fields<'_>,
    service: Option<&Service>,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<Destination<Template>> {
    let values = read_values(kind, fields, scope, report);
    if kind != DestinationType::ServiceBus {
        return kind.destination(values?, None);
    }
    let transport = check_transport(fields, service, report);
    if fields.has("queue") == fields.has("topic") {
        report.add_at(fields.at, &fields.path, "give 'queue' or 'topic'");
        return None;
    }
    kind.destination(values?, transport)
}

/// The values of the declared fields; none when one of them is wrong, after all have been read.
fn read_values(
    kind: DestinationType,
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<FieldValues<Template>> {
    let (mut values, mut complete) = (FieldValues::default(), true);
    for declared in kind.fields() {
        if !declared.required && !fields.has(declared.name) {
            continue;
        }
        let field = fields.require(declared.name, report);
        let value = field.and_then(|field| match declared.kind {
            FieldKind::Name => name(&field, scope, report).map(FieldValue::Text),
            FieldKind::Text => template(&field, scope, report).map(FieldValue::Text),
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

/// Unless it says otherwise a message travels as the service's URL says.
fn check_transport(fields: &Fields<'_>, service: Option<&Service>, report: &mut Report) -> Option<Transport> {
    let of_url = service.map(Service::scheme).filter(|scheme| !scheme.is_empty());
    let of_url =
        of_url.map(|scheme| if scheme.starts_with("amqp") { Transport::Amqp } else { Transport::Https });
    if let Some(field) = fields.get("transport") {
        match (of_url, &field.node.kind) {
            (Some(Transport::Https), Yaml::Text(text)) if text == "amqp" => {
                field.wrong("amqp needs a service at amqp:// or amqps://", report);
            }
            (Some(Transport::Amqp), Yaml::Text(text)) if text == "https" => {
                field.wrong("https needs a service at http:// or https://", report);
            }
            _ => {}
        }
    }
    of_url
}

/// A template that must not be empty.
fn name(field: &Field<'_>, scope: &Scope<'_>, report: &mut Report) -> Option<Template> {
    let template = template(field, scope, report)?;
    if template.parts.is_empty() {
        field.wrong("must not be empty", report);
    }
    Some(template)
}

fn template(field: &Field<'_>, scope: &Scope<'_>, report: &mut Report) -> Option<Template> {
    let text = field.scalar(report)?;
    read_template(field, &text, scope, report)
}

fn read_fields(
    kind: DestinationType,
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    report: &mut Report,
) -> MessageFields {
    let mut read = MessageFields::default();
    let Some(field) = fields.get("message") else { return read };
    let times = MessageFields::TIMES;
    // A storage queue knows of a message how long it lives and when it shows, and nothing else.
    let texts = MessageFields::TEXTS.into_iter().filter(|_| kind.has_properties());
    let names: Vec<&'static str> = texts.chain(times).collect();
    let mut allowed = names.clone();
    allowed.extend((kind.has_properties()).then_some("force_persistence"));
    let Some(fields) = Fields::read(&field, &allowed, report) else { return read };
    for name in names {
        let Some(field) = fields.get(name) else { continue };
        let Some(template) = template(&field, scope, report) else { continue };
        if let Some(literal) = template.as_literal() {
            let wrong = match name {
                "time_to_live" => message::time_to_live(literal).err(),
                "scheduled_at" => message::moment(literal).err(),
                _ => None,
            };
            wrong.into_iter().for_each(|wrong| field.wrong(wrong, report));
        }
        read.texts.push((name, template));
    }
    read.force_persistence =
        fields.has("force_persistence").then(|| fields.flag("force_persistence", report));
    read
}

fn read_property(field: &Field<'_>, scope: &Scope<'_>, report: &mut Report) -> Option<PropertyTemplate> {
    Some(match &field.node.kind {
        Yaml::Number(number) => PropertyTemplate::Fixed(Property::Number(number.to_string())),
        Yaml::Bool(flag) => PropertyTemplate::Fixed(Property::Flag(*flag)),
        _ => PropertyTemplate::Rendered(template(field, scope, report)?),
    })
}
