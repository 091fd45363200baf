//! Reads actions that send a message: where it goes and what it carries.

use types::Property;

use super::action::{ACTION_TIMEOUT, find_service, read_body, read_pairs, read_template};
use super::fields::{Field, Fields};
use super::scope::Scope;
use crate::action::{Action, Service};
use crate::message::{self, MessageAction, MessageFields, PropertyTemplate, To, Transport};
use crate::problem::Report;
use crate::template::Template;
use crate::yaml::YamlKind as Yaml;

/// What an action can be; `http` is not a message.
pub(super) const TYPES: [&str; 9] =
    ["http", "queue", "topic", "storage_queue", "service_bus", "amqp", "rabbitmq", "nats", "kafka"];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Queue,
    Topic,
    StorageQueue,
    ServiceBus,
    Amqp,
    RabbitMq,
    Nats,
    Kafka,
}

impl Kind {
    /// The kind of message that an action says it sends.
    pub(super) fn of(fields: &Fields<'_>) -> Option<Kind> {
        let field = fields.get("type")?;
        let Yaml::Text(text) = &field.node.kind else { return None };
        Some(match text.as_str() {
            "queue" => Kind::Queue,
            "topic" => Kind::Topic,
            "storage_queue" => Kind::StorageQueue,
            "service_bus" => Kind::ServiceBus,
            "amqp" => Kind::Amqp,
            "rabbitmq" => Kind::RabbitMq,
            "nats" => Kind::Nats,
            "kafka" => Kind::Kafka,
            _ => return None,
        })
    }

    fn word(self) -> &'static str {
        match self {
            Kind::Queue => "queue",
            Kind::Topic => "topic",
            Kind::StorageQueue => "storage_queue",
            Kind::ServiceBus => "service_bus",
            Kind::Amqp => "amqp",
            Kind::RabbitMq => "rabbitmq",
            Kind::Nats => "nats",
            Kind::Kafka => "kafka",
        }
    }

    /// The fields besides `type`, `body` and `message`.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Kind::Queue => &["queue", "properties"],
            Kind::Topic => &["topic", "properties"],
            Kind::StorageQueue => &["service", "queue", "envelope"],
            Kind::ServiceBus => &["service", "queue", "topic", "transport", "properties"],
            Kind::Amqp => &["service", "address", "properties"],
            Kind::RabbitMq => &["service", "exchange", "routing_key", "properties"],
            Kind::Nats => &["service", "subject", "stream", "properties"],
            Kind::Kafka => &["service", "topic", "key", "properties"],
        }
    }

    /// The schemes of the services that it can use; none when it needs no service.
    fn schemes(self) -> &'static [&'static str] {
        match self {
            Kind::Queue | Kind::Topic => &[],
            Kind::StorageQueue => &["http", "https"],
            Kind::ServiceBus => &["http", "https", "amqp", "amqps"],
            Kind::Amqp | Kind::RabbitMq => &["amqp", "amqps"],
            Kind::Nats => &["nats", "tls"],
            Kind::Kafka => &["kafka"],
        }
    }
}

/// Reads `{ type: queue, queue, body, message, properties }` and its like; `more` names fields that the same map may
/// hold besides.
pub(super) fn read(
    kind: Kind,
    field: &Field<'_>,
    more: &[&str],
    services: &[Service],
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<Action> {
    let common = ["type", "body", "message"];
    let allowed: Vec<&str> = common.iter().chain(kind.fields()).chain(more).copied().collect();
    let fields = Fields::read(field, &allowed, report)?;
    let service = read_service(kind, &fields, services, report);
    let to = read_to(kind, &fields, service.flatten(), scope, report);
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
    kind: Kind,
    fields: &Fields<'_>,
    services: &'s [Service],
    report: &mut Report,
) -> Option<Option<&'s Service>> {
    if kind.schemes().is_empty() {
        return Some(None);
    }
    let service = find_service(fields, services, report)?;
    let field = fields.get("service")?;
    let (name, scheme, word) = (&service.name, service.scheme(), kind.word());
    // A service whose URL is wrong has been told so.
    if !scheme.is_empty() && !kind.schemes().contains(&scheme) {
        let needed = kind.schemes().join("://, ");
        field.wrong(format!("service '{name}' is at {scheme}://; {word} needs {needed}://"), report);
    }
    match (kind, &service.username, &service.secret) {
        (Kind::StorageQueue, Some(_), _) => {
            let rule = "a storage_queue signs in by its secret alone, a SAS token";
            field.wrong(format!("service '{name}' has a username; {rule}"), report);
        }
        (Kind::StorageQueue, None, _) | (_, None, None) | (_, Some(_), Some(_)) => {}
        (_, Some(_), None) => field.wrong(format!("service '{name}' has a username but no secret"), report),
        (_, None, Some(_)) => field.wrong(format!("service '{name}' has a secret but no username"), report),
    }
    Some(Some(service))
}

