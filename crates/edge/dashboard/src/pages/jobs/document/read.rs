//! Reads a job's document from the form values.

use serde_json::{Map, Value, json};

use super::WEEK_DAYS;
use crate::components::controls::FieldValues;

/// An invalid value: the control, and why.
pub(in super::super) type Wrong = (String, String);

/// The document for the form values. Text that is not a number is passed on as typed; the API explains what is wrong.
pub(in super::super) fn document(texts: &FieldValues) -> Result<Value, Vec<Wrong>> {
    let mut form = FormReader { texts, wrong: Vec::new() };
    let mut members = Map::new();
    let action = form.call("").map(|mut action| {
        if let Some(error) = form.call("error_") {
            action.insert("errorAction".to_owned(), Value::Object(error));
        }
        action
    });
    members.insert("action".to_owned(), Value::Object(action.unwrap_or_default()));
    form.put_timing(&mut members);
    for name in ["state", "missed", "overlap", "jitter"] {
        form.put(&mut members, name, name);
    }
    form.put(&mut members, "timeZone", "time_zone");
    let mut clocks = Map::new();
    form.put(&mut clocks, "gap", "gap");
    form.put(&mut clocks, "repeat", "repeat");
    if !clocks.is_empty() {
        members.insert("clockChange".to_owned(), Value::Object(clocks));
    }
    if form.wrong.is_empty() { Ok(Value::Object(members)) } else { Err(form.wrong) }
}

struct FormReader<'a> {
    texts: &'a FieldValues,
    wrong: Vec<Wrong>,
}

