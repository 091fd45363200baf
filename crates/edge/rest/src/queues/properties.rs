//! A sender's own properties: a header each, or a field of `UserProperties`. Their names have no case, as headers have
//! none, and are kept in lower case.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Number, Value};
use types::Property;

use crate::error::ApiError;
use crate::limits::{MESSAGE_ID_BYTES_MAX, PROPERTIES_BYTES_MAX};

/// Headers that are HTTP's own, or a proxy's, or the API's.
const NOT_OURS: [&str; 46] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "authorization",
    "brokerproperties",
    "cache-control",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-type",
    "cookie",
    "date",
    "dnt",
    "expect",
    "forwarded",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "origin",
    "pragma",
    "range",
    "referer",
    "retry-after",
    "server",
    "set-cookie",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "warning",
    "www-authenticate",
];

const NOT_OURS_BEGIN: [&str; 6] = ["access-control-", "proxy-", "sec-", "x-forwarded-", "x-ms-", "x-real-"];

fn is_http(name: &str) -> bool {
    NOT_OURS.contains(&name) || NOT_OURS_BEGIN.iter().any(|begin| name.starts_with(begin))
}

/// The properties among the headers of a request.
pub(crate) fn from_headers(headers: &HeaderMap) -> Result<BTreeMap<String, Property>, ApiError> {
    let mut properties = BTreeMap::new();
    for (name, value) in headers {
        if is_http(name.as_str()) {
            continue;
        }
        let text = std::str::from_utf8(value.as_bytes())
            .map_err(|_| bad(name.as_str(), "is not text; write what is not ASCII as UTF-8"))?;
        if properties.insert(name.as_str().to_owned(), property(text.trim())).is_some() {
            return Err(bad(name.as_str(), "is given twice"));
        }
    }
    check_size(properties)
}

/// The properties of a message in a batch, or of a filter.
pub(crate) fn from_json(fields: &Map<String, Value>) -> Result<BTreeMap<String, Property>, ApiError> {
    let mut properties = BTreeMap::new();
    for (name, value) in fields {
        let lower = name.to_ascii_lowercase();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !(1..=MESSAGE_ID_BYTES_MAX).contains(&lower.len()) || !lower.bytes().all(allowed) {
            let why = "a name has 1 to 128 letters, digits and -, _ or ., so that it can be a header";
            return Err(bad(name, why));
        }
        if is_http(&lower) {
            return Err(bad(name, "is a header of HTTP's own; choose another name"));
        }
        let value = match value {
            Value::String(text) => Property::Text(text.clone()),
            Value::Number(number) => Property::Number(number.to_string()),
            Value::Bool(flag) => Property::Flag(*flag),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(bad(name, "must be a text, a number, true or false"));
            }
        };
        if properties.insert(lower, value).is_some() {
            return Err(bad(name, "is given twice; names have no case"));
        }
    }
    check_size(properties)
}

/// The properties as headers of an answer. Those of other senders that cannot be a header are skipped.
pub(crate) fn to_headers(properties: &BTreeMap<String, Property>, headers: &mut HeaderMap) {
    for (name, value) in properties {
        let Ok(name) = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()) else { continue };
        if is_http(name.as_str()) {
            continue;
        }
        let text = match value {
            Property::Text(text) => quoted(text),
            Property::Number(number) => number.clone(),
            Property::Flag(flag) => flag.to_string(),
        };
        let Ok(value) = HeaderValue::try_from(text) else { continue };
        if headers.try_insert(name, value).is_err() {
            return;
        }
    }
}

pub(crate) fn to_json(properties: &BTreeMap<String, Property>) -> BTreeMap<String, Value> {
    let json = |value: &Property| match value {
        Property::Text(text) => text.clone().into(),
        Property::Flag(flag) => (*flag).into(),
        Property::Number(number) => {
            serde_json::from_str::<Number>(number).map_or_else(|_| Value::from(number.clone()), Value::Number)
        }
    };
    properties.iter().map(|(name, value)| (name.clone(), json(value))).collect()
}

/// A text of JSON that is ASCII throughout, as a header must be.
pub(crate) fn quoted(text: &str) -> String {
    ascii(&Value::from(text).to_string())
}

