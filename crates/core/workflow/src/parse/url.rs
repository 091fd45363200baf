//! Checks URLs and paths: what is literal in them must be safe, what is not must stay in its place.

use action::BrokerType;
use http::Uri;
use http::uri::Authority;

use crate::template::{Template, TemplatePart};
use types::problem::quote;

/// The URL of a service: scheme, host, optional path. Returned without a slash at the end.
pub(super) fn check_base(text: &str) -> Result<String, String> {
    let rest = check_origin(text)?;
    if rest.contains(['?', '#']) {
        return Err(format!("{} must end with its path; put a query into the call", quote(text)));
    }
    check_literal(rest)?;
    Ok(text.trim_end_matches('/').to_owned())
}

/// The URL of a service of any kind: HTTP, or a broker at one or several hosts.
pub(super) fn check_service(text: &str) -> Result<String, String> {
    if text.starts_with("http://") || text.starts_with("https://") {
        return check_base(text);
    }
    // Not quoted: it may hold a password.
    if text.contains('@') {
        return Err("must not hold a user or password; use username and secret".to_owned());
    }
    let brokers = BrokerType::schemes();
    let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| brokers.contains(scheme)) else {
        let brokers = brokers.join("://, ");
        return Err(format!("{} must begin with http:// or https://, or with {brokers}://", quote(text)));
    };
    if text.len() > 2048
        || !text.bytes().all(|b| b.is_ascii_graphic())
        || text.contains(['?', '#', '\\', '"'])
    {
        return Err(format!("{} has a character that an address cannot have", quote(text)));
    }
    // Only brokers with one host have a path, which names a virtual host.
    let several = BrokerType::has_several_hosts(scheme);
    let (hosts, path) = match rest.split_once('/') {
        Some((host, path)) if !several => (host, path),
        _ => (rest.trim_end_matches('/'), ""),
    };
    if hosts.contains(',') && !several {
        return Err(format!("{} has several hosts; {scheme} takes one", quote(text)));
    }
    let again = format!("{scheme}://");
    for host in hosts.split(',').map(|host| host.strip_prefix(&again).unwrap_or(host)) {
        if check_origin(&format!("http://{host}")) != Ok("") {
            return Err(format!("{} has no valid host", quote(text)));
        }
    }
    check_literal(path)?;
    Ok(text.trim_end_matches('/').to_owned())
}

/// The URL of an action, split after its host. Expressions may appear only after it.
pub(super) fn split(mut template: Template) -> Result<(String, Template), String> {
    let first = match template.parts.first_mut() {
        Some(TemplatePart::Text(text)) => text,
        _ => return Err("must begin with http:// or https:// and a host, without an expression".to_owned()),
    };
    let rest_length = check_origin(first)?.len();
    let path = first.split_off(first.len() - rest_length);
    let origin = std::mem::replace(first, path);
    let host_ends = template.parts.len() == 1 || !rest_is_empty(&template);
    if !host_ends {
        return Err("an expression may appear only after the host and a '/'".to_owned());
    }
    check_parts(&template)?;
    Ok((origin, template))
}

fn rest_is_empty(template: &Template) -> bool {
    matches!(template.parts.first(), Some(TemplatePart::Text(text)) if text.is_empty())
}

/// The path of a call.
pub(super) fn check_path(template: &Template) -> Result<(), String> {
    match template.parts.first() {
        Some(TemplatePart::Text(text)) if text.starts_with('/') => {}
        _ => return Err("must start with '/'".to_owned()),
    }
    let literals = template.parts.iter().filter_map(|part| match part {
        TemplatePart::Text(text) => Some(text),
        TemplatePart::Value(_) => None,
    });
    for text in literals {
        if text.contains('?') {
            return Err("has a '?'; use the field 'query'".to_owned());
        }
    }
    check_parts(template)
}

fn check_parts(template: &Template) -> Result<(), String> {
    for part in &template.parts {
        if let TemplatePart::Text(text) = part {
            check_literal(text)?;
        }
    }
    if let Some(literal) = template.as_literal() {
        check_dots(literal)?;
    }
    Ok(())
}

fn check_literal(text: &str) -> Result<(), String> {
    let wrong = |c: &char| !c.is_ascii_graphic() || "\"<>\\^`{|}#".contains(*c);
    if let Some(c) = text.chars().find(wrong) {
        return Err(format!("has {c:?}; write it percent-encoded"));
    }
    // Servers decode before they resolve, so an encoded dot is as good as a dot.
    if text.to_ascii_lowercase().contains("%2e") {
        return Err("has an encoded '.', which some servers resolve as a path of its own".to_owned());
    }
    check_dots(text)
}

fn check_dots(text: &str) -> Result<(), String> {
    let path = text.split('?').next().unwrap_or(text);
    let inner: Vec<&str> = path.split('/').collect();
    match inner.iter().find(|segment| matches!(**segment, "." | "..")) {
        Some(segment) => Err(format!("has a segment '{segment}'")),
        None => Ok(()),
    }
}

/// What follows scheme and host of `text`.
fn check_origin(text: &str) -> Result<&str, String> {
    let scheme = ["http://", "https://"].into_iter().find(|scheme| text.starts_with(scheme));
    let Some(scheme) = scheme else {
        return Err(format!("{} must begin with http:// or https://", quote(text)));
    };
    let rest = &text[scheme.len()..];
    let host_length = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = &rest[..host_length];
    if host.contains('@') {
        return Err("must not hold a user or password; use headers".to_owned());
    }
    let origin = text[..scheme.len() + host_length].parse::<Uri>().ok();
    let authority = origin.as_ref().and_then(Uri::authority);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let valid =
        |authority: &Authority| !authority.host().is_empty() && has_port == authority.port_u16().is_some();
    if !authority.is_some_and(valid) {
        return Err(format!("{} has no valid host", quote(text)));
    }
    Ok(&rest[host_length..])
}

/// A name in a query, percent-encoded.
pub(super) fn encode(name: &str) -> String {
    let mut out = String::new();
    crate::render::percent_encode(name, &mut out);
    out
}
