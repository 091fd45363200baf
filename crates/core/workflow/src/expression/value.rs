//! The values that jq expressions compute with: jaq's own, with every operation paid for.
//!
//! jaq has no limit on steps or memory, and some of its operations abort the process when they are
//! asked for too much (`"x" * 1e18`). Here each operation takes units from a meter and fails when
//! they are used up; a value that grows too large or too deep, and a number that is none, is an error.
//! Loops without any operation cannot be written: the guard refuses what could make them.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use jaq_core::path::Opt;
use jaq_core::val::Range;
use jaq_core::{ValR, ValT, ValX};
use jaq_json::{Num, Val};

use super::order::compare;
use crate::limits::{EVALUATION_UNITS_MAX, VALUE_DEPTH_MAX, VALUE_UNITS_MAX};

pub(crate) type Error = jaq_core::Error<Value>;

/// A jq value whose operations are metered. Object keys are text; numbers are finite, and whole ones fit
/// in 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct Value(pub(crate) Val);

thread_local! {
    // An evaluation runs within one call on one thread, and jaq's operators take no context.
    static UNITS_LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Runs `evaluate` with a full meter; `None` when it was used up, whatever the expression made of it.
pub(crate) fn metered<T>(evaluate: impl FnOnce() -> T) -> Option<T> {
    UNITS_LEFT.set(EVALUATION_UNITS_MAX);
    let result = evaluate();
    (UNITS_LEFT.replace(0) > 0).then_some(result)
}

/// Takes units from the meter.
pub(crate) fn charge(units: usize) -> Result<(), Error> {
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    let left = UNITS_LEFT.get().saturating_sub(units);
    UNITS_LEFT.set(left);
    if left == 0 { Err(Error::str("the expression takes too many steps")) } else { Ok(()) }
}

/// A value that an operation made: weighed, and refused when it is too large.
pub(crate) fn made(value: Val) -> ValR<Value> {
    let mut units = 0;
    weigh(&value, 0, &mut units).map_err(Error::str)?;
    charge(units as usize)?;
    Ok(Value(value))
}

fn weigh(value: &Val, depth: u32, units: &mut u32) -> Result<(), &'static str> {
    *units += 1;
    match value {
        Val::Null | Val::Bool(_) | Val::Num(Num::Int(_)) => {}
        Val::Num(number) => check_number(number)?,
        Val::TStr(text) | Val::BStr(text) => {
            *units = units.saturating_add(u32::try_from(text.len() / 16).unwrap_or(u32::MAX / 2));
        }
        Val::Arr(_) | Val::Obj(_) if depth >= VALUE_DEPTH_MAX => return Err("the value nests too deep"),
        Val::Arr(items) => items.iter().try_for_each(|item| weigh(item, depth + 1, units))?,
        Val::Obj(fields) => {
            for (key, field) in fields.iter() {
                if !matches!(key, Val::TStr(_)) {
                    return Err("the key of an object must be text");
                }
                weigh(key, depth + 1, units)?;
                weigh(field, depth + 1, units)?;
            }
        }
    }
    if *units > VALUE_UNITS_MAX { Err("the value is too large") } else { Ok(()) }
}

fn check_number(number: &Num) -> Result<(), &'static str> {
    match number {
        Num::Int(_) => Ok(()),
        Num::Float(float) if float.is_finite() => Ok(()),
        Num::Float(_) => Err("the result is not a number"),
        Num::BigInt(_) | Num::Dec(_) => Err("the number is too large"),
    }
}

fn error(error: jaq_json::Error) -> Error {
    Error::new(Value(error.into_val()))
}

