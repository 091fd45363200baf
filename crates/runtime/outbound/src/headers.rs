//! The headers that every call carries, and those that a caller may not set.

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderMap, HeaderValue};
use sha2::{Digest, Sha256};

pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// By this a service that remembers the highest one it saw can refuse calls of a region that was overtaken.
pub const REGION_EPOCH: HeaderName = HeaderName::from_static("sortie-region-epoch");

pub(crate) const OWN_USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("sortie/", env!("CARGO_PKG_VERSION")));

/// What frames a message on its connection: the client's own business.
const FRAMING: [HeaderName; 10] = [
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    CONNECTION,
    TE,
    TRAILER,
    UPGRADE,
    EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// A trace and a span in it, as the W3C `traceparent` header has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    trace_id: u128,
    span_id: u64,
    flags: u8,
}

/// A key that cannot be a header's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("idempotency key {0:?} must be 1 to 255 visible ASCII characters")]
pub struct InvalidKey(String);

/// The headers of a call: the caller's own without those that frame the message, then the key and the trace, which a
/// caller cannot replace, and our `User-Agent`, which it can. `span_seed` tells the calls of one trace apart;
/// the idempotency key and the attempt's number do.
pub fn call_headers(
    own: HeaderMap,
    idempotency_key: &str,
    trace: TraceParent,
    span_seed: &str,
) -> Result<HeaderMap, InvalidKey> {
    let visible = idempotency_key.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    if idempotency_key.trim().is_empty() || idempotency_key.len() > 255 || !visible {
        return Err(InvalidKey(idempotency_key.chars().take(80).collect()));
    }
    let key = HeaderValue::try_from(idempotency_key).expect("visible ASCII is a header value");
    let trace =
        HeaderValue::try_from(trace.child(span_seed).to_string()).expect("hexadecimal is a header value");
    let mut headers = own;
    remove_framing(&mut headers);
    headers.insert(IDEMPOTENCY_KEY, key);
    headers.insert(TRACEPARENT, trace);
    headers.entry(USER_AGENT).or_insert(OWN_USER_AGENT);
    Ok(headers)
}

/// Says which epoch of its region a call is made in; nothing without regions.
pub(crate) fn mark_region(headers: &mut HeaderMap, epoch: u64) {
    if epoch > 0 {
        headers.insert(REGION_EPOCH, HeaderValue::from(epoch));
    }
}

/// Whether a header frames the message.
pub(crate) fn is_framing(name: &HeaderName) -> bool {
    FRAMING.contains(name)
}

pub(crate) fn remove_framing(headers: &mut HeaderMap) {
    // Hardly any call has one: looking at the few that it has is cheaper than looking for each.
    if headers.keys().any(|name| FRAMING.contains(name)) {
        for name in &FRAMING {
            headers.remove(name);
        }
    }
}

impl TraceParent {
    /// Reads a `traceparent` header; `None` when it is malformed, and the trace then starts again.
    pub fn parse(text: &str) -> Option<TraceParent> {
        let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let mut fields = text.split('-');
        let mut field = |length: usize| {
            fields.next().filter(|field| field.len() == length && field.bytes().all(lower_hex))
        };
        let version = u8::from_str_radix(field(2)?, 16).ok()?;
        let trace_id = u128::from_str_radix(field(32)?, 16).ok()?;
        let span_id = u64::from_str_radix(field(16)?, 16).ok()?;
        let flags = u8::from_str_radix(field(2)?, 16).ok()?;
        let known = version == 0 && fields.next().is_none();
        let later = version != 0 && version != 0xff;
        ((known || later) && trace_id != 0 && span_id != 0).then_some(TraceParent {
            trace_id,
            span_id,
            flags,
        })
    }

    /// The start of a trace of our own; the same seed, the same trace.
    pub fn root(seed: &str) -> TraceParent {
        let digest = Sha256::digest(seed.as_bytes());
        let trace_id = u128::from_be_bytes(digest[..16].try_into().expect("16 of 32 bytes"));
        let span_id = u64::from_be_bytes(digest[16..24].try_into().expect("8 of 32 bytes"));
        TraceParent { trace_id: trace_id.max(1), span_id: span_id.max(1), flags: 1 }
    }

