//! The options for the schedule of a job.

use std::str::FromStr;

use clap::Args;
use schedule::{Date, Moment};
use serde_json::{Value, json};
use types::{Span, Ticks};

use crate::when;

#[derive(Debug, Default, Args)]
pub struct Timing {
    /// A cron expression with five fields, six with seconds first, or a shortcut like @daily
    #[arg(long, value_name = "EXPR", help_heading = "Schedule")]
    pub cron: Option<String>,
    /// At this interval: 30s, 5m, 2h, 1d, 1w or 1mo
    #[arg(long, value_name = "SPAN", conflicts_with = "cron", help_heading = "Schedule")]
    pub every: Option<Every>,
    /// Once, at this time: 2026-03-01T12:00:00Z, +10m from now, or without Z in --time-zone
    #[arg(long, value_name = "TIME", conflicts_with_all = ["cron", "every", "start", "end"], value_parser = moment, help_heading = "Schedule")]
    pub at: Option<String>,
    /// Not before this time, or +10m from now; the intervals of --every count from it
    #[arg(long, value_name = "TIME", value_parser = date, help_heading = "Schedule")]
    pub start: Option<String>,
    /// Not after this time, or +2h from now
    #[arg(long, value_name = "TIME", value_parser = date, help_heading = "Schedule")]
    pub end: Option<String>,
    /// The time zone of the schedule, for example Europe/Berlin; default UTC
    #[arg(long, value_name = "ZONE", help_heading = "Schedule")]
    pub time_zone: Option<String>,
    /// Delay each occurrence by a random time up to this, to spread the load
    #[arg(long, value_name = "SPAN", help_heading = "Schedule")]
    pub jitter: Option<Span>,
}

/// A recurrence in one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Every {
    /// Seconds, as a cron expression: the smallest frequency is a minute.
    Cron(String),
    Units {
        frequency: &'static str,
        interval: u32,
    },
}

impl Timing {
    pub fn is_empty(&self) -> bool {
        let Timing { cron, every, at, start, end, time_zone, jitter } = self;
        let texts = [cron, at, start, end, time_zone];
        texts.iter().all(|text| text.is_none()) && every.is_none() && jitter.is_none()
    }

    /// Whether it is a recurrence.
    pub fn recurs(&self) -> bool {
        self.cron.is_some() || self.every.is_some()
    }

    /// Writes the given options into the properties of a job.
    pub fn write(&self, properties: &mut Value) {
        let texts = [("at", &self.at), ("startTime", &self.start), ("timeZone", &self.time_zone)];
        for (name, text) in texts {
            if let Some(text) = text {
                properties[name] = text.as_str().into();
            }
        }
        if let Some(jitter) = self.jitter {
            properties["jitter"] = jitter.to_string().into();
        }
        let rule = match (&self.cron, &self.every) {
            (Some(cron), _) | (None, Some(Every::Cron(cron))) => Some(json!({ "cron": cron })),
            (None, Some(Every::Units { frequency, interval })) => {
                Some(json!({ "frequency": frequency, "interval": interval }))
            }
            (None, None) => None,
        };
        if let Some(rule) = rule {
            properties["recurrence"] = rule;
        }
        if let Some(end) = &self.end {
            properties["recurrence"]["endTime"] = end.as_str().into();
        }
    }
}

impl FromStr for Every {
    type Err = String;

    fn from_str(text: &str) -> Result<Every, String> {
        let wrong =
            || format!("{text:?} is not an interval; write a whole number and s, m, h, d, w or mo, like 5m");
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let interval: u32 = text[..digits].parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
        let frequency = match &text[digits..] {
            "s" if interval < 60 && 60u32.is_multiple_of(interval) => {
                return Ok(Every::Cron(format!("*/{interval} * * * * *")));
            }
            "s" if interval.is_multiple_of(60) => {
                return Ok(Every::Units { frequency: "minute", interval: interval / 60 });
            }
            "s" => return Err(format!("{interval} seconds do not divide a minute; use 30s, 20s, 10s or 5s")),
            "m" => "minute",
            "h" => "hour",
            "d" => "day",
            "w" => "week",
            "mo" => "month",
            _ => return Err(wrong()),
        };
        Ok(Every::Units { frequency, interval })
    }
}

/// A point in time, or `+10m` for that long from now, as the API reads it.
pub fn date(text: &str) -> Result<String, String> {
    if let Some(ahead) = ahead(text)? {
        return Ok(ahead);
    }
    text.parse::<Date>().map(|date| date.to_string()).map_err(|error| error.to_string())
}

/// As [`date`], but a time without an offset is passed on for the server to interpret.
fn moment(text: &str) -> Result<String, String> {
    if let Some(ahead) = ahead(text)? {
        return Ok(ahead);
    }
    text.parse::<Moment>().map(|moment| moment.to_string()).map_err(|error| error.to_string())
}

fn ahead(text: &str) -> Result<Option<String>, String> {
    let Some(span) = text.strip_prefix('+') else { return Ok(None) };
    let span = span.parse::<Span>().map_err(|error| error.to_string())?;
    Ok(Some(Date(Ticks::from(when::now() + span)).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> String {
        match text.parse::<Every>() {
            Ok(every) => {
                let mut properties = json!({});
                Timing { every: Some(every), ..Timing::default() }.write(&mut properties);
                properties["recurrence"].to_string()
            }
            Err(error) => error,
        }
    }

    #[test]
    fn a_rule_in_one_word_becomes_a_recurrence() {
        assert_eq!(rule("5m"), r#"{"frequency":"minute","interval":5}"#);
        assert_eq!(rule("1mo"), r#"{"frequency":"month","interval":1}"#);
        assert_eq!(rule("10s"), r#"{"cron":"*/10 * * * * *"}"#);
        assert_eq!(rule("120s"), r#"{"frequency":"minute","interval":2}"#);
        for (text, hint) in [("7s", "divide a minute"), ("0m", "like 5m"), ("5", "like 5m"), ("m", "like 5m")]
        {
            assert!(rule(text).contains(hint), "{text}: {}", rule(text));
        }
    }

    #[test]
    fn dates_are_read_here_and_local_times_stay_local() {
        assert_eq!(date("2026-03-01 12:00").unwrap(), "2026-03-01T12:00:00Z");
        assert_eq!(moment("2026-03-01T12:00:00+02:00").unwrap(), "2026-03-01T10:00:00Z");
        assert_eq!(moment("2026-03-01T12:00").unwrap(), "2026-03-01T12:00:00");
        assert!(date("+10m").unwrap().ends_with('Z'));
        assert!(date("+soon").unwrap_err().contains("like 500ms"));
        assert!(date("tomorrow").unwrap_err().contains("like 2026"));
    }
}
