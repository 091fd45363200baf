//! Cron expressions, from text.

use words::Cron;

use crate::problem::quote;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

struct Field {
    name: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 6] = [
    Field { name: "second", min: 0, max: 59, names: &[] },
    Field { name: "minute", min: 0, max: 59, names: &[] },
    Field { name: "hour", min: 0, max: 23, names: &[] },
    Field { name: "day of month", min: 1, max: 31, names: &[] },
    Field { name: "month", min: 1, max: 12, names: &MONTHS },
    Field { name: "day of week", min: 0, max: 7, names: &DAYS },
];

/// An expression of five fields, of six with seconds before them, or a macro like `@daily`.
pub(crate) fn parse_cron(text: &str) -> Result<Cron, String> {
    let text = match text.strip_prefix('@') {
        Some(name) => expand(name).ok_or_else(|| format!("{} is not a cron macro", quote(text)))?,
        None => text,
    };
    let mut fields: Vec<&str> = text.split_whitespace().collect();
    match fields.len() {
        5 => fields.insert(0, "0"),
        6 => {}
        n => return Err(format!("{} has {n} fields; cron has 5, or 6 with seconds first", quote(text))),
    }
    let last_day = fields[3].eq_ignore_ascii_case("L");
    let named = |text: &str| !text.starts_with(['*', '?']);
    let either_day = named(fields[3]) && named(fields[5]);
    let mut bits = [0; 6];
    for (n, field) in FIELDS.iter().enumerate() {
        bits[n] = if n == 3 && last_day { 0 } else { read_field(field, fields[n])? };
    }
    // Sunday is 0 and 7.
    let week_days = (bits[5] | bits[5] >> 7) & 0x7f;
    let narrow = "the bits of a field end at its largest value";
    Ok(Cron {
        seconds: bits[0],
        minutes: bits[1],
        hours: bits[2].try_into().expect(narrow),
        month_days: bits[3].try_into().expect(narrow),
        last_day,
        months: bits[4].try_into().expect(narrow),
        week_days: week_days.try_into().expect(narrow),
        either_day,
    })
}

fn expand(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "yearly" | "annually" => "0 0 1 1 *",
        "monthly" => "0 0 1 * *",
        "weekly" => "0 0 * * 0",
        "daily" | "midnight" => "0 0 * * *",
        "hourly" => "0 * * * *",
        _ => return None,
    })
}

fn read_field(field: &Field, text: &str) -> Result<u64, String> {
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let (first, last) = if range == "*" || range == "?" {
            (field.min, field.max)
        } else if let Some((first, last)) = range.split_once('-') {
            (value(field, first)?, value(field, last)?)
        } else {
            let first = value(field, range)?;
            (first, if step.is_some() { field.max } else { first })
        };
        let step: usize = step.map_or(Ok(1), str::parse).unwrap_or(0);
        if first > last || step == 0 {
            return Err(format!("the {} {} is no range with a step", field.name, quote(part)));
        }
        bits |= (first..=last).step_by(step).fold(0, |bits, n| bits | 1u64 << n);
    }
    Ok(bits)
}

fn value(field: &Field, text: &str) -> Result<u32, String> {
    if let Some(n) = field.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        return Ok(n as u32 + u32::from(field.min == 1));
    }
    let number: Option<u32> = text.parse().ok();
    number
        .filter(|n| (field.min..=field.max).contains(n))
        .ok_or_else(|| format!("the {} {} is not {}-{}", field.name, quote(text), field.min, field.max))
}
