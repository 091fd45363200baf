//! Reads calls and actions: where they go and what they carry.

use http::{HeaderName, HeaderValue, Method};
use types::Span;

use super::fields::{Field, Fields};
use super::scope::Scope;
use super::{message, url};
use crate::action::{Action, HeaderTemplate, HttpAction, Service};
use crate::limits::PAIRS_MAX;
use crate::template::{Body, Template};
use types::problem::{Report, did_you_mean, quote};

/// How long an action with a URL of its own may take.
pub(super) const ACTION_TIMEOUT: Span = Span::from_secs(30);

const CALL_FIELDS: [&str; 6] = ["service", "method", "path", "headers", "query", "body"];
const ACTION_FIELDS: [&str; 5] = ["type", "method", "url", "headers", "body"];
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// Headers that Sortie or the connection sets.
const OWN_HEADERS: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Reads `{ service, method, path, … }`, `{ type: http, method, url, … }` or an action that sends a message; `more`
/// names fields that the same map may hold besides.
pub(super) fn read(
    field: &Field<'_>,
    more: &[&str],
    services: &[Service],
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<Action> {
    let any = Fields::read_any(field, report)?;
    if let Some(kind) = message::destination_type(&any) {
        return message::read(kind, field, more, services, scope, report);
    }
    if let Some(kind) = any.get("type") {
        // Of an action whose type is not known nothing else can be said.
        kind.one_of(&message::types(), report)?;
    }
    let is_action = any.has("type") || (any.has("url") && !any.has("service"));
    let own: &[&str] = if is_action { &ACTION_FIELDS } else { &CALL_FIELDS };
    let allowed: Vec<&str> = own.iter().chain(more).copied().collect();
    let fields = Fields::read(field, &allowed, report)?;

    let target = if is_action {
        read_url(&fields, scope, report)
    } else {
        read_path(&fields, services, scope, report)
    };
    let method = fields.require("method", report).and_then(|field| read_method(&field, report));
    let query = read_query(&fields, scope, report);
    let service = target.as_ref().and_then(|target| target.service);
    let headers = read_headers(&fields, service, scope, report);
    let body = fields.get("body").map(|field| read_body(&field, method.as_ref(), scope, report));
    let target = target?;
    Some(Action::Http(HttpAction {
        service: service.map(|service| service.name.clone()),
        method: method?,
        base: target.base,
        path: target.path,
        query,
        headers,
        body,
        timeout: service.map_or(ACTION_TIMEOUT, |service| service.timeout),
        visible: scope.visible,
    }))
}

struct HttpTarget<'s> {
    service: Option<&'s Service>,
    base: String,
    path: Template,
}

fn read_url<'s>(fields: &Fields<'_>, scope: &Scope<'_>, report: &mut Report) -> Option<HttpTarget<'s>> {
    let kind = fields.require("type", report);
    let field = fields.require("url", report)?;
    let text = field.text(report)?;
    let template = read_template(&field, text, scope, report)?;
    let (base, path) = field.checked(url::split(template), report)?;
    kind.map(|_| HttpTarget { service: None, base, path })
}

fn read_path<'s>(
    fields: &Fields<'_>,
    services: &'s [Service],
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<HttpTarget<'s>> {
    let service = find_service(fields, services, report);
    if let (Some(service), Some(field)) = (service, fields.get("service")) {
        check_callable(service, &field, report);
    }
    let field = fields.require("path", report)?;
    let text = field.text(report)?;
    let template = read_template(&field, text, scope, report)?;
    field.checked(url::check_path(&template), report)?;
    let service = service?;
    Some(HttpTarget { service: Some(service), base: service.url.clone(), path: template })
}

/// The service that the field `service` names.
pub(super) fn find_service<'s>(
    fields: &Fields<'_>,
    services: &'s [Service],
    report: &mut Report,
) -> Option<&'s Service> {
    let field = fields.require("service", report)?;
    let name = field.text(report)?;
    let service = services.iter().find(|service| service.name.as_str() == name);
    if service.is_none() {
        let hint = did_you_mean(name, services.iter().map(|service| service.name.as_str()));
        field.wrong(format!("no service {}{hint}", quote(name)), report);
    }
    service
}

/// Only HTTP can be called, and it signs in with headers.
fn check_callable(service: &Service, field: &Field<'_>, report: &mut Report) {
    let (name, scheme) = (&service.name, service.scheme());
    if !matches!(scheme, "" | "http" | "https") {
        let rule = "a call needs http:// or https://; to send a message give a type, like rabbitmq or nats";
        field.wrong(format!("service '{name}' is at {scheme}://; {rule}"), report);
    } else if service.username.is_some() || service.secret.is_some() {
        let rule = "which only messages use; a call signs in with headers";
        field.wrong(format!("service '{name}' has a username or a secret, {rule}"), report);
    }
}