fn length(value: &Val) -> usize {
    match value {
        Val::Arr(items) => items.len(),
        Val::Obj(fields) => fields.len(),
        Val::TStr(text) | Val::BStr(text) => text.len() / 16,
        _ => 1,
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl $trait for Value {
            type Output = ValR<Self>;
            fn $method(self, other: Self) -> ValR<Self> {
                charge(1 + length(&self.0) + length(&other.0))?;
                made(self.0.$method(other.0).map_err(error)?)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Div, div);
operator!(Rem, rem);

impl Mul for Value {
    type Output = ValR<Self>;
    fn mul(self, other: Self) -> ValR<Self> {
        charge(1 + length(&self.0) + length(&other.0))?;
        match (&self.0, &other.0) {
            (Val::TStr(text), Val::Num(times)) | (Val::Num(times), Val::TStr(text)) => {
                let times = times.as_isize().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
                let units_max = VALUE_UNITS_MAX as usize;
                if text.len().checked_mul(times).is_none_or(|bytes| bytes / 16 > units_max) {
                    return Err(Error::str("the value is too large"));
                }
            }
            _ => {}
        }
        made(self.0.mul(other.0).map_err(error)?)
    }
}

impl Neg for Value {
    type Output = ValR<Self>;
    fn neg(self) -> ValR<Self> {
        charge(1)?;
        made(self.0.neg().map_err(error)?)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        pay_for_comparing(&self.0, &other.0);
        // Also when the meter is empty: sorting relies on a total order and ends by itself.
        compare(&self.0, &other.0)
    }
}

fn pay_for_comparing(one: &Val, other: &Val) {
    let mut units = 0;
    if length(one) > 1 && length(other) > 1 {
        // An error here says only that the value is large; the units counted so far are what matters.
        let _large = weigh(one, 0, &mut units);
    }
    let _empty = charge(1 + units as usize);
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value(Val::Bool(value))
    }
}

impl From<isize> for Value {
    fn from(value: isize) -> Self {
        Value(Val::from(value))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Value(Val::from(value))
    }
}

impl From<f64> for Value {
    /// Numbers that JSON cannot write become null, as jq prints them.
    fn from(value: f64) -> Self {
        Value(if value.is_finite() { Val::from(value) } else { Val::Null })
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value(Val::from(text))
    }
}

impl From<Range<Value>> for Value {
    fn from(range: Range<Value>) -> Self {
        Value(Val::from(range.start.map(|v| v.0)..range.end.map(|v| v.0)))
    }
}

impl FromIterator<Value> for Value {
    /// Collects while there are units. Nothing can fail here, but the emptied meter ends
    /// the evaluation in [`metered`].
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let paid = values.into_iter().map_while(|value| charge(1).ok().map(|()| value.0));
        match made(paid.collect::<Vec<_>>().into_iter().collect()) {
            Ok(list) => list,
            Err(_) => {
                UNITS_LEFT.set(0);
                Value(Val::Null)
            }
        }
    }
}

impl ValT for Value {
    fn from_num(text: &str) -> ValR<Self> {
        match (text.parse::<isize>(), text.parse::<f64>()) {
            (Ok(whole), _) => Ok(Value::from(whole)),
            (_, Ok(float)) if float.is_finite() => Ok(Value::from(float)),
            _ => Err(Error::str("the number is too large")),
        }
    }

    fn from_map<I: IntoIterator<Item = (Self, Self)>>(fields: I) -> ValR<Self> {
        made(Val::from_map(fields.into_iter().map(|(key, value)| (key.0, value.0))).map_err(error)?)
    }

    fn key_values(self) -> Box<dyn Iterator<Item = ValR<(Self, Self), Self>>> {
        if let Err(empty) = charge(1 + length(&self.0)) {
            return Box::new(std::iter::once(Err(empty)));
        }
        let wrap = |(key, value)| (Value(key), Value(value));
        Box::new(self.0.key_values().map(move |pair| charge(1).and_then(|()| pair.map(wrap).map_err(error))))
    }

    fn values(self) -> Box<dyn Iterator<Item = ValR<Self>>> {
        if let Err(empty) = charge(1 + length(&self.0)) {
            return Box::new(std::iter::once(Err(empty)));
        }
        Box::new(self.0.values().map(|value| charge(1).and_then(|()| value.map(Value).map_err(error))))
    }

    fn index(self, index: &Self) -> ValR<Self> {
        charge(1)?;
        match (&self.0, &index.0) {
            (Val::Arr(_), Val::Arr(_)) => return Err(Error::str("an array cannot be an index; use indices")),
            (Val::Obj(_), key) if !matches!(key, Val::TStr(_)) => {
                return Err(Error::index(self.clone(), index.clone()));
            }
            _ => {}
        }
        self.0.index(&index.0).map(Value).map_err(error)
    }

    fn range(self, range: Range<&Self>) -> ValR<Self> {
        charge(1 + length(&self.0))?;
        self.0.range(range.start.map(|v| &v.0)..range.end.map(|v| &v.0)).map(Value).map_err(error)
    }

    fn map_values<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        charge(1 + length(&self.0))?;
        let (is_list, fields) = match self.0 {
            Val::Arr(items) => (true, items.iter().map(|item| (Val::Null, item.clone())).collect()),
            Val::Obj(ref fields) => {
                (false, fields.iter().map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>())
            }
            _ => return opt.fail(self, |v| Error::typ(v, "iterable (array or object)").into()),
        };
        let mut items = Vec::new();
        let mut object = jaq_json::Map::default();
        for (key, value) in fields {
            for mapped in f(Value(value)) {
                charge(1)?;
                if is_list {
                    items.push(mapped?.0);
                } else {
                    object.insert(key.clone(), mapped?.0);
                    break;
                }
            }
        }
        let value = if is_list { items.into_iter().collect() } else { Val::obj(object) };
        Ok(made(value)?)
    }

    fn map_index<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        index: &Self,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        charge(1 + length(&self.0))?;
        let old = match self.clone().index(index) {
            Ok(old) => old,
            Err(error) => return opt.fail(self, |_| error.into()),
        };
        let new = f(old).next().transpose()?.map(|new| new.0);
        let replace = |_: Val| new.clone().map(Ok).into_iter();
        let value = self.0.map_index(&index.0, Opt::Essential, replace);
        settle(value)
    }

    fn map_range<'a, I: Iterator<Item = ValX<'a, Self>>>(
        self,
        range: Range<&Self>,
        opt: Opt,
        f: impl Fn(Self) -> I,
    ) -> ValX<'a, Self> {
        charge(1 + length(&self.0))?;
        let old = match self.clone().range(range.clone()) {
            Ok(old) => old,
            Err(error) => return opt.fail(self, |_| error.into()),
        };
        let new = f(old).next().transpose()?.map(|new| new.0);
        let replace = |_: Val| new.clone().map(Ok).into_iter();
        let range = range.start.map(|v| &v.0)..range.end.map(|v| &v.0);
        settle(self.0.map_range(range, Opt::Essential, replace))
    }

    fn as_bool(&self) -> bool {
        self.0.as_bool()
    }

    fn into_string(self) -> Self {
        let mut units = 0;
        // Values that exist have been weighed or come from outside; either way their text is bounded.
        let _large = weigh(&self.0, 0, &mut units);
        let _empty = charge(units as usize);
        Value(self.0.into_string())
    }
}

