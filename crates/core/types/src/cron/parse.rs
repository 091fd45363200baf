//! Reading a cron expression, with errors that say which field is wrong and what it may hold.

use std::str::FromStr;

use super::{Cron, FIELDS, Field, MONTH_DAY, WEEK_DAY};

/// Why a text is not a cron expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCron {
    #[error(
        "cron: {found} fields; write five (minute hour day month weekday), or six with the second in front, or \
         @hourly, @daily, @weekly, @monthly or @yearly"
    )]
    Fields { found: usize },
    #[error(
        "cron: {text:?} is not known; there are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
    )]
    Macro { text: String },
    #[error("cron: field {number} ({name}): {problem}")]
    Field {
        /// Counted from 1, as written.
        number: usize,
        name: &'static str,
        problem: String,
    },
}

/// What one field says.
#[derive(Default)]
struct Named {
    values: u64,
    last_day: bool,
    /// It is `*` or `*/n`, which leaves the choice of the day to the other day field.
    open: bool,
}

/// Longer texts are cut in messages.
const SHOWN_MAX: usize = 40;

impl FromStr for Cron {
    type Err = InvalidCron;

    fn from_str(text: &str) -> Result<Cron, InvalidCron> {
        let text = text.trim();
        if text.starts_with('@') {
            return expand(text)?.parse();
        }
        let written: Vec<&str> = text.split_ascii_whitespace().collect();
        // Five fields are those of six without the second.
        let skipped = match written.len() {
            5 => 1,
            6 => 0,
            found => return Err(InvalidCron::Fields { found }),
        };
        let mut fields: [Named; 6] = Default::default();
        fields[0].values = 1;
        for (index, text) in written.into_iter().enumerate() {
            let field = &FIELDS[index + skipped];
            fields[index + skipped] = read(index + skipped, text).map_err(|problem| InvalidCron::Field {
                number: index + 1,
                name: field.name,
                problem,
            })?;
        }
        Ok(Cron::of(&fields))
    }
}

impl Cron {
    fn of([second, minute, hour, month_day, month, week_day]: &[Named; 6]) -> Cron {
        let narrow = |values: u64| u32::try_from(values).expect("its values are below 32");
        Cron {
            seconds: second.values,
            minutes: minute.values,
            hours: narrow(hour.values),
            month_days: narrow(month_day.values),
            last_day: month_day.last_day,
            months: u16::try_from(month.values).expect("its values are below 16"),
            week_days: u8::try_from(week_day.values).expect("its values are below 8"),
            either_day: !month_day.open && !week_day.open,
        }
    }
}

fn expand(text: &str) -> Result<&'static str, InvalidCron> {
    match text.to_ascii_lowercase().as_str() {
        "@hourly" => Ok("0 * * * *"),
        "@daily" | "@midnight" => Ok("0 0 * * *"),
        "@weekly" => Ok("0 0 * * 0"),
        "@monthly" => Ok("0 0 1 * *"),
        "@yearly" | "@annually" => Ok("0 0 1 1 *"),
        _ => Err(InvalidCron::Macro { text: shown(text) }),
    }
}

/// Reads one field: items between commas.
fn read(index: usize, text: &str) -> Result<Named, String> {
    let field = &FIELDS[index];
    let mut named = Named { open: text.starts_with('*') && !text.contains(','), ..Named::default() };
    for item in text.split(',') {
        if index == MONTH_DAY && item.eq_ignore_ascii_case("L") {
            named.last_day = true;
        } else {
            named.values |= read_item(index, field, item)?;
        }
    }
    Ok(named)
}

/// Reads `*`, `7`, `1-5`, and each of them with a step: `*/15`, `5/15`, `0-30/10`.
fn read_item(index: usize, field: &Field, item: &str) -> Result<u64, String> {
    if item.is_empty() {
        return Err("a value is missing; write * for all of them".to_owned());
    }
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(read_step(field, step)?)),
        None => (item, None),
    };
    let (low, high) = match range.split_once('-') {
        _ if range == "*" => return Ok(field.every(step.unwrap_or(1))),
        Some((low, high)) => (read_value(index, field, low)?, read_value(index, field, high)?),
        None => {
            let low = read_value(index, field, range)?;
            // A first value with a step goes on to the end of the field.
            (low, if step.is_some() { field.high.max(low) } else { low })
        }
    };
    // A week that ends on Sunday ends with its seventh day.
    let high = if index == WEEK_DAY && high == 0 && low > 0 { 7 } else { high };
    if low > high {
        return Err(format!(
            "{} runs backwards; write {low}-{},{}-{high}",
            shown(range),
            field.high,
            field.low
        ));
    }
    let values = (low..=high).step_by(step.unwrap_or(1).into());
    // Day 7 is Sunday, too.
    Ok(values.fold(0, |set, value| set | 1 << (if index == WEEK_DAY { value % 7 } else { value })))
}

fn read_value(index: usize, field: &Field, text: &str) -> Result<u8, String> {
    if let Some(place) = field.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        return Ok(field.low + u8::try_from(place).expect("at most twelve names"));
    }
    let rule = match index {
        MONTH_DAY => "1-31 or L".to_owned(),
        WEEK_DAY => "0-7 or SUN-SAT".to_owned(),
        _ => match field.names {
            [first, .., last] => format!("{}-{} or {first}-{last}", field.low, field.high),
            _ => format!("{}-{}", field.low, field.high),
        },
    };
    let high = if index == WEEK_DAY { 7 } else { field.high };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = text.parse().ok().filter(|value| digits && (field.low..=high).contains(value));
    value.ok_or_else(|| {
        format!("{} is not {rule}", if digits { shown(text) } else { format!("{:?}", shown(text)) })
    })
}

/// Reads a step. One that leaves the field at once is more likely a slip than a wish.
fn read_step(field: &Field, text: &str) -> Result<u8, String> {
    let most = field.high - field.low;
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let step = text.parse().ok().filter(|step| digits && (1..=most).contains(step));
    step.ok_or_else(|| format!("the step {:?} is not 1-{most}", shown(text)))
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}
