//! The functions that expressions may call, and those of them that need our own code.
//!
//! What is not listed does not exist for expressions. Left out on purpose: what reads the outside
//! (`now`, `env`, `input`, `debug`, `halt`, local time), what can loop without end (`repeat`, `while`,
//! `until`, `recurse(f)`, `def`), what makes not-a-number, and the regular expressions of jaq, which can
//! panic on input. Everything left ends after as many rounds as its input has values, and is metered.

use std::sync::OnceLock;

use jaq_core::data::JustLut;
use jaq_core::load::parse::Def;
use jaq_core::native::{Fun, bome, run, unary, v};
use jaq_core::{Native, ValR};
use jaq_json::{Num, Val};

use super::value::{Error, Value, charge, made};
use crate::limits::VALUE_UNITS_MAX;

/// Name and number of arguments of every function that expressions may call.
pub(super) const ALLOWED: &[(&str, &[usize])] = &[
    ("abs", &[0]),
    ("add", &[0, 1]),
    ("all", &[0, 1, 2]),
    ("any", &[0, 1, 2]),
    ("arrays", &[0]),
    ("ascii_downcase", &[0]),
    ("ascii_upcase", &[0]),
    ("booleans", &[0]),
    ("ceil", &[0]),
    ("contains", &[1]),
    ("del", &[1]),
    ("delpaths", &[1]),
    ("empty", &[0]),
    ("endswith", &[1]),
    ("error", &[0, 1]),
    ("fabs", &[0]),
    ("false", &[0]),
    ("first", &[0, 1]),
    ("flatten", &[0]),
    ("floor", &[0]),
    ("from_entries", &[0]),
    ("fromdate", &[0]),
    ("fromdateiso8601", &[0]),
    ("fromjson", &[0]),
    ("getpath", &[1]),
    ("group_by", &[1]),
    ("has", &[1]),
    ("in", &[1]),
    ("index", &[1]),
    ("indices", &[1]),
    ("inside", &[1]),
    ("isempty", &[1]),
    ("iterables", &[0]),
    ("join", &[1]),
    ("keys", &[0]),
    ("keys_unsorted", &[0]),
    ("last", &[0, 1]),
    ("length", &[0]),
    ("limit", &[2]),
    ("log", &[0]),
    ("log10", &[0]),
    ("log2", &[0]),
    ("ltrim", &[0]),
    ("ltrimstr", &[1]),
    ("map", &[1]),
    ("map_values", &[1]),
    ("max", &[0]),
    ("max_by", &[1]),
    ("min", &[0]),
    ("min_by", &[1]),
    ("not", &[0]),
    ("nth", &[1, 2]),
    ("null", &[0]),
    ("nulls", &[0]),
    ("numbers", &[0]),
    ("objects", &[0]),
    ("path", &[1]),
    ("paths", &[0, 1]),
    ("pick", &[1]),
    ("pow", &[2]),
    ("range", &[1, 2, 3]),
    ("recurse", &[0]),
    ("reverse", &[0]),
    ("rindex", &[1]),
    ("round", &[0]),
    ("rtrim", &[0]),
    ("rtrimstr", &[1]),
    ("scalars", &[0]),
    ("select", &[1]),
    ("setpath", &[2]),
    ("skip", &[2]),
    ("sort", &[0]),
    ("sort_by", &[1]),
    ("split", &[1]),
    ("sqrt", &[0]),
    ("startswith", &[1]),
    ("strings", &[0]),
    ("to_entries", &[0]),
    ("toboolean", &[0]),
    ("todate", &[0]),
    ("todateiso8601", &[0]),
    ("tojson", &[0]),
    ("tonumber", &[0]),
    ("tostring", &[0]),
    ("transpose", &[0]),
    ("trim", &[0]),
    ("true", &[0]),
    ("trunc", &[0]),
    ("type", &[0]),
    ("unique", &[0]),
    ("unique_by", &[1]),
    ("utf8bytelength", &[0]),
    ("values", &[0]),
    ("walk", &[1]),
    ("with_entries", &[1]),
];

/// The formats `@name` that expressions may use.
pub(super) const ALLOWED_FORMATS: &[&str] =
    &["@text", "@json", "@html", "@htmld", "@uri", "@urid", "@base64", "@base64d", "@sh"];

pub(super) type Data = JustLut<Value>;

/// The definitions of jaq's libraries, parsed once.
pub(super) fn definitions() -> &'static [Def<&'static str>] {
    static DEFINITIONS: OnceLock<Vec<Def<&'static str>>> = OnceLock::new();
    DEFINITIONS.get_or_init(|| jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).collect())
}

/// The native functions: jaq's, and ours where jaq's work only on its own values.
pub(super) fn natives() -> impl Iterator<Item = Fun<Data>> {
    jaq_core::funs::<Data>().chain(jaq_std::funs::<Data>()).chain(ours())
}

