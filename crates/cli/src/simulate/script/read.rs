//! Reads a script of services; every problem with its line, its field and the fix.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::tz::TimeZone;
use outbound::ServiceResponse;
use types::{Timestamp, WorkKind};
use workflow::document::{Field, Fields, Report, YamlKind, root};
use workflow::{Problems, did_you_mean, document};

use super::{
    FAULTS, Glob, LATENCY, Pattern, Rounds, Rule, Script, ScriptedReply, ScriptedResponse, TimeWindow,
};

/// What a script can speak of.
#[derive(Debug, Default)]
pub struct KnownNames {
    /// The services of the workflow; none for a job.
    pub services: Vec<String>,
    pub steps: Vec<String>,
    /// When the simulation begins.
    pub begin: Timestamp,
}

const SCRIPT: [&str; 4] = ["time_zone", "default", "services", "sortie_down"];
const RULE: [&str; 7] = ["step", "work", "method", "path", "during", "answers", "repeat"];
const ANSWER: [&str; 6] = ["status", "body", "headers", "fault", "latency", "times"];
const WORKS: [&str; 4] =
    [WorkKind::Do.name(), WorkKind::Alternative.name(), WorkKind::Undo.name(), WorkKind::Notice.name()];
/// Answers of one rule, repetitions included.
const ANSWERS_MAX: usize = 10_000;

/// Reads a script.
pub fn read(source: &str, known: &KnownNames) -> Result<Script, Problems> {
    let mut report = Report::default();
    let Some(node) = document::read(source, &mut report) else {
        return report.finish(None);
    };
    let script = Fields::read(&root(&node), &SCRIPT, &mut report).map(|fields| {
        let zone = fields.get("time_zone").and_then(|zone| time_zone(&zone, &mut report));
        let mut reader = ScriptReader { known, zone: zone.unwrap_or(TimeZone::UTC), report: &mut report };
        Script {
            default: fields.get("default").and_then(|answer| reader.reply(&answer)).map(|(reply, _)| reply),
            rules: fields.get("services").map(|services| reader.services(&services)).unwrap_or_default(),
            down: fields.get("sortie_down").map(|down| reader.windows(&down)).unwrap_or_default(),
        }
    });
    report.finish(script)
}

fn time_zone(field: &Field<'_>, report: &mut Report) -> Option<TimeZone> {
    let name = field.text(report)?;
    let zone =
        TimeZone::get(name).map_err(|_| format!("unknown time zone '{name}'; use a name like Europe/Berlin"));
    field.checked(zone, report)
}

struct ScriptReader<'a> {
    known: &'a KnownNames,
    zone: TimeZone,
    report: &'a mut Report,
}

