//! Checks of JSON bodies against tables of fields. Values stay raw text: nothing is built that is not kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What is wrong with a request, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Invalid {
    pub code: &'static str,
    /// JSON pointer into the body.
    pub pointer: String,
    pub detail: String,
}

/// One field that a body may have.
pub(crate) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub need: Need,
}

pub(crate) enum Need {
    Required,
    Optional,
    /// Kept as this JSON when it is not given.
    Default(&'static str),
}

pub(crate) enum Kind {
    /// Text that must equal the id in the path; the path is what is kept.
    PathId,
    Text,
    /// Text that is not empty.
    Word,
    Flag,
    /// A number that is not negative.
    Amount,
    Number,
    /// One of these JSON texts, in any case.
    OneOf(&'static [&'static str]),
    /// Free text, or an object with these fields.
    TextOr(&'static [Field]),
    Object(&'static [Field]),
    ListOf(&'static [Field]),
}

/// The fields of a body that were given, as raw JSON in the order of their table.
pub(crate) type Given<'a> = Vec<(&'static str, &'a str)>;

/// A whole thing: required fields must be there, defaults are filled in.
pub(crate) fn whole<'a>(fields: &'static [Field], body: &'a [u8], id: &str) -> Result<Given<'a>, Invalid> {
    object(fields, text(body)?, "", Some(id), Completeness::Whole)
}

/// A part of a thing: whatever is given must be right.
pub(crate) fn part<'a>(fields: &'static [Field], body: &'a [u8], id: &str) -> Result<Given<'a>, Invalid> {
    object(fields, text(body)?, "", Some(id), Completeness::Part)
}

/// The given fields as one JSON object.
pub(crate) fn write_object(id: &str, given: &Given<'_>) -> String {
    let fields_bytes: usize = given.iter().map(|(name, raw)| name.len() + raw.len() + 4).sum();
    let mut out = String::with_capacity(16 + id.len() + fields_bytes);
    out.push_str("{\"id\":");
    push_text(&mut out, id);
    for (name, raw) in given {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        out.push_str(raw);
    }
    out.push('}');
    out
}

/// Appends text as a JSON string.
pub(crate) fn push_text(out: &mut String, text: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// The members of a JSON object, in their order.
pub(crate) fn members(json: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    serde_json::from_str::<Members<'_>>(json).ok().map(|members| members.0)
}

/// 128 bits of FNV-1a: stable forever, because a part of it is stored in ledgers.
pub(crate) fn hash128(parts: &[&[u8]]) -> u128 {
    let mut hash: u128 = 0x6c62272e07bb014262b821756295c58d;
    for part in parts {
        for byte in part.iter().chain(&[0xff]) {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(0x0000000001000000000000000000013b);
        }
    }
    hash
}

/// [`hash128`] folded to 64 bits.
pub(crate) fn hash64(parts: &[&[u8]]) -> u64 {
    let hash = hash128(parts);
    (hash ^ (hash >> 64)) as u64
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Completeness {
    Whole,
    Part,
}

fn text(body: &[u8]) -> Result<&str, Invalid> {
    std::str::from_utf8(body).map_err(|_| invalid("", "the body is not UTF-8".to_owned()))
}

fn object<'a>(
    fields: &'static [Field],
    json: &'a str,
    place: &str,
    id: Option<&str>,
    completeness: Completeness,
) -> Result<Given<'a>, Invalid> {
    let members = serde_json::from_str::<Members<'a>>(json)
        .map_err(|error| invalid(place, format!("a JSON object is needed: {error}")))?;
    let mut given: Given<'a> = Vec::with_capacity(fields.len());
    for (name, _) in &members.0 {
        if !fields.iter().any(|field| field.name == name) {
            let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
            return Err(invalid(
                &below(place, name),
                format!("unknown field; known are {}", known.join(", ")),
            ));
        }
    }
    for field in fields {
        let mut found = members.0.iter().filter(|(name, _)| name == field.name);
        let value = found.next().map(|(_, raw)| *raw).filter(|raw| *raw != "null");
        if found.next().is_some() {
            return Err(invalid(&below(place, field.name), "the field is given twice".to_owned()));
        }
        match (value, &field.need) {
            (Some(raw), _) => {
                value_is(&field.kind, raw, &below(place, field.name), id)?;
                if !matches!(field.kind, Kind::PathId) {
                    given.push((field.name, raw));
                }
            }
            (None, Need::Required) if completeness == Completeness::Whole => {
                return Err(invalid(&below(place, field.name), "the field is required".to_owned()));
            }
            (None, Need::Default(raw)) if completeness == Completeness::Whole => {
                given.push((field.name, raw))
            }
            (None, Need::Required | Need::Optional | Need::Default(_)) => {}
        }
    }
    Ok(given)
}

fn value_is(kind: &Kind, raw: &str, place: &str, id: Option<&str>) -> Result<(), Invalid> {
    let is_text = raw.starts_with('"');
    let wanted = match kind {
        Kind::PathId if is_text => {
            let same = serde_json::from_str::<Text<'_>>(raw).is_ok_and(|text| Some(text.0.as_ref()) == id);
            return if same { Ok(()) } else { Err(mismatch(place)) };
        }
        Kind::PathId | Kind::Text if !is_text => "text",
        Kind::Word if !is_text || raw == "\"\"" => "text that is not empty",
        Kind::Flag if raw != "true" && raw != "false" => "true or false",
        Kind::Amount if !raw.starts_with(|c: char| c.is_ascii_digit()) => "a number that is not negative",
        Kind::Number if !raw.starts_with(|c: char| c.is_ascii_digit() || c == '-') => "a number",
        Kind::OneOf(allowed) if !allowed.iter().any(|text| text.eq_ignore_ascii_case(raw)) => {
            return Err(invalid(place, format!("must be one of {}", allowed.join(", "))));
        }
        Kind::TextOr(fields) if !is_text => {
            return object(fields, raw, place, None, Completeness::Whole).map(drop);
        }
        Kind::Object(fields) => return object(fields, raw, place, None, Completeness::Whole).map(drop),
        Kind::ListOf(fields) => return list(fields, raw, place),
        _ => return Ok(()),
    };
    Err(invalid(place, format!("must be {wanted}")))
}

fn list(fields: &'static [Field], raw: &str, place: &str) -> Result<(), Invalid> {
    let items: Vec<&RawValue> =
        serde_json::from_str(raw).map_err(|_| invalid(place, "must be a list of objects".to_owned()))?;
    for (index, item) in items.iter().enumerate() {
        object(fields, item.get(), &format!("{place}/{index}"), None, Completeness::Whole)?;
    }
    Ok(())
}

fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn invalid(pointer: &str, detail: String) -> Invalid {
    Invalid { code: "invalid", pointer: pointer.to_owned(), detail }
}

fn mismatch(pointer: &str) -> Invalid {
    let detail = "the id in the body is not the id in the path".to_owned();
    Invalid { code: "id_mismatch", pointer: pointer.to_owned(), detail }
}

#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct Members<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((name, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    members.push((name.0, value.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}
