//! When a job runs, in words.

use std::fmt;

use serde::Deserialize;

use crate::date::{Date, Moment};
use crate::timing::{Monthly, Recurrence, RecurrenceSchedule};

/// Times of a day that are listed one by one.
const TIMES_MAX: usize = 6;

/// The members of a job that say when it runs. Read aloud: `every day at 03:00, Europe/Berlin, 10 times`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct When {
    pub start_time: Option<Date>,
    pub recurrence: Option<Recurrence>,
    pub at: Option<Moment>,
    pub time_zone: Option<String>,
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = match (&self.at, &self.recurrence) {
            (Some(at), _) => {
                vec![format!("once at {}", at.to_string().replace('T', " ").replace('Z', " UTC"))]
            }
            (None, Some(recurrence)) => vec![rule(recurrence)],
            (None, None) => vec![once(self.start_time)],
        };
        parts.extend(self.time_zone.clone());
        if let Some(recurrence) = &self.recurrence {
            let times = |count| if count == 1 { "time" } else { "times" };
            parts.extend(recurrence.count.map(|count| format!("{count} {}", times(count))));
            parts.extend(recurrence.end_time.map(|end| format!("until {} UTC", second(end))));
        }
        f.write_str(&parts.join(", "))
    }
}

/// `2026-03-01 12:00:00`, in UTC.
fn second(date: Date) -> String {
    date.to_string().chars().take(19).collect::<String>().replace('T', " ")
}

fn once(start: Option<Date>) -> String {
    start.map_or_else(|| "once".to_owned(), |start| format!("once at {} UTC", second(start)))
}

fn rule(recurrence: &Recurrence) -> String {
    if let Some(cron) = &recurrence.cron {
        return cron_in_words(cron.as_str()).unwrap_or_else(|| format!("cron {}", cron.as_str()));
    }
    let interval = recurrence.interval.unwrap_or(1);
    let frequency = recurrence.frequency.map_or("time", |frequency| frequency.as_str());
    let every = if interval == 1 { frequency.to_owned() } else { format!("{interval} {frequency}s") };
    let schedule = recurrence.schedule.as_ref().map(in_period).unwrap_or_default();
    format!("every {every}{schedule}")
}

fn in_period(schedule: &RecurrenceSchedule) -> String {
    let mut words = Vec::new();
    if !schedule.week_days.is_empty() {
        let days: Vec<_> = schedule.week_days.iter().map(|day| day.as_str().to_owned()).collect();
        words.push(format!("on {}", list(&days)));
    }
    if !schedule.month_days.is_empty() {
        let days: Vec<_> = schedule.month_days.iter().map(|day| nth(*day, "day")).collect();
        words.push(format!("on {}", list(&days)));
    }
    if !schedule.monthly_occurrences.is_empty() {
        let days: Vec<_> = schedule.monthly_occurrences.iter().map(weekday_of_month).collect();
        words.push(format!("on {}", list(&days)));
    }
    words.extend(times(&schedule.hours, &schedule.minutes));
    words.iter().map(|words| format!(" {words}")).collect()
}

fn weekday_of_month(monthly: &Monthly) -> String {
    let day = monthly.day.as_str();
    monthly.occurrence.map_or_else(|| format!("each {day}"), |number| nth(number, day))
}

/// `the 2nd day`, `the last friday`, `the 3rd day from the end`
fn nth(number: i8, what: &str) -> String {
    let count = number.unsigned_abs();
    let ending = match (count % 10, count % 100) {
        (1, n) if n != 11 => "st",
        (2, n) if n != 12 => "nd",
        (3, n) if n != 13 => "rd",
        _ => "th",
    };
    match number {
        -1 => format!("the last {what}"),
        1.. => format!("the {count}{ending} {what}"),
        _ => format!("the {count}{ending} {what} from the end"),
    }
}

fn times(hours: &[u8], minutes: &[u8]) -> Option<String> {
    let numbers = |numbers: &[u8]| list(&numbers.iter().map(u8::to_string).collect::<Vec<_>>());
    let all =
        hours.iter().flat_map(|hour| minutes.iter().map(move |minute| format!("{hour:02}:{minute:02}")));
    let all: Vec<_> = all.collect();
    match (hours.len(), minutes.len()) {
        (0, 0) => None,
        (0, _) => Some(format!("at minute {}", numbers(minutes))),
        (_, 0) => Some(format!("at hour {}", numbers(hours))),
        _ if all.len() <= TIMES_MAX => Some(format!("at {}", list(&all))),
        _ => Some(format!("at minute {} of hour {}", numbers(minutes), numbers(hours))),
    }
}

fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The expressions that most people write; the others speak for themselves.
fn cron_in_words(text: &str) -> Option<String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let every = |step: &str, unit: &str| {
        let count: u8 = step.strip_prefix("*/")?.parse().ok()?;
        Some(if count == 1 { format!("every {unit}") } else { format!("every {count} {unit}s") })
    };
    let number = |text: &str| text.parse::<u8>().ok();
    match fields.as_slice() {
        [text] => match text.to_ascii_lowercase().as_str() {
            "@hourly" => Some("every hour at minute 0".to_owned()),
            "@daily" | "@midnight" => Some("every day at 00:00".to_owned()),
            "@weekly" => Some("every sunday at 00:00".to_owned()),
            "@monthly" => Some("every month on the 1st day at 00:00".to_owned()),
            _ => None,
        },
        [seconds, "*", "*", "*", "*", "*"] if *seconds == "*" => Some("every second".to_owned()),
        [seconds, "*", "*", "*", "*", "*"] => every(seconds, "second"),
        ["*", "*", "*", "*", "*"] => Some("every minute".to_owned()),
        [minutes, "*", "*", "*", "*"] => {
            let at = number(minutes).map(|minute| format!("every hour at minute {minute}"));
            at.or_else(|| every(minutes, "minute"))
        }
        ["0", hours, "*", "*", "*"] if hours.starts_with("*/") => every(hours, "hour"),
        [minute, hour, day, "*", week_day] => {
            let at = times(&[number(hour)?], &[number(minute)?])?;
            match (*day, *week_day) {
                ("*", "*") => Some(format!("every day {at}")),
                ("*", day) => Some(format!("every {} {at}", week_days(day)?)),
                (day, "*") => {
                    let day = i8::try_from(number(day)?).ok()?;
                    Some(format!("every month on {} {at}", nth(day, "day")))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn week_days(text: &str) -> Option<String> {
    const DAYS: [&str; 8] =
        ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let day = |text: &str| {
        let by_name = DAYS.iter().find(|day| text.len() == 3 && day.starts_with(&text.to_ascii_lowercase()));
        by_name.or_else(|| DAYS.get(text.parse::<usize>().ok()?)).map(|day| (*day).to_owned())
    };
    match text.split_once('-') {
        Some((first, last)) => Some(format!("{} to {}", day(first)?, day(last)?)),
        None => text.split(',').map(day).collect::<Option<Vec<_>>>().map(|days| list(&days)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(timing: &str, words: &str) {
        let when: When = serde_json::from_str(&format!(r#"{{"state":"enabled"{timing}}}"#)).unwrap();
        assert_eq!(when.to_string(), words);
    }

    #[test]
    fn once_is_once() {
        check("", "once");
        check(r#","startTime":"2026-03-01T12:00:00Z""#, "once at 2026-03-01 12:00:00 UTC");
        check(
            r#","at":"2026-03-01T12:00:00","timeZone":"Asia/Tokyo""#,
            "once at 2026-03-01 12:00:00, Asia/Tokyo",
        );
    }

    #[test]
    fn rules_are_read_aloud() {
        let recurrence =
            |members: &str, words| check(&format!(r#","recurrence":{{"frequency":{members}}}"#), words);
        recurrence(r#""minute""#, "every minute");
        recurrence(r#""hour","interval":6,"count":10"#, "every 6 hours, 10 times");
        recurrence(
            r#""day","schedule":{"hours":[9,17],"minutes":[0,30]}"#,
            "every day at 09:00, 09:30, 17:00 and 17:30",
        );
        recurrence(
            r#""week","schedule":{"weekDays":["monday"],"hours":[5]}"#,
            "every week on monday at hour 5",
        );
        recurrence(
            r#""month","schedule":{"monthDays":[1,22,-1,-3]},"endTime":"2026-12-01T00:00:00Z""#,
            "every month on the 1st day, the 22nd day, the last day and the 3rd day from the end, until 2026-12-01 00:00:00 UTC",
        );
        recurrence(
            r#""month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":-1},{"day":"monday"}]}"#,
            "every month on the last friday and each monday",
        );
    }

    #[test]
    fn usual_cron_expressions_are_read_aloud_and_others_are_shown() {
        let cron = |text: &str, words| check(&format!(r#","recurrence":{{"cron":"{text}"}}"#), words);
        cron("*/5 * * * *", "every 5 minutes");
        cron("15 * * * *", "every hour at minute 15");
        cron("0 */4 * * *", "every 4 hours");
        cron("0 3 * * *", "every day at 03:00");
        cron("30 18 * * 1-5", "every monday to friday at 18:30");
        cron("0 9 * * mon,7", "every monday and sunday at 09:00");
        cron("0 0 11 * *", "every month on the 11th day at 00:00");
        cron("@daily", "every day at 00:00");
        cron("*/10 * * * * *", "every 10 seconds");
        cron("0 3 1 1 *", "cron 0 3 1 1 *");
        cron("0 9-17 * * 1", "cron 0 9-17 * * 1");
    }
}
