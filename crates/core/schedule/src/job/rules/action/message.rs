//! The rules of message actions: addresses without users in them, and names that stay in their place.

use action::{DestinationType, JobSpelling};
use serde_json::Value;

use super::super::{Members, text};
use super::check_uri;
use crate::limits::Limits;
use crate::problem::{Report, below};
use crate::shapes::secret_members;
use crate::spelling::TransportType;

const USE_MEMBERS: &str = "must not carry a user or password; write username and password beside it";

pub(super) fn check(call: &Members, path: &str, limits: &Limits, report: &mut Report) {
    check_secrets(call, path, report);
    if let Some(Value::Object(queue)) = call.get("queueMessage") {
        let path = below(path, "queueMessage");
        if let Some(Err(message)) = text(queue, "storageAccount").map(|name| check_account(name, limits)) {
            report.add(&below(&path, "storageAccount"), message);
        }
        check_segments(queue, "queueName", &path, report);
    }
    for (target, entity) in [("serviceBusQueueMessage", "queueName"), ("serviceBusTopicMessage", "topicPath")]
    {
        let Some(Value::Object(bus)) = call.get(target) else { continue };
        let path = below(path, target);
        let amqp = text(bus, "transportType").and_then(TransportType::read) == Some(TransportType::Amqp);
        if let Some(Err(message)) = text(bus, "namespace").map(|name| check_namespace(name, amqp, limits)) {
            report.add(&below(&path, "namespace"), message);
        }
        check_segments(bus, entity, &path, report);
    }
    for kind in DestinationType::SPELLED_IN_JOBS {
        let Some(JobSpelling { member, endpoint: Some(endpoint), .. }) = kind.job() else { continue };
        let Some(Value::Object(broker)) = call.get(*member) else { continue };
        let path = below(path, member);
        let address = text(broker, endpoint.member);
        if let Some(Err(message)) = address.map(|address| check_broker(address, endpoint.schemes)) {
            report.add(&below(&path, endpoint.member), message);
        }
        check_login(broker, &path, report);
    }
}

/// The secret of a message must not be empty once it is written. What http requests sign in with has rules of its own.
fn check_secrets(call: &Members, path: &str, report: &mut Report) {
    for (object, names) in secret_members().iter().filter(|(object, _)| !object.starts_with("request.")) {
        let (target, rest) = object.split_once('.').unwrap_or((object, ""));
        let pointer = if rest.is_empty() { String::new() } else { format!("/{rest}") };
        let Some(members) = call.get(target).and_then(|value| value.pointer(&pointer)) else { continue };
        for name in names {
            if members.get(*name) == Some(&Value::from("")) {
                report.add(&format!("{path}.{object}.{name}"), "must not be empty");
            }
        }
    }
}

fn check_login(broker: &Members, path: &str, report: &mut Report) {
    for (one, other) in [("username", "password"), ("password", "username")] {
        let other_path = below(path, other);
        if broker.contains_key(one) && !broker.contains_key(other) && !report.mentions(&other_path) {
            report.add(&other_path, format!("required beside {one}"));
        }
    }
}

/// The name of an account, its host, or, for other servers of the same protocol, a URL.
fn check_account(account: &str, limits: &Limits) -> Result<(), String> {
    if account.contains("://") {
        return check_base(account, limits);
    }
    check_host(account, "the name of a storage account, its host or its URL")
}

fn check_namespace(namespace: &str, amqp: bool, limits: &Limits) -> Result<(), String> {
    match namespace.split_once("://") {
        None => check_host(namespace, "the name of a namespace, its host or its URL"),
        Some(_) if amqp => check_broker(namespace, &["amqp", "amqps"]),
        Some(("amqp" | "amqps", _)) => {
            Err("a URL of amqp goes with transportType amqp; write https://".to_owned())
        }
        Some(_) => check_base(namespace, limits),
    }
}

/// A URL that more is appended to.
fn check_base(url: &str, limits: &Limits) -> Result<(), String> {
    if url.contains('@') {
        return Err("must not carry a user or password; the key or token beside it signs in".to_owned());
    }
    check_uri(url, limits.uri_chars_max)?;
    if url.contains(['?', '#']) {
        return Err("must end with its path".to_owned());
    }
    Ok(())
}

fn check_host(text: &str, what: &str) -> Result<(), String> {
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let fits = !host.is_empty() && host.len() <= 253 && host.chars().all(allowed);
    if !fits || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(format!("is not {what}"));
    }
    Ok(())
}

/// `scheme://host[:port]`, several hosts with commas between; without schemes the hosts alone. The message never
/// quotes the address: people put passwords into it.
fn check_broker(text: &str, schemes: &[&str]) -> Result<(), String> {
    let hosts = match (text.split_once("://"), schemes) {
        (None, []) => text,
        (Some((scheme, rest)), schemes) if schemes.contains(&scheme) => rest,
        (_, []) => return Err("must be host:port, several with commas between".to_owned()),
        _ => return Err(format!("must begin with {}://", schemes.join(":// or "))),
    };
    if text.contains('@') {
        return Err(USE_MEMBERS.to_owned());
    }
    if !text.bytes().all(|b| b.is_ascii_graphic()) || text.len() > 2048 || text.contains(['?', '#', '\\']) {
        return Err("has a character that an address cannot have".to_owned());
    }
    for host in hosts.split(',') {
        let host = match host.split_once("://") {
            Some((scheme, host)) if schemes.contains(&scheme) => host,
            Some(_) => return Err("has hosts of several schemes".to_owned()),
            None => host,
        };
        let host = host.split_once('/').map_or(host, |(host, _)| host);
        let after_brackets = host.rfind(']').map_or(0, |end| end + 1);
        let (name, port) = match host[after_brackets..].find(':') {
            Some(colon) => host.split_at(after_brackets + colon),
            None => (host, ""),
        };
        if name.is_empty() {
            return Err("has no host".to_owned());
        }
        if !port.is_empty() && port[1..].parse::<u16>().is_err() {
            return Err("has a port that is not 0-65535".to_owned());
        }
    }
    Ok(())
}

/// A name that becomes part of a path must not lead elsewhere.
fn check_segments(target: &Members, name: &str, path: &str, report: &mut Report) {
    let odd = |segment: &str| matches!(segment, "" | "." | "..");
    if text(target, name).is_some_and(|text| text.split('/').any(odd)) {
        report.add(&below(path, name), "has a part that is empty, '.' or '..'");
    }
}
