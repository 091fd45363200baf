//! JSON as bytes: its depth, a tree of all of it, and a document that is parsed only where it is looked into.

mod read;
mod tree;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use self::tree::{ArrayItems, Fields, FieldsIter, ItemsIter, NodeRef, Shape, Tree};
use crate::limits::JSON_DEPTH_MAX;

/// Why bytes are not JSON that Sortie takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJson {
    #[error("not valid JSON: {0}")]
    Malformed(String),
    #[error("nested deeper than {JSON_DEPTH_MAX} levels")]
    TooDeep,
}

/// The text of one valid JSON value, at most [`JSON_DEPTH_MAX`] levels deep.
pub fn check(bytes: &[u8]) -> Result<&str, InvalidJson> {
    check_depth(bytes)?;
    let malformed = |error: &dyn fmt::Display| InvalidJson::Malformed(error.to_string());
    let text = std::str::from_utf8(bytes).map_err(|error| malformed(&error))?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| malformed(&error))?;
    // What is only passed over is not decoded: half a character would be found when it is too late to refuse it.
    if has_half_character(text) {
        return Err(malformed(&"an escape like \\ud800 is half a character, and its other half is missing"));
    }
    Ok(text.trim_matches([' ', '\t', '\r', '\n']))
}

/// Whether one of the escapes of valid JSON is a surrogate without its partner.
fn has_half_character(text: &str) -> bool {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix('u')?.get(..4)?, 16).ok();
    let mut rest = text;
    while let Some((_, escape)) = rest.split_once('\\') {
        match unit(escape) {
            Some(0xdc00..=0xdfff) => return true,
            Some(0xd800..=0xdbff) => {
                let partner = escape[5..].strip_prefix('\\').and_then(unit);
                if !matches!(partner, Some(0xdc00..=0xdfff)) {
                    return true;
                }
                rest = &escape[11..];
            }
            // One character at least: an escaped backslash begins nothing.
            _ => rest = &escape[1..],
        }
    }
    false
}

/// Refuses nesting beyond [`JSON_DEPTH_MAX`] without parsing: one look at each byte.
pub fn check_depth(bytes: &[u8]) -> Result<(), InvalidJson> {
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    for byte in bytes {
        if in_text {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > JSON_DEPTH_MAX {
            return Err(InvalidJson::TooDeep);
        }
    }
    Ok(())
}

/// One step of a plain path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    Field(Box<str>),
    Item(i64),
}

/// JSON text whose members are found when they are first asked for, one level at a time.
///
/// A lookup scans only the levels on its way, and what it finds is the text as it was sent:
/// numbers keep their digits, objects their order.
pub(crate) struct JsonDocument<'a> {
    text: &'a str,
    members: OnceCell<Members<'a>>,
}

enum Members<'a> {
    Object(Vec<(Cow<'a, str>, JsonDocument<'a>)>),
    Array(Vec<JsonDocument<'a>>),
    None,
}

impl<'a> JsonDocument<'a> {
    /// A document of valid JSON `text`.
    pub(crate) fn new(text: &'a str) -> JsonDocument<'a> {
        JsonDocument { text, members: OnceCell::new() }
    }

    /// The text at `path`, `null` where nothing is; an error where a scalar is looked into.
    pub(crate) fn find(&self, path: &[Segment]) -> Result<&'a str, String> {
        let mut here = self;
        for segment in path {
            let next = match (here.members()?, segment) {
                // The last of equal names counts, as in every JSON reader we know.
                (Members::Object(fields), Segment::Field(name)) => {
                    fields.iter().rev().find(|(field, _)| *field == **name).map(|(_, value)| value)
                }
                (Members::Array(items), Segment::Item(index)) => {
                    item_at(*index, items.len()).and_then(|index| items.get(index))
                }
                (Members::None, _) if here.text == "null" => None,
                (_, segment) => return Err(cannot_look(segment, here.text)),
            };
            match next {
                Some(next) => here = next,
                None => return Ok("null"),
            }
        }
        Ok(here.text)
    }

    fn members(&self) -> Result<&Members<'a>, String> {
        if let Some(members) = self.members.get() {
            return Ok(members);
        }
        let members = match self.text.as_bytes().first() {
            Some(b'{' | b'[') => serde_json::from_str(self.text).map_err(|error| error.to_string())?,
            _ => Members::None,
        };
        Ok(self.members.get_or_init(|| members))
    }
}

/// The place of an item, which may be counted from the end.
fn item_at(index: i64, items: usize) -> Option<usize> {
    let from_end = items.checked_sub(index.unsigned_abs() as usize);
    if index < 0 { from_end } else { usize::try_from(index).ok() }
}

/// Says that a segment of a path leads into a value that has no such parts.
fn cannot_look(segment: &Segment, text: &str) -> String {
    match segment {
        Segment::Field(name) => format!("cannot look up '{name}' in {}", kind(text)),
        Segment::Item(index) => format!("cannot take item {index} of {}", kind(text)),
    }
}

/// What a JSON text is, for messages.
pub(crate) fn kind(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "text",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut fields = Vec::with_capacity(8);
        while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
            fields.push((name, JsonDocument::new(value.get())));
        }
        Ok(Members::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Members<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<&'de RawValue>()? {
            items.push(JsonDocument::new(item.get()));
        }
        Ok(Members::Array(items))
    }
}

/// A field's name, borrowed unless it is written with escapes.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

/// The text of a JSON string literal, borrowed unless it has escapes; `None` for any other value.
pub(crate) fn text_of(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(json).ok().map(Cow::Owned)
}

/// Appends `text` as a JSON string literal.
pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing text to memory does not fail");
}

#[cfg(test)]
pub(crate) mod tests;
