//! A request as a service understands it: what to do to what, and under which key.

use bytes::Bytes;
use hyper::Method;
use hyper::http::request::Parts;

use crate::answer::Answer;
use crate::check::{Invalid, hash64};
use crate::service::Service;

const ID_BYTES_MAX: usize = 256;
const KEY_BYTES_MAX: usize = 256;

/// One request to a service.
#[derive(Debug)]
pub(crate) struct Call {
    pub verb: Verb,
    pub target: Target,
    /// The client's `Idempotency-Key`.
    pub key: Option<String>,
    /// Distinguishes a repeated request from another one under the same key.
    pub fingerprint: u64,
    pub body: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get(View),
    Put,
    Patch,
    /// A PATCH that takes back an earlier one.
    Revert,
    Delete,
}

/// Which side of a thing a GET shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    Whole,
    Owner,
    Status,
}

/// What a request is about. A claim is the part of a thing that one run holds: the hold of a delivery
/// on a package, or one change of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub id: String,
    pub claim: Option<String>,
}

impl Target {
    /// The name under which the book keeps it; no id holds the separator.
    pub fn name(&self) -> String {
        match &self.claim {
            None => self.id.clone(),
            Some(claim) => format!("{}\u{1f}{claim}", self.id),
        }
    }
}

impl Call {
    /// Reads what `parts` and `body` ask of `service`, or says what is wrong with them.
    pub fn parse(service: Service, parts: &Parts, body: Bytes) -> Result<Call, Answer> {
        let (id, view) = route(service, parts.uri.path())?;
        let query = parts.uri.query().unwrap_or("");
        let (verb, claim) = verb_and_claim(service, &parts.method, view, query)?;
        let key = key(parts)?;
        let fingerprint = match verb {
            Verb::Get(_) => 0,
            _ => hash64(&[parts.method.as_str().as_bytes(), target_bytes(parts), &body]),
        };
        Ok(Call { verb, target: Target { id, claim }, key, fingerprint, body })
    }

    /// Whether this takes back what an earlier request did.
    pub fn is_undo(&self) -> bool {
        matches!(self.verb, Verb::Delete | Verb::Revert)
    }
}

fn route(service: Service, path: &str) -> Result<(String, View), Answer> {
    let unknown = || Answer::not_found("there is nothing at this path");
    let mut segments = path.trim_start_matches('/').split('/');
    let api = segments.next().is_some_and(|segment| segment.eq_ignore_ascii_case("api"));
    let kept = segments.next().is_some_and(|segment| service.keeps(segment));
    if !api || !kept {
        return Err(unknown());
    }
    let id = checked_id(segments.next().ok_or_else(unknown)?, "/path/id")?;
    let view = match segments.next() {
        None | Some("") => View::Whole,
        Some(tail) if service == Service::Delivery && tail.eq_ignore_ascii_case("owner") => View::Owner,
        Some(tail) if service == Service::Delivery && tail.eq_ignore_ascii_case("status") => View::Status,
        Some(_) => return Err(unknown()),
    };
    if segments.next().is_some() {
        return Err(unknown());
    }
    Ok((id, view))
}

fn verb_and_claim(
    service: Service,
    method: &Method,
    view: View,
    query: &str,
) -> Result<(Verb, Option<String>), Answer> {
    let claim = |name: &str| parameter(query, name).map(|id| checked_id(id, "/query/id")).transpose();
    let verb = match (method.as_str(), view) {
        ("GET" | "HEAD", view) => Verb::Get(view),
        (_, View::Owner | View::Status) => return Err(Answer::method_not_allowed("GET")),
        ("PUT", View::Whole) => Verb::Put,
        ("DELETE", View::Whole) => Verb::Delete,
        ("PATCH", View::Whole) if service.takes_patches() => Verb::Patch,
        (_, View::Whole) if service.takes_patches() => {
            return Err(Answer::method_not_allowed("GET, PUT, PATCH, DELETE"));
        }
        (_, View::Whole) => return Err(Answer::method_not_allowed("GET, PUT, DELETE")),
    };
    match (service, verb) {
        (Service::Package, _) => Ok((verb, claim("delivery")?)),
        (Service::Delivery, Verb::Patch) => match claim("undo")? {
            Some(change) => Ok((Verb::Revert, Some(change))),
            None => Ok((Verb::Patch, claim("change")?)),
        },
        _ => Ok((verb, None)),
    }
}

fn key(parts: &Parts) -> Result<Option<String>, Answer> {
    let Some(key) = parts.headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= KEY_BYTES_MAX => Ok(Some(key.to_owned())),
        _ => Err(Answer::problem(
            400,
            "invalid_key",
            "an Idempotency-Key is 1 to 256 visible ASCII characters",
        )),
    }
}

fn target_bytes(parts: &Parts) -> &[u8] {
    parts.uri.path_and_query().map_or(b"/", |target| target.as_str().as_bytes())
}

/// The raw value of a query parameter.
pub(crate) fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(found, _)| *found == name).map(|(_, value)| value)
}

fn checked_id(encoded: &str, place: &str) -> Result<String, Invalid> {
    let id = percent_decoded(encoded)
        .filter(|id| !id.is_empty() && id.len() <= ID_BYTES_MAX && !id.chars().any(char::is_control));
    id.ok_or_else(|| Invalid {
        code: "invalid_id",
        pointer: place.to_owned(),
        detail: format!("an id is 1 to {ID_BYTES_MAX} bytes of UTF-8 without control characters"),
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        decoded.push((high * 16 + low) as u8);
    }
    String::from_utf8(decoded).ok()
}

/// Text as one segment of a path.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@,".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_survive_a_path() {
        for id in ["d-1", "a b/ü%?&", "0,37.4,-78.6"] {
            assert_eq!(percent_decoded(&percent_encoded(id)).as_deref(), Some(id));
        }
        for bad in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(percent_decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn fixed_segments_match_in_any_case_and_ids_as_written() {
        let found = |path| route(Service::Drone, path).map(|(id, _)| id).ok();
        assert_eq!(found("/api/DroneDeliveries/D-1").as_deref(), Some("D-1"));
        assert_eq!(found("/API/dronedeliveries/d-1").as_deref(), Some("d-1"));
        assert_eq!(found("/api/deliveries/d-1"), None);
        assert_eq!(found("/api/dronedeliveries"), None);
        assert_eq!(found("/api/dronedeliveries/d-1/owner"), None);
    }
}