fn ours() -> impl Iterator<Item = (&'static str, Box<[jaq_core::Bind]>, Native<Data>)> {
    let functions: [(&'static str, usize, jaq_core::RunPtr<Data>); 6] = [
        ("length", 0, |cv| bome(length(&cv.1.0))),
        ("tojson", 0, |cv| bome(to_json(&cv.1.0))),
        ("fromjson", 0, |cv| bome(from_json(&cv.1))),
        ("has", 1, |cv| unary(cv, |value, key| has(&value.0, &key))),
        ("contains", 1, |cv| unary(cv, |value, part| contains(&value.0, &part.0).map(Value::from))),
        ("indices", 1, |cv| unary(cv, |value, part| indices(&value.0, &part.0))),
    ];
    functions.into_iter().map(|(name, arguments, function)| run::<Data>((name, v(arguments), function)))
}

fn length(value: &Val) -> ValR<Value> {
    charge(1)?;
    match value {
        Val::Null => Ok(Value::from(0usize)),
        Val::Num(Num::Int(whole)) => Ok(whole.checked_abs().map_or(Value(Val::Null), Value::from)),
        Val::Num(number) => {
            let float = jaq_std::ValT::as_f64(&Value(Val::Num(number.clone())));
            Ok(float.map_or(Value(Val::Null), |float| Value::from(float.abs())))
        }
        Val::TStr(text) | Val::BStr(text) => {
            charge(text.len() / 16)?;
            Ok(Value::from(String::from_utf8_lossy(text).chars().count()))
        }
        Val::Arr(items) => Ok(Value::from(items.len())),
        Val::Obj(fields) => Ok(Value::from(fields.len())),
        Val::Bool(_) => Err(Error::str(format_args!("{value} has no length"))),
    }
}

fn to_json(value: &Val) -> ValR<Value> {
    let text = super::convert::to_json(value, VALUE_UNITS_MAX as usize * 16).map_err(Error::str)?;
    made(Val::utf8_str(text.into_bytes()))
}

fn from_json(value: &Value) -> ValR<Value> {
    let bytes = jaq_std::ValT::as_utf8_bytes(value).ok_or_else(|| Error::typ(value.clone(), "string"))?;
    let text = crate::json::check(bytes).map_err(Error::str)?;
    made(super::convert::from_json(text).map_err(Error::str)?)
}

fn has(value: &Val, key: &Value) -> ValR<Value> {
    charge(1)?;
    match (value, &key.0) {
        (Val::Obj(fields), Val::TStr(_)) => Ok(Value::from(fields.contains_key(&key.0))),
        (Val::Arr(items), Val::Num(Num::Int(index))) => {
            Ok(Value::from(usize::try_from(*index).is_ok_and(|index| index < items.len())))
        }
        _ => Err(Error::index(Value(value.clone()), key.clone())),
    }
}

fn contains(value: &Val, part: &Val) -> Result<bool, Error> {
    charge(1)?;
    match (value, part) {
        (Val::TStr(value), Val::TStr(part)) => {
            charge(value.len() / 16)?;
            Ok(String::from_utf8_lossy(value).contains(&*String::from_utf8_lossy(part)))
        }
        (Val::Arr(items), Val::Arr(parts)) => {
            for part in parts.iter() {
                let mut found = false;
                for item in items.iter() {
                    found = found || contains(item, part)?;
                }
                if !found {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Val::Obj(fields), Val::Obj(parts)) => {
            for (key, part) in parts.iter() {
                match fields.get(key) {
                    Some(field) if contains(field, part)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        _ => Ok(Value(value.clone()) == Value(part.clone())),
    }
}

fn indices(value: &Val, part: &Val) -> ValR<Value> {
    charge(1)?;
    let places: Vec<usize> = match (value, part) {
        (Val::Null, _) => return Ok(Value(Val::Null)),
        (Val::TStr(value), Val::TStr(part)) => {
            charge((value.len() / 16).saturating_mul(1 + part.len() / 16))?;
            text_indices(&String::from_utf8_lossy(value), &String::from_utf8_lossy(part))
        }
        (Val::Arr(items), Val::Arr(parts)) if parts.is_empty() || parts.len() > items.len() => Vec::new(),
        (Val::Arr(items), Val::Arr(parts)) => {
            charge(items.len().saturating_mul(parts.len()))?;
            let equal = |(_, window): &(usize, &[Val])| {
                window.iter().zip(parts.iter()).all(|(one, other)| Value(one.clone()) == Value(other.clone()))
            };
            items.windows(parts.len()).enumerate().filter(equal).map(|(index, _)| index).collect()
        }
        (Val::Arr(items), part) => {
            let equal = |(_, item): &(usize, &Val)| Value((*item).clone()) == Value(part.clone());
            items.iter().enumerate().filter(equal).map(|(index, _)| index).collect()
        }
        _ => return Err(Error::index(Value(value.clone()), Value(part.clone()))),
    };
    Ok(places.into_iter().map(Value::from).collect())
}

/// Where `part` begins in `text`, overlapping, counted in characters.
fn text_indices(text: &str, part: &str) -> Vec<usize> {
    if part.is_empty() {
        return Vec::new();
    }
    let begins = text.char_indices().enumerate();
    begins.filter(|(_, (byte, _))| text[*byte..].starts_with(part)).map(|(index, _)| index).collect()
}