fn read_method(field: &Field<'_>, report: &mut Report) -> Option<Method> {
    let method = field.one_of(&METHODS, report)?;
    Some(Method::from_bytes(method.as_bytes()).expect("the listed methods are valid"))
}

pub(super) fn read_template(
    field: &Field<'_>,
    text: &str,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Option<Template> {
    let template = field.checked(Template::parse(text), report)?;
    scope.check_template(&template, field, report);
    Some(template)
}

fn read_query(fields: &Fields<'_>, scope: &Scope<'_>, report: &mut Report) -> Vec<(String, Template)> {
    let read = |name: &str, field: &Field<'_>, report: &mut Report| {
        let text = field.scalar(report)?;
        let template = read_template(field, &text, scope, report)?;
        Some((url::encode(name), template))
    };
    read_pairs(fields, "query", report, read)
}

fn read_headers(
    fields: &Fields<'_>,
    service: Option<&Service>,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Vec<(HeaderName, HeaderTemplate)> {
    let own = read_pairs(fields, "headers", report, |name, field, report| {
        let header = read_header(name, field, report)?;
        if let HeaderTemplate::Rendered(template) = &header.1 {
            scope.check_template(template, field, report);
        }
        Some(header)
    });
    let inherited = service.into_iter().flat_map(|service| &service.headers);
    let kept = inherited.filter(|(name, _)| own.iter().all(|(own, _)| own != name));
    let kept: Vec<_> =
        kept.map(|(name, value)| (name.clone(), HeaderTemplate::Fixed(value.clone()))).collect();
    kept.into_iter().chain(own).collect()
}

fn read_header(name: &str, field: &Field<'_>, report: &mut Report) -> Option<(HeaderName, HeaderTemplate)> {
    let header = HeaderName::from_bytes(name.as_bytes()).ok();
    let Some(header) = header else {
        field.wrong(format!("{} is not the name of a header", quote(name)), report);
        return None;
    };
    if OWN_HEADERS.contains(&header.as_str()) {
        field.wrong(format!("'{header}' is set by Sortie itself"), report);
        return None;
    }
    let text = field.scalar(report)?;
    let template = field.checked(Template::parse(&text), report)?;
    let Some(literal) = template.as_literal() else {
        return Some((header, HeaderTemplate::Rendered(template)));
    };
    let value = HeaderValue::from_bytes(literal.as_bytes())
        .map_err(|_| "the value has characters that a header must not have");
    Some((header, HeaderTemplate::Fixed(field.checked(value, report)?)))
}

/// The literal headers of a service.
pub(super) fn read_fixed_headers(fields: &Fields<'_>, report: &mut Report) -> Vec<(HeaderName, HeaderValue)> {
    read_pairs(fields, "headers", report, |name, field, report| match read_header(name, field, report)? {
        (name, HeaderTemplate::Fixed(value)) => Some((name, value)),
        (_, HeaderTemplate::Rendered(_)) => {
            field.wrong("the headers of a service are fixed; put expressions into the call", report);
            None
        }
    })
}

pub(super) fn read_pairs<T>(
    fields: &Fields<'_>,
    name: &str,
    report: &mut Report,
    mut read: impl FnMut(&str, &Field<'_>, &mut Report) -> Option<T>,
) -> Vec<T> {
    let Some(field) = fields.get(name) else { return Vec::new() };
    let Some(pairs) = Fields::read_any(&field, report) else { return Vec::new() };
    if pairs.iter().count() > PAIRS_MAX {
        field.wrong(format!("at most {PAIRS_MAX} are allowed"), report);
        return Vec::new();
    }
    pairs.iter().filter_map(|(name, _, field)| read(name, &field, report)).collect()
}

pub(super) fn read_body(
    field: &Field<'_>,
    method: Option<&Method>,
    scope: &Scope<'_>,
    report: &mut Report,
) -> Body {
    if let Some(method @ (&Method::GET | &Method::HEAD)) = method {
        field.wrong(format!("a {method} call has no body"), report);
    }
    Body::read(field.node, &field.path, &mut |path, node, expression| match expression {
        Ok(expression) => {
            scope.problems(expression).into_iter().for_each(|message| report.add_at(node.at, path, message));
        }
        Err(message) => report.add_at(node.at, path, message),
    })
}
