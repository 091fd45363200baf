//! Actions that send a message, and the message that each makes of a run.

use action::{Destination, FieldKind};
use types::{Message, Property, ServiceName, Span, Timestamp};

use crate::context::{Frame, StepSet};
use crate::limits::MESSAGE_TEXT_BYTES_MAX;
use crate::render::{self, RenderError};
use crate::template::{Body, Template, TemplatePart};

/// A message whose parts may hold expressions.
#[derive(Debug)]
pub struct MessageAction {
    pub(crate) service: Option<ServiceName>,
    pub(crate) to: Destination<Template>,
    pub(crate) body: Option<Body>,
    pub(crate) fields: MessageFields,
    pub(crate) properties: Vec<(String, PropertyTemplate)>,
    pub(crate) timeout: Span,
    /// The steps whose outputs it may use.
    pub(crate) visible: StepSet,
}

/// What the broker learns of a message besides its body.
#[derive(Debug, Default)]
pub(crate) struct MessageFields {
    /// Their names and values; each name is one of [`MessageFields::TEXTS`] or of [`MessageFields::TIMES`].
    pub texts: Vec<(&'static str, Template)>,
    pub force_persistence: Option<bool>,
}

impl MessageFields {
    pub(crate) const TEXTS: [&'static str; 10] = [
        "id",
        "label",
        "session",
        "content_type",
        "correlation_id",
        "reply_to",
        "reply_to_session",
        "to",
        "partition_key",
        "via_partition_key",
    ];
    pub(crate) const TIMES: [&'static str; 2] = ["time_to_live", "scheduled_at"];
}

/// A property of the sender's own.
#[derive(Debug)]
pub(crate) enum PropertyTemplate {
    Fixed(Property),
    /// Text, or whatever its one expression gives.
    Rendered(Template),
}

/// A message, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedMessage {
    /// The service that holds the address; built-in queues and topics have none.
    pub service: Option<ServiceName>,
    pub to: Destination<String>,
    /// Its id is empty when the action names none.
    pub message: Message,
    pub timeout: Span,
}

impl MessageAction {
    /// What it does, as written, like `queue orders` or `rabbitmq orders at broker`.
    pub(crate) fn target(&self) -> String {
        let service = self.service.as_ref().map_or(String::new(), |service| format!(" at {service}"));
        self.to.label(Template::source) + &service
    }
}

pub(crate) fn render(action: &MessageAction, frame: &Frame<'_>) -> Result<RenderedMessage, RenderError> {
    let mut message = Message::default();
    if let Some(body) = &action.body {
        let (bytes, content_type) = render::render_body(body, frame)?;
        message.body = bytes;
        message.content_type = Some(content_type.to_owned());
    }
    for (name, template) in &action.fields.texts {
        set_field(&mut message, name, text(&format!("message.{name}"), template, frame)?)?;
    }
    message.force_persistence = action.fields.force_persistence;
    for (name, value) in &action.properties {
        message.properties.insert(name.clone(), render_property(name, value, frame)?);
    }
    let (service, to) = (action.service.clone(), render_to(&action.to, frame)?);
    Ok(RenderedMessage { service, to, message, timeout: action.timeout })
}

fn render_to(to: &Destination<Template>, frame: &Frame<'_>) -> Result<Destination<String>, RenderError> {
    let declared = to.destination_type().fields();
    to.try_map(|name, template| {
        let is_name = declared.iter().any(|field| field.name == name && field.kind == FieldKind::Name);
        match text(name, template, frame)? {
            text if text.is_empty() && is_name => Err(RenderError::new(name, "is empty")),
            text => Ok(text),
        }
    })
}

fn text(part: &str, template: &Template, frame: &Frame<'_>) -> Result<String, RenderError> {
    let mut text = String::new();
    let append = |value: &str, out: &mut String| out.push_str(value);
    render::render_text(template, frame, MESSAGE_TEXT_BYTES_MAX, &mut text, append)
        .map_err(|message| RenderError::new(part, message))?;
    Ok(text)
}

/// Sets what is not empty: a template that comes to nothing says nothing.
fn set_field(message: &mut Message, name: &str, text: String) -> Result<(), RenderError> {
    if text.is_empty() {
        return Ok(());
    }
    let fail = |why: String| RenderError::new(format!("message.{name}"), why);
    match name {
        "id" => message.id = text,
        "time_to_live" => message.time_to_live = Some(time_to_live(&text).map_err(fail)?),
        "scheduled_at" => message.scheduled_at = Some(moment(&text).map_err(fail)?),
        _ => {
            let field = match name {
                "label" => &mut message.label,
                "session" => &mut message.session,
                "content_type" => &mut message.content_type,
                "correlation_id" => &mut message.correlation_id,
                "reply_to" => &mut message.reply_to,
                "reply_to_session" => &mut message.reply_to_session,
                "to" => &mut message.to,
                "partition_key" => &mut message.partition_key,
                "via_partition_key" => &mut message.via_partition_key,
                _ => unreachable!("the reader lets no other field pass"),
            };
            *field = Some(text);
        }
    }
    Ok(())
}

pub(crate) fn time_to_live(text: &str) -> Result<Span, String> {
    match text.parse() {
        Ok(Span::ZERO) => Err("must be longer than nothing".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}

/// A point in time, not a length: every attempt must say the same.
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
    let moment: Result<jiff::Timestamp, _> = text.parse();
    let moment = moment.map_err(|_| {
        let text = types::problem::quote(text);
        format!("{text} is not a point in time; write it like 2026-03-01T12:00:00Z")
    })?;
    Ok(Timestamp(moment.as_millisecond()))
}

fn render_property(name: &str, value: &PropertyTemplate, frame: &Frame<'_>) -> Result<Property, RenderError> {
    let template = match value {
        PropertyTemplate::Fixed(property) => return Ok(property.clone()),
        PropertyTemplate::Rendered(template) => template,
    };
    let part = format!("properties.{name}");
    let [TemplatePart::Value(expression)] = template.parts.as_slice() else {
        return text(&part, template, frame).map(Property::Text);
    };
    let fail = |message| RenderError::new(part.as_str(), message);
    let value = render::value_of(expression, frame, MESSAGE_TEXT_BYTES_MAX).map_err(fail)?;
    let scalar = render::scalar(expression, &value).map_err(fail)?;
    Ok(match value.as_bytes().first() {
        Some(b'"') => Property::Text(scalar.into_owned()),
        Some(b't' | b'f') => Property::Flag(&*scalar == "true"),
        _ => Property::Number(scalar.into_owned()),
    })
}
