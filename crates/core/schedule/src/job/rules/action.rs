//! The rules of actions: what each type needs, and how large a request may be.

mod message;

use serde_json::Value;
use types::WorkflowName;

use super::{Members, duration, text};
use crate::limits::Limits;
use crate::problem::{Report, below};
use crate::spelling::{ActionType, AuthenticationType, RetryType};

/// Headers that the sender of a request computes itself; a second opinion would garble the request.
const HEADERS_NOT_TO_SET: [&str; 2] = ["content-length", "transfer-encoding"];

pub(super) fn check(properties: &Members, limits: &Limits, report: &mut Report) {
    let Some(Value::Object(action)) = properties.get("action") else { return };
    let path = "properties.action";
    check_call(action, path, limits, report);
    if let Some(Value::Object(error_action)) = action.get("errorAction") {
        check_call(error_action, &below(path, "errorAction"), limits, report);
    }
}

fn check_call(call: &Members, path: &str, limits: &Limits, report: &mut Report) {
    if let Some(kind) = text(call, "type").and_then(ActionType::read) {
        check_target(call, kind, path, report);
    }
    if let Some(Value::Object(request)) = call.get("request") {
        check_request(request, &below(path, "request"), limits, report);
        let secure = text(call, "type").and_then(ActionType::read) == Some(ActionType::Https);
        if secure && text(request, "uri").is_some_and(|uri| scheme(uri) == Some("http")) {
            report.add(&below(path, "type"), "Https does not fit a uri that begins with http://");
        }
    }
    message::check(call, path, limits, report);
    if let Some(Value::Object(workflow)) = call.get("workflow")
        && let Some(Err(error)) = text(workflow, "name").map(WorkflowName::new)
    {
        report.add(&below(path, "workflow.name"), error.to_string());
    }
    if let Some(Value::Object(policy)) = call.get("retryPolicy") {
        check_retry(policy, &below(path, "retryPolicy"), limits, report);
    }
}

/// The target of its type is there, and no other.
fn check_target(call: &Members, kind: ActionType, path: &str, report: &mut Report) {
    for other in ActionType::SPELLINGS.iter().filter_map(|text| ActionType::read(text)) {
        let name = other.target();
        let path = below(path, name);
        // Http and Https share their target, and one report is enough.
        if name != kind.target() && call.contains_key(name) && other != ActionType::Https {
            report.add(&path, format!("does not belong to an action of type {kind}"));
        }
    }
    let path = below(path, kind.target());
    if !call.contains_key(kind.target()) && !report.mentions(&path) {
        report.add(&path, format!("required by an action of type {kind}"));
    }
}

fn check_request(request: &Members, path: &str, limits: &Limits, report: &mut Report) {
    if let Some(uri) = text(request, "uri")
        && let Err(message) = check_uri(uri, limits.uri_chars_max)
    {
        report.add(&below(path, "uri"), message);
    }
    if text(request, "method").is_some_and(|method| !is_token(method)) {
        report.add(&below(path, "method"), "is not an HTTP method");
    }
    if let Some(Value::Object(headers)) = request.get("headers") {
        check_headers(headers, &below(path, "headers"), limits, report);
    }
    let body_chars = text(request, "body").map_or(0, |body| body.chars().count());
    if body_chars > limits.body_chars_max {
        let message = format!("{body_chars} characters are more than {}", limits.body_chars_max);
        report.add(&below(path, "body"), message);
    }
    if let Some(Value::Object(authentication)) = request.get("authentication") {
        check_authentication(authentication, &below(path, "authentication"), report);
    }
}

fn scheme(uri: &str) -> Option<&'static str> {
    let starts =
        |prefix: &str| uri.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    if starts("http://") {
        Some("http")
    } else if starts("https://") {
        Some("https")
    } else {
        None
    }
}

