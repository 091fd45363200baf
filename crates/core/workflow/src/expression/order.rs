//! The order of values. jq's own, except that numbers compare by what they are, not by what is left of
//! them as floats: sorting needs an order without contradictions, or the standard library panics.

use std::cmp::Ordering;

use jaq_json::{Num, Val};

/// null, booleans, numbers, text, arrays, objects; each by its content.
pub(super) fn compare(one: &Val, other: &Val) -> Ordering {
    match (one, other) {
        (Val::Bool(one), Val::Bool(other)) => one.cmp(other),
        (Val::Num(one), Val::Num(other)) => compare_numbers(one, other),
        (Val::TStr(one) | Val::BStr(one), Val::TStr(other) | Val::BStr(other)) => one.cmp(other),
        (Val::Arr(one), Val::Arr(other)) => compare_lists(one.iter(), other.iter()),
        (Val::Obj(one), Val::Obj(other)) => {
            let sorted = |map: &jaq_json::Map| {
                let mut fields: Vec<_> = map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                fields.sort_by(|(one, _), (other, _)| compare(one, other));
                fields
            };
            let (one, other) = (sorted(one), sorted(other));
            let keys = compare_lists(one.iter().map(|(key, _)| key), other.iter().map(|(key, _)| key));
            keys.then_with(|| {
                compare_lists(one.iter().map(|(_, value)| value), other.iter().map(|(_, value)| value))
            })
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

fn compare_lists<'v>(
    mut one: impl Iterator<Item = &'v Val>,
    mut other: impl Iterator<Item = &'v Val>,
) -> Ordering {
    loop {
        match (one.next(), other.next()) {
            (Some(one), Some(other)) => match compare(one, other) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
            (one, other) => return one.is_some().cmp(&other.is_some()),
        }
    }
}

fn rank(value: &Val) -> u8 {
    match value {
        Val::Null => 0,
        Val::Bool(_) => 1,
        Val::Num(_) => 2,
        Val::TStr(_) | Val::BStr(_) => 3,
        Val::Arr(_) => 4,
        Val::Obj(_) => 5,
    }
}

fn compare_numbers(one: &Num, other: &Num) -> Ordering {
    match (one, other) {
        (Num::Int(one), Num::Int(other)) => one.cmp(other),
        (Num::Int(one), Num::Float(other)) => compare_mixed(*one, *other),
        (Num::Float(one), Num::Int(other)) => compare_mixed(*other, *one).reverse(),
        (Num::Float(one), Num::Float(other)) => one.partial_cmp(other).unwrap_or(Ordering::Equal),
        // No such number is ever made; jaq's order keeps the match whole.
        _ => one.cmp(other),
    }
}

fn compare_mixed(whole: isize, float: f64) -> Ordering {
    // Beyond 2^64 every float outweighs every whole number; below, its whole part is exact in 128 bits.
    if float.abs() >= 18_446_744_073_709_551_616.0 {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let whole_part = float.trunc();
    let by_whole = (whole as i128).cmp(&(whole_part as i128));
    by_whole.then_with(|| whole_part.partial_cmp(&float).unwrap_or(Ordering::Equal))
}
