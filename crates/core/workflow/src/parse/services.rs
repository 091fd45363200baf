//! Reads the services: where calls and messages go, and who signs in there.

use types::{ServiceName, Span};

use super::fields::{Field, Fields};
use super::{action, url};
use crate::action::Service;
use crate::limits::SERVICES_MAX;
use types::problem::Report;

const SERVICE_TIMEOUT: Span = Span::from_secs(30);
const SERVICE_CONCURRENCY: u32 = 64;
const SERVICE_CONCURRENCY_MAX: u32 = 100_000;

pub(super) fn read(field: &Field<'_>, report: &mut Report) -> Vec<Service> {
    let Some(entries) = Fields::read_any(field, report) else { return Vec::new() };
    if entries.iter().count() > SERVICES_MAX {
        field.wrong(format!("a workflow has at most {SERVICES_MAX} services"), report);
        return Vec::new();
    }
    entries.iter().filter_map(|(name, _, field)| read_service(name, &field, report)).collect()
}

fn read_service(name: &str, field: &Field<'_>, report: &mut Report) -> Option<Service> {
    let name = field.checked(ServiceName::new(name), report);
    let allowed = ["url", "timeout", "concurrency", "headers", "username", "secret"];
    let fields = Fields::read(field, &allowed, report)?;
    let url = fields.require("url", report).and_then(|field| {
        field.text(report).and_then(|text| field.checked(url::check_service(text), report))
    });
    let timeout = fields.span("timeout", report).unwrap_or(SERVICE_TIMEOUT);
    let concurrency =
        fields.count("concurrency", SERVICE_CONCURRENCY_MAX, report).unwrap_or(SERVICE_CONCURRENCY);
    let headers = action::read_fixed_headers(&fields, report);
    if let (Some(url), Some(field)) = (&url, fields.get("headers"))
        && !url.starts_with("http")
    {
        field.wrong("only http has headers; give a broker a username and a secret", report);
    }
    let username = fields.get("username").and_then(|field| {
        let text = field.text(report)?;
        field.checked(check_username(text), report)
    });
    let secret = fields.get("secret").and_then(|field| {
        let text = field.text(report)?;
        field.checked(check_secret(text), report)
    });
    // A service whose URL is wrong still has its name, so that its calls are not reported too.
    let url = url.unwrap_or_default();
    Some(Service { name: name?, url, timeout, concurrency, username, secret, headers })
}

fn check_username(text: &str) -> Result<String, &'static str> {
    let odd = text.is_empty() || text.len() > 256 || text.chars().any(char::is_control);
    if odd { Err("must be 1 to 256 characters without control characters") } else { Ok(text.to_owned()) }
}

/// The message does not quote the text: it may be the secret itself.
fn check_secret(text: &str) -> Result<String, &'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > 64 || !text.chars().all(allowed) {
        return Err(
            "must be the name of a secret, of letters, digits, '-' and '_'; its value stands in the \
                    environment as SORTIE_SECRET_ and the name in capitals",
        );
    }
    Ok(text.to_owned())
}