/// The message never quotes the address: people put keys into its query.
fn check_uri(uri: &str, chars_max: usize) -> Result<(), String> {
    let chars = uri.chars().count();
    if chars > chars_max {
        return Err(format!("{chars} characters are more than {chars_max}"));
    }
    let scheme = scheme(uri).ok_or("must begin with http:// or https://")?;
    if !uri.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`')) {
        return Err("has a character that must be percent-encoded".to_owned());
    }
    let rest = &uri[scheme.len() + 3..];
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("must not carry a user; use authentication of type Basic".to_owned());
    }
    // An IPv6 address has its colons in brackets.
    let after_brackets = authority.rfind(']').map_or(0, |end| end + 1);
    let (host, port) = match authority[after_brackets..].find(':') {
        Some(colon) => authority.split_at(after_brackets + colon),
        None => (authority, ""),
    };
    if host.is_empty() || (host.starts_with('[') != host.ends_with(']')) {
        return Err("has no host".to_owned());
    }
    if !port.is_empty() && port[1..].parse::<u16>().is_err() {
        return Err("has a port that is not 0-65535".to_owned());
    }
    Ok(())
}

fn check_headers(headers: &Members, path: &str, limits: &Limits, report: &mut Report) {
    if headers.len() > limits.headers_max {
        report.add(path, format!("{} headers are more than {}", headers.len(), limits.headers_max));
    }
    let mut chars = 0;
    let mut names: Vec<String> = Vec::with_capacity(headers.len());
    for (name, value) in headers {
        let value = value.as_str().unwrap_or_default();
        chars += name.chars().count() + value.chars().count();
        let path = below(path, &name.chars().take(80).collect::<String>());
        let lower = name.to_ascii_lowercase();
        if !is_token(name) {
            report.add(&path, "is not the name of a header");
        } else if HEADERS_NOT_TO_SET.contains(&lower.as_str()) {
            report.add(&path, "is set by the sender of the request");
        } else if names.contains(&lower) {
            report.add(&path, "is written twice, in two casings");
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            report.add(&path, "must not contain control characters");
        }
        names.push(lower);
    }
    if chars > limits.header_chars_max {
        let message =
            format!("{chars} characters of names and values are more than {}", limits.header_chars_max);
        report.add(path, message);
    }
}

/// The token of RFC 9110: what methods and names of headers are made of.
fn is_token(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.len() <= 256 && text.bytes().all(allowed)
}

fn check_authentication(members: &Members, path: &str, report: &mut Report) {
    let Some(kind) = text(members, "type").and_then(AuthenticationType::read) else { return };
    let (needed, may_be_empty): (&[&str], &str) = match kind {
        AuthenticationType::Basic => (&["username", "password"], ""),
        AuthenticationType::ClientCertificate => (&["pfx", "password"], "password"),
        AuthenticationType::ActiveDirectoryOAuth => (&["tenant", "audience", "clientId", "secret"], ""),
        AuthenticationType::NotSpecified => (&[], ""),
    };
    for name in needed {
        let path = below(path, name);
        match text(members, name) {
            None if !report.mentions(&path) => {
                report.add(&path, format!("required by authentication of type {kind}"));
            }
            Some("") if *name != may_be_empty => report.add(&path, "must not be empty"),
            _ => {}
        }
    }
    for name in members.keys() {
        let known = name == "type" || name.starts_with("certificate") || needed.contains(&name.as_str());
        if !known {
            report.add(&below(path, name), format!("does not belong to authentication of type {kind}"));
        }
    }
}

fn check_retry(policy: &Members, path: &str, limits: &Limits, report: &mut Report) {
    let kind = text(policy, "retryType").and_then(RetryType::read).unwrap_or(RetryType::Fixed);
    if kind != RetryType::Exponential && policy.contains_key("maxRetryInterval") {
        report.add(&below(path, "maxRetryInterval"), "goes with retryType exponential");
    }
    // Clients send along values that a policy without retries has no use for.
    if kind == RetryType::None {
        return;
    }
    let interval = duration(policy, "retryInterval");
    let longest = duration(policy, "maxRetryInterval");
    for (name, duration) in [("retryInterval", &interval), ("maxRetryInterval", &longest)] {
        let Some(duration) = duration else { continue };
        let (min, max) = (limits.retry_interval_min, limits.retry_interval_max);
        if duration.span() < min || duration.span() > max {
            report.add(&below(path, name), format!("{duration} is not between {min} and {max}"));
        }
    }
    if let (Some(interval), Some(longest)) = (&interval, &longest)
        && longest.span() < interval.span()
    {
        let message = format!("{longest} is shorter than the retryInterval {interval}");
        report.add(&below(path, "maxRetryInterval"), message);
    }
    let count = policy.get("retryCount").and_then(Value::as_u64).unwrap_or(0);
    if count > u64::from(limits.retry_count_max) {
        let message = format!("{count} retries are more than {}", limits.retry_count_max);
        report.add(&below(path, "retryCount"), message);
    }
}
