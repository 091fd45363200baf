//! Sets one member of a JSON object in its text: everything else stays byte by byte as it was sent.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use types::RunId;

/// The body with the member set to an id, if it is an object and the member has a name; else as it is.
pub(crate) fn with_member(body: &Bytes, name: Option<&str>, id: &RunId) -> Bytes {
    let Some(name) = name else { return body.clone() };
    let Some(members) = std::str::from_utf8(body).ok().and_then(|text| Members::find(text, name)) else {
        return body.clone();
    };
    let value = format!("\"{id}\"");
    let splice = |before: &[u8], parts: &[&[u8]], after: &[u8]| {
        let bytes = before.len() + parts.iter().map(|part| part.len()).sum::<usize>() + after.len();
        let mut whole = Vec::with_capacity(bytes);
        whole.extend_from_slice(before);
        parts.iter().for_each(|part| whole.extend_from_slice(part));
        whole.extend_from_slice(after);
        Bytes::from(whole)
    };
    match members.value {
        Some(present) if present == value => body.clone(),
        Some(present) => {
            // The reader's slice is a part of the body, so their addresses say where it is.
            let start = present.as_ptr() as usize - body.as_ptr() as usize;
            splice(&body[..start], &[value.as_bytes()], &body[start + present.len()..])
        }
        None => {
            let end = body.iter().rposition(|byte| *byte == b'}').expect("an object ends with a brace");
            let name = serde_json::to_string(name).expect("a text can always be encoded");
            let comma: &[u8] = if members.is_empty { b"" } else { b"," };
            splice(&body[..end], &[comma, name.as_bytes(), b":", value.as_bytes()], &body[end..])
        }
    }
}

/// What is known of an object after one look at its members.
struct Members<'a> {
    /// The text of the member that was looked for; the last of equal names counts.
    value: Option<&'a str>,
    is_empty: bool,
}

impl<'a> Members<'a> {
    /// None if the text is not an object.
    fn find(text: &'a str, name: &str) -> Option<Members<'a>> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let members = reader.deserialize_map(MemberSearch(name)).ok()?;
        reader.end().ok()?;
        Some(members)
    }
}

struct MemberSearch<'n>(&'n str);

impl<'de> Visitor<'de> for MemberSearch<'_> {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Members { value: None, is_empty: true };
        while let Some(MemberName(name)) = map.next_key()? {
            members.is_empty = false;
            if name == self.0 {
                members.value = Some(map.next_value::<&RawValue>()?.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(members)
    }
}

/// A name, borrowed unless it is written with escapes.
#[derive(serde::Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn set(body: &'static str) -> String {
        let id = RunId::new("r-1").unwrap();
        let set = with_member(&Bytes::from_static(body.as_bytes()), Some("id"), &id);
        String::from_utf8(set.to_vec()).unwrap()
    }

    #[test]
    fn a_missing_member_is_added_at_the_end() {
        assert_eq!(set("{}"), r#"{"id":"r-1"}"#);
        assert_eq!(set(" { } "), r#" { "id":"r-1"} "#);
        assert_eq!(set(r#"{"b":1,"a":2}"#), r#"{"b":1,"a":2,"id":"r-1"}"#);
    }

    #[test]
    fn a_member_that_differs_is_replaced_and_everything_else_stays_as_it_was_sent() {
        assert_eq!(
            set("{\"n\": 12345678901234567890.10,\n \"id\" : null, \"z\":\"\\u00e9\"}"),
            "{\"n\": 12345678901234567890.10,\n \"id\" : \"r-1\", \"z\":\"\\u00e9\"}"
        );
        assert_eq!(set(r#"{"id":[{"id":1}],"i\u0064":2}"#), r#"{"id":[{"id":1}],"i\u0064":"r-1"}"#);
        assert_eq!(set(r#"{"a":{"id":"x"}}"#), r#"{"a":{"id":"x"},"id":"r-1"}"#);
    }

    #[test]
    fn what_needs_no_change_is_not_copied() {
        let id = RunId::new("r-1").unwrap();
        for body in [r#"{ "id": "r-1" }"#, "[1]", "\"text\"", "{", "{} {}"] {
            let body = Bytes::from_static(body.as_bytes());
            let set = with_member(&body, Some("id"), &id);
            assert_eq!((set.as_ptr(), set.len()), (body.as_ptr(), body.len()), "{body:?}");
        }
        let body = Bytes::from_static(b"{}");
        assert_eq!(with_member(&body, None, &id), body);
    }
}
