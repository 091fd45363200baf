//! JSON text into jq values and back.

use std::fmt;

use jaq_json::{Num, Val};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::value::Value;
use crate::json;

/// The value of valid JSON `text`.
pub(super) fn from_json(text: &str) -> Result<Val, String> {
    serde_json::from_str::<Input>(text).map(|input| input.0).map_err(|error| error.to_string())
}

/// The JSON text of a value, at most `bytes_max` long.
pub(super) fn to_json(value: &Val, bytes_max: usize) -> Result<String, String> {
    let mut out = Vec::new();
    write(value, bytes_max, &mut out)?;
    Ok(String::from_utf8(out).expect("only whole pieces of valid text were written"))
}

fn write(value: &Val, bytes_max: usize, out: &mut Vec<u8>) -> Result<(), String> {
    match value {
        Val::Null => out.extend_from_slice(b"null"),
        Val::Bool(true) => out.extend_from_slice(b"true"),
        Val::Bool(false) => out.extend_from_slice(b"false"),
        Val::Num(Num::Int(whole)) => out.extend_from_slice(whole.to_string().as_bytes()),
        Val::Num(number) => write_float(number, out),
        Val::TStr(text) | Val::BStr(text) => json::write_text(out, &String::from_utf8_lossy(text)),
        Val::Arr(items) => {
            out.push(b'[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                write(item, bytes_max, out)?;
            }
            out.push(b']');
        }
        Val::Obj(fields) => {
            out.push(b'{');
            for (n, (key, field)) in fields.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                write(key, bytes_max, out)?;
                out.push(b':');
                write(field, bytes_max, out)?;
            }
            out.push(b'}');
        }
    }
    if out.len() > bytes_max { Err(format!("the result is larger than {bytes_max} bytes")) } else { Ok(()) }
}

/// A float that is whole is written as jq does: 2, not 2.0.
fn write_float(number: &Num, out: &mut Vec<u8>) {
    match number.to_string().parse::<f64>() {
        Ok(float) if float.trunc() == float && float.abs() < 1e17 => {
            out.extend_from_slice(format!("{float:.0}").as_bytes());
        }
        Ok(float) if float.is_finite() => {
            serde_json::to_writer(out, &float).expect("writing a number to memory does not fail");
        }
        _ => out.extend_from_slice(b"null"),
    }
}

impl Value {
    /// The value of valid JSON text.
    pub(super) fn parse(text: &str) -> Result<Value, String> {
        from_json(text).map(Value)
    }
}

/// A jq value as read from JSON, with numbers as [`Value`] wants them.
struct Input(Val);

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = Input;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Input, E> {
        Ok(Input(Val::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Input, E> {
        Ok(Input(Val::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Input, E> {
        Ok(Input(isize::try_from(value).map_or_else(|_| Val::from(value as f64), Val::from)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Input, E> {
        Ok(Input(isize::try_from(value).map_or_else(|_| Val::from(value as f64), Val::from)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Input, E> {
        Ok(Input(Val::from(value)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Input, E> {
        Ok(Input(Val::utf8_str(text.as_bytes().to_vec())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Input, A::Error> {
        let items = std::iter::from_fn(|| list.next_element::<Input>().transpose());
        items.map(|item| item.map(|input| input.0)).collect::<Result<Val, _>>().map(Input)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Input, A::Error> {
        let mut fields = jaq_json::Map::default();
        while let Some((key, value)) = map.next_entry::<String, Input>()? {
            fields.insert(Val::utf8_str(key.into_bytes()), value.0);
        }
        Ok(Input(Val::obj(fields)))
    }
}
