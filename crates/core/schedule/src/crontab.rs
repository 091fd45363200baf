//! Crontabs, read into jobs: commands that call a URL become requests.

mod command;
mod shell;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use types::Timestamp;

use crate::job::read_job;
use crate::limits::{CRONTAB_LINES_MAX, Limits};
use crate::problem::{Problems, Report};
use crate::zone;

/// A line of a crontab as a job.
#[derive(Debug, Clone, PartialEq)]
pub struct CronLine {
    /// The number of the line, from 1.
    pub number: usize,
    /// A name for the job, made of what it calls; no two lines of a crontab share one.
    pub name: String,
    pub schedule: String,
    pub zone: Option<String>,
    /// The command as it stands in the crontab.
    pub command: String,
    /// The body of a PUT that creates the job.
    pub body: Value,
}

/// Where commands go that are not calls of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CrontabOptions<'a> {
    /// A URL that takes such a command as the body of a POST; `{line}` stands for the number of its line.
    pub uri_template: Option<&'a str>,
}

/// Reads a crontab. `CRON_TZ` and `TZ` set the zone of the lines that follow; other variables are passed over.
pub fn read_crontab(text: &str, options: CrontabOptions) -> Result<Vec<CronLine>, Problems> {
    let mut reader = CrontabReader { options, report: Report::default(), zone: None, names: BTreeSet::new() };
    let mut lines = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if n == CRONTAB_LINES_MAX {
            reader.report.add("", format!("a crontab has at most {CRONTAB_LINES_MAX} lines"));
            break;
        }
        lines.extend(reader.line(n + 1, line.trim()));
    }
    reader.report.finish(Some(lines))
}

struct CrontabReader<'a> {
    options: CrontabOptions<'a>,
    report: Report,
    zone: Option<String>,
    names: BTreeSet<String>,
}

impl CrontabReader<'_> {
    fn line(&mut self, number: usize, line: &str) -> Option<CronLine> {
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let place = format!("line {number}");
        if let Some((name, value)) = variable(line) {
            if matches!(name, "CRON_TZ" | "TZ") {
                match zone::name(value) {
                    Ok(zone) => self.zone = Some(zone),
                    Err(message) => self.report.add(&place, format!("{name}: {message}")),
                }
            }
            return None;
        }
        let problem = |message: String| Problems::one(place.clone(), message);
        match self.job(number, line, problem) {
            Ok(job) => Some(job),
            Err(problems) => {
                problems.iter().for_each(|problem| self.report.add(&problem.field, problem.message.as_str()));
                None
            }
        }
    }

    fn job(
        &mut self,
        number: usize,
        line: &str,
        problem: impl Fn(String) -> Problems,
    ) -> Result<CronLine, Problems> {
        let (schedule, command) = split(line).map_err(&problem)?;
        let request = match (command::request(command), self.options.uri_template) {
            (Ok(request), _) => request,
            (Err(_), Some(template)) => json!({
                "uri": template.replace("{line}", &number.to_string()),
                "method": "POST",
                "headers": {"Content-Type": "text/plain; charset=utf-8"},
                "body": command,
            }),
            (Err(message), None) => return Err(problem(message)),
        };
        let mut properties = json!({
            "action": {"type": "Http", "request": request},
            "recurrence": {"cron": schedule},
        });
        if let Some(zone) = &self.zone {
            properties["timeZone"] = zone.as_str().into();
        }
        let body = json!({ "properties": properties });
        // The server will say the same later, but by then without the number of the line.
        read_job(&body, &Limits::default(), Timestamp(0)).map_err(|found| problem(found.to_string()))?;
        let name = self.name(request["uri"].as_str().unwrap_or_default());
        Ok(CronLine { number, name, schedule, zone: self.zone.clone(), command: command.to_owned(), body })
    }

    /// A name of the host and the path of an address, with a number where it is taken.
    fn name(&mut self, uri: &str) -> String {
        let address = uri.split_once("://").map_or(uri, |(_, rest)| rest);
        let address = address.split(['?', '#']).next().unwrap_or_default();
        let mut name = String::new();
        for c in address.chars() {
            match c {
                c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
                _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
                _ => {}
            }
        }
        name.truncate(60);
        let name = match name.trim_end_matches('-') {
            "" => "job".to_owned(),
            name => name.to_owned(),
        };
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.names.contains(name));
        let free = free.expect("there are more numbers than lines");
        self.names.insert(free.clone());
        free
    }
}

/// `NAME=VALUE` with or without quotes and blanks around the sign.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(allowed) {
        return None;
    }
    let value = value.trim();
    let unquoted = ['"', '\''].iter().find_map(|mark| value.strip_prefix(*mark)?.strip_suffix(*mark));
    Some((name, unquoted.unwrap_or(value)))
}

/// The five fields or the macro, and the command.
fn split(line: &str) -> Result<(String, &str), String> {
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let mut rest = line;
    let mut schedule = Vec::new();
    for _ in 0..fields {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        schedule.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    if rest.is_empty() {
        return Err("needs five fields, or one like @daily, and a command after them".to_owned());
    }
    if schedule[0].eq_ignore_ascii_case("@reboot") {
        return Err("@reboot is not a time; start it with the machine, or give it one".to_owned());
    }
    Ok((schedule.join(" "), rest))
}

#[cfg(test)]
mod tests;