    /// A span below this one; the same trace and seed, the same span, so that a repeated call is recognised.
    #[must_use]
    pub fn child(self, seed: &str) -> TraceParent {
        let mut hash = Sha256::new();
        hash.update(self.trace_id.to_be_bytes());
        hash.update(seed.as_bytes());
        let span_id = u64::from_be_bytes(hash.finalize()[..8].try_into().expect("8 of 32 bytes"));
        TraceParent { span_id: span_id.max(1), ..self }
    }
}

impl std::fmt::Display for TraceParent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags & 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_call_says_the_epoch_of_its_region_and_none_where_there_is_none() {
        let said = |epoch| {
            let mut headers = HeaderMap::new();
            mark_region(&mut headers, epoch);
            headers.get(REGION_EPOCH).map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!((said(3), said(0)), (Some("3".to_owned()), None));
    }

    #[test]
    fn a_caller_cannot_frame_the_message_nor_replace_the_key() {
        let mut own = HeaderMap::new();
        for name in &FRAMING {
            own.append(name, HeaderValue::from_static("evil"));
        }
        own.append(CONTENT_LENGTH, HeaderValue::from_static("evil too"));
        own.append("idempotency-key", HeaderValue::from_static("evil"));
        own.append("traceparent", HeaderValue::from_static("evil"));
        own.append("x-own", HeaderValue::from_static("kept"));
        let trace = TraceParent::parse(PARENT).unwrap();
        let headers = call_headers(own, "run/step/do", trace, "run/step/do#1").unwrap();
        let mut lines: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        let child = trace.child("run/step/do#1");
        let expected = [
            "idempotency-key: run/step/do".to_owned(),
            format!("traceparent: {child}"),
            format!("user-agent: sortie/{}", env!("CARGO_PKG_VERSION")),
            "x-own: kept".to_owned(),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_caller_may_name_its_own_user_agent() {
        let own = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static("mine/1"))]);
        let headers = call_headers(own, "k", TraceParent::root("r"), "k").unwrap();
        assert_eq!(headers[USER_AGENT], "mine/1");
    }

    #[test]
    fn keys_that_cannot_be_a_header_value_are_refused() {
        for key in ["", " ", "a\r\nx: y", "a\0", "schl\u{fc}ssel", &"x".repeat(256)] {
            assert!(call_headers(HeaderMap::new(), key, TraceParent::root("r"), "s").is_err(), "{key:?}");
        }
    }

    #[test]
    fn a_child_stays_in_its_trace_and_is_the_same_each_time() {
        let parent = TraceParent::parse(PARENT).unwrap();
        assert_eq!(parent.to_string(), PARENT);
        let child = parent.child("run/a/do#1");
        assert!(child.to_string().starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
        assert_eq!(child, parent.child("run/a/do#1"));
        assert_ne!(child, parent.child("run/a/do#2"));
        assert_ne!(child, parent);
        assert_eq!(TraceParent::root("run-1"), TraceParent::root("run-1"));
    }

    #[test]
    fn malformed_traces_are_dropped() {
        let zero_trace = format!("00-{:032}-00f067aa0ba902b7-01", 0);
        let zero_span = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{:016}-01", 0);
        let upper = PARENT.to_uppercase();
        let longer = format!("{PARENT}-x");
        let forbidden = PARENT.replacen("00", "ff", 1);
        let signed = PARENT.replacen("4b", "+b", 1);
        for text in ["", "00", &zero_trace, &zero_span, &upper, &longer, &forbidden, &signed] {
            assert_eq!(TraceParent::parse(text), None, "{text}");
        }
        let later = format!("{}-more", PARENT.replacen("00", "cc", 1));
        assert!(TraceParent::parse(&later).is_some(), "a later version may have more fields");
    }
}