fn read_to(
    kind: Kind,
    fields: &Fields<'_>,
    service: Option<&Service>,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<To> {
    Some(match kind {
        Kind::Queue => To::Queue(name(fields, "queue", scope, report)?),
        Kind::Topic => To::Topic(name(fields, "topic", scope, report)?),
        Kind::StorageQueue => {
            let envelope = fields.get("envelope").and_then(|field| field.one_of(&["xml", "none"], report));
            let queue = name(fields, "queue", scope, report)?;
            To::StorageQueue { queue, envelope: envelope == Some("xml") }
        }
        Kind::ServiceBus => {
            let transport = read_transport(fields, service, report);
            let entity = match (fields.get("queue"), fields.get("topic")) {
                (Some(_), None) => name(fields, "queue", scope, report)?,
                (None, Some(_)) => name(fields, "topic", scope, report)?,
                _ => {
                    report.add(fields.at, &fields.path, "give 'queue' or 'topic'");
                    return None;
                }
            };
            To::ServiceBus { entity, transport: transport? }
        }
        Kind::Amqp => To::Amqp { address: name(fields, "address", scope, report)? },
        Kind::RabbitMq => {
            let routing_key = name(fields, "routing_key", scope, report);
            let exchange = fields.get("exchange").map(|field| template(&field, scope, report));
            To::RabbitMq { exchange: exchange.unwrap_or_else(nothing)?, routing_key: routing_key? }
        }
        Kind::Nats => {
            let subject = name(fields, "subject", scope, report);
            let stream = !fields.has("stream") || fields.flag("stream", report);
            To::Nats { subject: subject?, stream }
        }
        Kind::Kafka => {
            let topic = name(fields, "topic", scope, report);
            let key = fields.get("key").map(|field| template(&field, scope, report));
            To::Kafka { topic: topic?, key: key.map_or(Some(None), |key| key.map(Some))? }
        }
    })
}

fn nothing() -> Option<Template> {
    Some(Template { parts: Vec::new() })
}

/// Unless it says otherwise a message travels as the service's URL says.
fn read_transport(fields: &Fields<'_>, service: Option<&Service>, report: &mut Report) -> Option<Transport> {
    let of_url = service.map(Service::scheme).filter(|scheme| !scheme.is_empty());
    let of_url =
        of_url.map(|scheme| if scheme.starts_with("amqp") { Transport::Amqp } else { Transport::Https });
    let Some(field) = fields.get("transport") else { return of_url };
    let written = match field.one_of(&["https", "amqp"], report)? {
        "https" => Transport::Https,
        _ => Transport::Amqp,
    };
    match (of_url, written) {
        (Some(Transport::Https), Transport::Amqp) => {
            field.wrong("amqp needs a service at amqp:// or amqps://", report);
        }
        (Some(Transport::Amqp), Transport::Https) => {
            field.wrong("https needs a service at http:// or https://", report);
        }
        _ => {}
    }
    Some(written)
}

/// A template that must be there and must not be empty.
fn name(fields: &Fields<'_>, name: &str, scope: &Scope<'_>, report: &mut Report) -> Option<Template> {
    let field = fields.require(name, report)?;
    let template = template(&field, scope, report)?;
    if template.parts.is_empty() {
        field.wrong("must not be empty", report);
    }
    Some(template)
}

fn template(field: &Field<'_>, scope: &Scope<'_>, report: &mut Report) -> Option<Template> {
    let text = field.scalar(report)?;
    read_template(field, &text, scope, report)
}

fn read_fields(kind: Kind, fields: &Fields<'_>, scope: &Scope<'_>, report: &mut Report) -> MessageFields {
    let mut read = MessageFields::default();
    let Some(field) = fields.get("message") else { return read };
    let times = MessageFields::TIMES;
    // A storage queue knows of a message how long it lives and when it shows, and nothing else.
    let texts = MessageFields::TEXTS.into_iter().filter(|_| kind != Kind::StorageQueue);
    let names: Vec<&'static str> = texts.chain(times).collect();
    let mut allowed = names.clone();
    allowed.extend((kind != Kind::StorageQueue).then_some("force_persistence"));
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