/// The same JSON with everything that is not ASCII written as `\uXXXX`; such characters stand only in its texts.
pub(crate) fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if (' '..='~').contains(&char) {
            out.push(char);
            continue;
        }
        for unit in char.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

/// What a header says: quoted text is text, and what looks like a number or a truth is one.
fn property(text: &str) -> Property {
    if text.starts_with('"') && text.ends_with('"') && text.len() >= 2 {
        let read = serde_json::from_str::<String>(text);
        return Property::Text(read.unwrap_or_else(|_| text[1..text.len() - 1].to_owned()));
    }
    match text {
        "true" | "True" => Property::Flag(true),
        "false" | "False" => Property::Flag(false),
        text if serde_json::from_str::<Number>(text).is_ok() => Property::Number(text.to_owned()),
        text => Property::Text(text.to_owned()),
    }
}

fn check_size(properties: BTreeMap<String, Property>) -> Result<BTreeMap<String, Property>, ApiError> {
    let bytes: usize = properties.iter().map(|(name, value)| name.len() + value.to_string().len()).sum();
    if bytes > PROPERTIES_BYTES_MAX {
        let text = format!("the properties have {bytes} bytes, more than {PROPERTIES_BYTES_MAX}");
        return Err(ApiError::BadMessage(text));
    }
    Ok(properties)
}

fn bad(name: &str, why: &str) -> ApiError {
    let name: String = name.chars().take(80).collect();
    ApiError::BadMessage(format!("property {name}: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_that_are_not_of_http_are_properties_and_come_back_as_they_were() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("Content-Type", "text/plain"),
            ("Host", "h"),
            ("X-Forwarded-For", "1.2.3.4"),
            ("Country", "\"NO\""),
            ("amount", "12.50"),
            ("express", "true"),
            ("plain", "some text"),
            ("quotes", r#""say \"hi\" \u00e5""#),
            ("broken", r#""a\q""#),
        ] {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        let properties = from_headers(&headers).unwrap();
        let expected = [
            ("amount", Property::Number("12.50".to_owned())),
            ("broken", Property::from(r"a\q")),
            ("country", Property::from("NO")),
            ("express", Property::Flag(true)),
            ("plain", Property::from("some text")),
            ("quotes", Property::from("say \"hi\" å")),
        ];
        assert_eq!(properties, expected.map(|(name, value)| (name.to_owned(), value)).into());
        let mut back = HeaderMap::new();
        to_headers(&properties, &mut back);
        assert_eq!(from_headers(&back).unwrap(), properties);
        assert_eq!(back["quotes"], r#""say \"hi\" \u00e5""#);
    }

    #[test]
    fn nobody_can_forge_a_header_of_http() {
        for name in ["Content-Length", "transfer-encoding", "Location", "a b", "", "x\r\ny"] {
            let fields = Map::from_iter([(name.to_owned(), json!("1"))]);
            assert!(from_json(&fields).is_err(), "{name:?}");
        }
        let forged = BTreeMap::from([
            ("content-length".to_owned(), Property::from("5")),
            ("a\r\nb".to_owned(), Property::from("5")),
            ("n".to_owned(), Property::Number("1\r\nx: y".to_owned())),
            ("ok".to_owned(), Property::from("line\r\nline \u{1f600}")),
        ]);
        let mut headers = HeaderMap::new();
        to_headers(&forged, &mut headers);
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["ok"], r#""line\r\nline \ud83d\ude00""#);
    }

    #[test]
    fn a_property_is_given_once_and_is_a_plain_value() {
        assert!(from_json(json!({ "a": 1, "A": 2 }).as_object().unwrap()).is_err());
        assert!(from_json(json!({ "a": [1] }).as_object().unwrap()).is_err());
        assert!(from_json(json!({ "a": "x".repeat(40_000) }).as_object().unwrap()).is_err());
        let mut twice = HeaderMap::new();
        twice.append("a", "1".parse().unwrap());
        twice.append("a", "2".parse().unwrap());
        assert!(from_headers(&twice).is_err());
    }
}