impl<'a> FormReader<'a> {
    fn text(&self, control: &str) -> &'a str {
        self.texts.get(control).map_or("", |text| text.trim())
    }

    /// A text exactly as typed; none if it is empty.
    fn raw(&self, control: &str) -> Option<Value> {
        self.texts.get(control).filter(|text| !text.is_empty()).map(|text| text.as_str().into())
    }

    fn put(&self, members: &mut Map<String, Value>, name: &str, control: &str) {
        let text = self.text(control);
        if !text.is_empty() {
            members.insert(name.to_owned(), text.into());
        }
    }

    fn put_number(&self, members: &mut Map<String, Value>, name: &str, control: &str) {
        let text = self.text(control);
        if !text.is_empty() {
            members.insert(name.to_owned(), text.parse::<i64>().map_or_else(|_| text.into(), Value::from));
        }
    }

    fn numbers(&mut self, control: &str) -> Option<Value> {
        let parts: Vec<&str> = self.text(control).split([',', ' ']).filter(|part| !part.is_empty()).collect();
        if parts.is_empty() {
            return None;
        }
        let numbers: Result<Vec<i64>, _> = parts.iter().map(|part| part.parse::<i64>()).collect();
        match numbers {
            Ok(numbers) => Some(json!(numbers)),
            Err(_) => {
                let why = "must be whole numbers separated by commas, such as 9, 17".to_owned();
                self.wrong.push((control.to_owned(), why));
                None
            }
        }
    }

    fn put_timing(&mut self, members: &mut Map<String, Value>) {
        match self.text("mode") {
            "at" => return self.put(members, "at", "at"),
            "every" | "cron" => {
                let recurrence = self.recurrence();
                members.insert("recurrence".to_owned(), Value::Object(recurrence));
            }
            _ => {}
        }
        self.put(members, "startTime", "start");
    }

    fn recurrence(&mut self) -> Map<String, Value> {
        let mut recurrence = Map::new();
        if self.text("mode") == "cron" {
            self.put(&mut recurrence, "cron", "cron");
        } else {
            self.put(&mut recurrence, "frequency", "frequency");
            self.put_number(&mut recurrence, "interval", "interval");
            let schedule = self.schedule();
            if !schedule.is_empty() {
                recurrence.insert("schedule".to_owned(), Value::Object(schedule));
            }
        }
        self.put_number(&mut recurrence, "count", "count");
        self.put(&mut recurrence, "endTime", "end");
        recurrence
    }

    fn schedule(&mut self) -> Map<String, Value> {
        let mut schedule = Map::new();
        for (control, name) in [("minutes", "minutes"), ("hours", "hours"), ("month_days", "monthDays")] {
            if let Some(numbers) = self.numbers(control) {
                schedule.insert(name.to_owned(), numbers);
            }
        }
        let days: Vec<&str> =
            WEEK_DAYS.into_iter().filter(|day| self.text(&format!("day_{day}")) == "true").collect();
        if !days.is_empty() {
            schedule.insert("weekDays".to_owned(), json!(days));
        }
        schedule
    }

    /// An action; none if the form has none.
    fn call(&mut self, prefix: &str) -> Option<Map<String, Value>> {
        let at = |control: &str| format!("{prefix}{control}");
        let mut call = Map::new();
        match self.text(&at("kind")) {
            "http" => {
                let secure = self.text(&at("uri")).to_ascii_lowercase().starts_with("https:");
                call.insert("type".to_owned(), if secure { "Https" } else { "Http" }.into());
                let request = self.request(prefix);
                call.insert("request".to_owned(), Value::Object(request));
            }
            "workflow" => {
                call.insert("type".to_owned(), "Workflow".into());
                let start = self.start(prefix);
                call.insert("workflow".to_owned(), Value::Object(start));
            }
            kind @ ("queue" | "topic") => {
                call.insert("type".to_owned(), if kind == "queue" { "Queue" } else { "Topic" }.into());
                let mut target = Map::new();
                self.put(&mut target, "name", &at(&format!("{kind}_name")));
                let message = self.raw(&at(&format!("{kind}_message")));
                target.insert("message".to_owned(), message.unwrap_or_else(|| "".into()));
                call.insert(kind.to_owned(), Value::Object(target));
            }
            _ => return None,
        }
        let mut retry = Map::new();
        self.put(&mut retry, "retryType", &at("retry"));
        if !matches!(self.text(&at("retry")), "" | "none") {
            self.put(&mut retry, "retryInterval", &at("retry_interval"));
            self.put_number(&mut retry, "retryCount", &at("retry_count"));
        }
        if self.text(&at("retry")) == "exponential" {
            self.put(&mut retry, "maxRetryInterval", &at("retry_max"));
        }
        if !retry.is_empty() {
            call.insert("retryPolicy".to_owned(), Value::Object(retry));
        }
        Some(call)
    }

    fn request(&mut self, prefix: &str) -> Map<String, Value> {
        let at = |control: &str| format!("{prefix}{control}");
        let mut request = Map::new();
        self.put(&mut request, "method", &at("method"));
        self.put(&mut request, "uri", &at("uri"));
        if let Some(body) = self.raw(&at("body")) {
            request.insert("body".to_owned(), body);
        }
        let mut headers = Map::new();
        for line in self.text(&at("headers")).lines().filter(|line| !line.trim().is_empty()) {
            match line.split_once(':') {
                Some((name, value)) => headers.insert(name.trim().to_owned(), value.trim().into()),
                None => {
                    self.wrong
                        .push((at("headers"), format!("{line:?} has no colon; the format is NAME: VALUE")));
                    None
                }
            };
        }
        if !headers.is_empty() {
            request.insert("headers".to_owned(), Value::Object(headers));
        }
        let authentication = self.authentication(prefix);
        if !authentication.is_empty() {
            request.insert("authentication".to_owned(), Value::Object(authentication));
        }
        request
    }

    fn authentication(&self, prefix: &str) -> Map<String, Value> {
        let kind = self.text(&format!("{prefix}auth"));
        let fields: &[(&str, &str)] = match kind {
            "Basic" => &[("username", "auth_username"), ("password", "auth_password")],
            "ClientCertificate" => &[("pfx", "auth_pfx"), ("password", "auth_pfx_password")],
            "ActiveDirectoryOAuth" => &[
                ("tenant", "auth_tenant"),
                ("audience", "auth_audience"),
                ("clientId", "auth_client"),
                ("secret", "auth_secret"),
            ],
            _ => return Map::new(),
        };
        let mut members = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        for (name, control) in fields {
            let control = format!("{prefix}{control}");
            // Secrets are not trimmed.
            let value = if matches!(*name, "password" | "secret") { self.raw(&control) } else { None };
            match value {
                Some(value) => drop(members.insert((*name).to_owned(), value)),
                None => self.put(&mut members, name, &control),
            }
        }
        members
    }

    fn start(&mut self, prefix: &str) -> Map<String, Value> {
        let at = |control: &str| format!("{prefix}{control}");
        let mut start = Map::new();
        self.put(&mut start, "name", &at("workflow_name"));
        self.put(&mut start, "id", &at("workflow_id"));
        let text = self.text(&at("workflow_body"));
        if !text.is_empty() {
            match serde_json::from_str(text) {
                Ok(body) => drop(start.insert("body".to_owned(), body)),
                Err(error) => self.wrong.push((at("workflow_body"), format!("not valid JSON: {error}"))),
            }
        }
        start
    }
}