/// The result of an update whose function was already applied, so that only errors can come of it.
fn settle<'a>(value: jaq_json::ValX<'_>) -> ValX<'a, Value> {
    match value {
        Ok(value) => Ok(made(value)?),
        Err(exception) => match exception.get_err() {
            Ok(inner) => Err(error(inner).into()),
            Err(_) => Err(Error::str("the update was broken off").into()),
        },
    }
}

impl jaq_std::ValT for Value {
    fn into_seq<S: FromIterator<Self>>(self) -> Result<S, Self> {
        match self.0 {
            Val::Arr(items) if charge(1 + items.len()).is_ok() => {
                Ok(items.iter().cloned().map(Value).collect())
            }
            other => Err(Value(other)),
        }
    }

    fn is_int(&self) -> bool {
        jaq_std::ValT::is_int(&self.0)
    }

    fn as_isize(&self) -> Option<isize> {
        jaq_std::ValT::as_isize(&self.0)
    }

    fn as_f64(&self) -> Option<f64> {
        jaq_std::ValT::as_f64(&self.0)
    }

    fn is_utf8_str(&self) -> bool {
        matches!(self.0, Val::TStr(_))
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        charge(1 + length(&self.0)).ok()?;
        jaq_std::ValT::as_bytes(&self.0)
    }

    fn as_sub_str(&self, sub: &[u8]) -> Self {
        Value(jaq_std::ValT::as_sub_str(&self.0, sub))
    }

    fn from_utf8_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        Value(<Val as jaq_std::ValT>::from_utf8_bytes(bytes))
    }
}