impl ScriptReader<'_> {
    fn services(&mut self, field: &Field<'_>) -> Vec<Rule> {
        let Some(services) = Fields::read_any(field, self.report) else { return Vec::new() };
        let mut rules = Vec::new();
        for (name, at, field) in services.iter() {
            if let Err(message) = self.pattern(name) {
                self.report.add_at(at, &field.path, message);
            }
            for item in one_or_many(&field) {
                rules.extend(self.rule(name, &item));
            }
        }
        rules
    }

    fn pattern(&self, name: &str) -> Result<Pattern, String> {
        if self.known.services.iter().any(|known| known == name) {
            return Ok(Pattern::Name(name.to_owned()));
        }
        if name.contains([':', '*', '/']) {
            return Ok(Pattern::Url(Glob(name.to_owned())));
        }
        let known = &self.known.services;
        if known.is_empty() {
            return Err("a job has no services; write how its URL begins, like http://example.com/, or '*'"
                .to_owned());
        }
        let hint = did_you_mean(name, known.iter().map(String::as_str));
        Err(format!("the workflow has no such service; it has {}{hint}", known.join(", ")))
    }

    fn rule(&mut self, service: &str, field: &Field<'_>) -> Option<Rule> {
        let fields = Fields::read(field, &RULE, self.report)?;
        let step = fields.get("step").and_then(|step| self.step(&step));
        let work = fields.get("work").and_then(|work| work.one_of(&WORKS, self.report));
        let method = fields.get("method").and_then(|method| method.text(self.report)).map(str::to_owned);
        let path = fields.get("path").and_then(|path| self.path(&path));
        let during = fields.get("during").map(|during| self.windows(&during)).unwrap_or_default();
        let rounds = fields.get("repeat").and_then(|repeat| self.rounds(&repeat));
        let replies = fields.require("answers", self.report).map(|answers| self.replies(&answers));
        let line = fields.at.line;
        Some(Rule {
            line,
            service: self.pattern(service).ok()?,
            step,
            work,
            method,
            path,
            during,
            replies: replies.filter(|replies| !replies.is_empty())?,
            rounds: rounds.unwrap_or(Rounds::LastStays),
            given: 0,
        })
    }

    fn step(&mut self, field: &Field<'_>) -> Option<String> {
        let name = field.text(self.report)?;
        let known = &self.known.steps;
        if known.iter().any(|step| step == name) {
            return Some(name.to_owned());
        }
        let hint = did_you_mean(name, known.iter().map(String::as_str));
        field.wrong(format!("no step '{name}'; there is {}{hint}", known.join(", ")), self.report);
        None
    }

    fn path(&mut self, field: &Field<'_>) -> Option<Glob> {
        let path = field.text(self.report)?;
        if path.starts_with(['/', '*']) {
            return Some(Glob(path.to_owned()));
        }
        field.wrong("a path begins with '/'; '*' stands for anything", self.report);
        None
    }

    fn windows(&mut self, field: &Field<'_>) -> Vec<TimeWindow> {
        let mut windows = Vec::new();
        for item in one_or_many(field) {
            let Some(text) = item.text(self.report) else { continue };
            let window = TimeWindow::parse(text, self.known.begin, &self.zone);
            windows.extend(item.checked(window, self.report));
        }
        windows
    }

    fn rounds(&mut self, field: &Field<'_>) -> Option<Rounds> {
        let times = match &field.node.kind {
            YamlKind::Text(text) if text == "forever" => return Some(Rounds::Forever),
            YamlKind::Number(number) => number.as_u64().and_then(|times| usize::try_from(times).ok()),
            _ => None,
        };
        match times.filter(|times| (1..=ANSWERS_MAX).contains(times)) {
            Some(times) => Some(Rounds::Times(times)),
            None => {
                field.wrong(format!("must be 'forever' or a number from 1 to {ANSWERS_MAX}"), self.report);
                None
            }
        }
    }

    fn replies(&mut self, field: &Field<'_>) -> Vec<ScriptedReply> {
        let mut replies = Vec::new();
        for item in one_or_many(field) {
            let Some((reply, times)) = self.reply(&item) else { continue };
            replies.extend(std::iter::repeat_n(reply, times));
            if replies.len() > ANSWERS_MAX {
                item.wrong(format!("a rule has at most {ANSWERS_MAX} answers; use repeat"), self.report);
                return Vec::new();
            }
        }
        if replies.is_empty() {
            field.wrong("name at least one answer, like 503, timeout or { status: 200 }", self.report);
        }
        replies
    }

    /// A response and how many times it is given: a status, a named fault, or a map with more.
    fn reply(&mut self, field: &Field<'_>) -> Option<(ScriptedReply, usize)> {
        let plain = |what| Some((ScriptedReply { what, latency: LATENCY }, 1));
        match &field.node.kind {
            YamlKind::Number(_) => {
                plain(self.status(field).map(|status| answer(status, HeaderMap::new(), Bytes::new()))?)
            }
            YamlKind::Text(_) => plain(self.fault(field)?),
            _ => self.reply_of_map(field),
        }
    }

    fn reply_of_map(&mut self, field: &Field<'_>) -> Option<(ScriptedReply, usize)> {
        let fields = Fields::read(field, &ANSWER, self.report)?;
        let latency = fields.span("latency", self.report).unwrap_or(LATENCY);
        let times = fields.count("times", ANSWERS_MAX as u32, self.report).map_or(1, |times| times as usize);
        let what = match (fields.get("fault"), fields.get("status")) {
            (Some(fault), None) => self.fault(&fault)?,
            (Some(fault), Some(_)) => {
                fault.wrong("an answer has a fault or a status, not both", self.report);
                return None;
            }
            (None, status) => {
                let status = status.map_or(Some(200), |status| self.status(&status))?;
                let headers =
                    fields.get("headers").map_or(Some(HeaderMap::new()), |field| self.headers(&field))?;
                answer(status, headers, fields.get("body").map(|body| body_of(&body)).unwrap_or_default())
            }
        };
        Some((ScriptedReply { what, latency }, times))
    }

    fn status(&mut self, field: &Field<'_>) -> Option<u16> {
        let status = match &field.node.kind {
            YamlKind::Number(number) => number.as_u64().and_then(|status| u16::try_from(status).ok()),
            _ => None,
        };
        let status = status.filter(|status| (200..=599).contains(status));
        if status.is_none() {
            field.wrong("must be an HTTP status from 200 to 599", self.report);
        }
        status
    }

    fn fault(&mut self, field: &Field<'_>) -> Option<ScriptedResponse> {
        let word = field.one_of(&FAULTS.map(|(word, _)| word), self.report)?;
        FAULTS.into_iter().find(|(known, _)| *known == word).map(|(_, said)| said)
    }

    fn headers(&mut self, field: &Field<'_>) -> Option<HeaderMap> {
        let fields = Fields::read_any(field, self.report)?;
        let mut headers = HeaderMap::new();
        for (name, at, value) in fields.iter() {
            let text = value.scalar(self.report)?;
            match (HeaderName::try_from(name), HeaderValue::try_from(&text)) {
                (Ok(name), Ok(value)) => {
                    headers.append(name, value);
                }
                _ => self.report.add_at(at, &value.path, "not a valid HTTP header"),
            }
        }
        Some(headers)
    }
}

fn answer(status: u16, headers: HeaderMap, body: Bytes) -> ScriptedResponse {
    ScriptedResponse::Answer(ServiceResponse { status, headers, body })
}

/// Text as it stands, anything else as JSON.
fn body_of(field: &Field<'_>) -> Bytes {
    match &field.node.kind {
        YamlKind::Text(text) => Bytes::from(text.clone()),
        _ => Bytes::from(field.node.to_json().to_string()),
    }
}

/// The items of a list, or the one value that stands for a list of one.
fn one_or_many<'n>(field: &Field<'n>) -> Vec<Field<'n>> {
    match &field.node.kind {
        YamlKind::List(items) => {
            let item = |(n, node)| Field { path: format!("{}[{n}]", field.path), node };
            items.iter().enumerate().map(item).collect()
        }
        _ => vec![field.clone()],
    }
}
