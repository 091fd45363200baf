//! A job given as options or as a file: complete to create it, partial to change it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::action::ActionArgs;
use super::timing::{Every, Timing};
use super::view::JobProperties;
use crate::failure::Failure;
use crate::file;

#[derive(Debug, Args)]
pub struct Definition {
    #[command(flatten)]
    pub action: ActionArgs,
    #[command(flatten)]
    pub timing: Timing,
    /// Stop after this many occurrences
    #[arg(long, value_name = "N", conflicts_with = "at", help_heading = "Schedule")]
    pub count: Option<u32>,
    /// Which missed occurrences run after the server was down: the latest, all, or none
    #[arg(long, value_parser = ["latest", "all", "skip"], help_heading = "Schedule")]
    pub missed: Option<String>,
    /// What happens to an occurrence that is due while the previous one is still running
    #[arg(long, value_parser = ["skip", "queue", "allow"], help_heading = "Schedule")]
    pub overlap: Option<String>,
    /// Create or leave it disabled
    #[arg(long)]
    pub disabled: bool,
    /// The job as JSON, like {"properties": {…}}; `-` is standard input
    #[arg(long, value_name = "F")]
    pub file: Option<PathBuf>,
}

/// What an update can remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Clear {
    Schedule,
    Start,
    End,
    Count,
    TimeZone,
    Jitter,
    Missed,
    Overlap,
    Headers,
    Body,
    Retry,
    ErrorAction,
}

impl Definition {
    /// The body that creates the job.
    pub fn whole(&self) -> anyhow::Result<Value> {
        if let Some(body) = self.read_file()? {
            return Ok(body);
        }
        let usage = |text: &str| Failure::Usage(text.to_owned());
        if self.action.uri.is_none() && self.action.workflow.is_none() {
            return Err(usage("an action is required: --uri URL, --workflow NAME or --file job.json").into());
        }
        if !self.timing.recurs() && (self.timing.end.is_some() || self.count.is_some()) {
            return Err(usage("--end and --count need a recurrence; add --cron or --every").into());
        }
        let mut properties = json!({});
        self.write(&mut properties, None)?;
        Ok(json!({ "properties": properties }))
    }

    /// The body that changes a job, with only what changes.
    pub fn change(&self, current: &JobProperties, cleared: &[Clear]) -> anyhow::Result<Value> {
        if let Some(body) = self.read_file()? {
            return Ok(body);
        }
        let mut properties = json!({});
        self.write(&mut properties, Some(current))?;
        if matches!(self.timing.every, Some(Every::Units { .. })) {
            // The hours and days of the previous recurrence do not apply to the new one.
            properties["recurrence"]["schedule"] = Value::Null;
        }
        for clear in cleared {
            clear.write(&mut properties);
        }
        if properties == json!({}) {
            return Err(
                Failure::Usage("nothing to change: add an option, --clear or --file".to_owned()).into()
            );
        }
        Ok(json!({ "properties": properties }))
    }

    fn read_file(&self) -> anyhow::Result<Option<Value>> {
        let Some(file) = &self.file else { return Ok(None) };
        let others = [self.count.is_some(), self.missed.is_some(), self.overlap.is_some(), self.disabled];
        if !self.action.is_empty() || !self.timing.is_empty() || others.contains(&true) {
            let text = "--file replaces all other options; put them into the file";
            return Err(Failure::Usage(text.to_owned()).into());
        }
        file::read_json(file).map(Some)
    }

    fn write(&self, properties: &mut Value, current: Option<&JobProperties>) -> Result<(), Failure> {
        self.action.write(properties, current)?;
        self.timing.write(properties);
        if let Some(count) = self.count {
            properties["recurrence"]["count"] = count.into();
        }
        for (name, text) in [("missed", &self.missed), ("overlap", &self.overlap)] {
            if let Some(text) = text {
                properties[name] = text.as_str().into();
            }
        }
        if self.disabled {
            properties["state"] = "disabled".into();
        }
        Ok(())
    }
}

impl Clear {
    fn write(self, properties: &mut Value) {
        let place = match self {
            Clear::Schedule => &mut properties["recurrence"],
            Clear::Start => &mut properties["startTime"],
            Clear::End => &mut properties["recurrence"]["endTime"],
            Clear::Count => &mut properties["recurrence"]["count"],
            Clear::TimeZone => &mut properties["timeZone"],
            Clear::Jitter => &mut properties["jitter"],
            Clear::Missed => &mut properties["missed"],
            Clear::Overlap => &mut properties["overlap"],
            Clear::Headers => &mut properties["action"]["request"]["headers"],
            Clear::Body => &mut properties["action"]["request"]["body"],
            Clear::Retry => &mut properties["action"]["retryPolicy"],
            Clear::ErrorAction => &mut properties["action"]["errorAction"],
        };
        *place = Value::Null;
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches};

    use super::*;

    /// The body of a change by these options.
    fn change(action: &str, line: &str, cleared: &[Clear]) -> String {
        let words = std::iter::once("update").chain(line.split_whitespace());
        let matches = Definition::augment_args(Command::new("update")).get_matches_from(words);
        let definition = Definition::from_arg_matches(&matches).unwrap();
        let current = format!(r#"{{"action":{action},"state":"enabled"}}"#);
        let body = definition.change(&serde_json::from_str(&current).unwrap(), cleared);
        body.map_or_else(|error| error.to_string(), |body| body["properties"].to_string())
    }

    const CALL: &str = r#"{"type":"Http","request":{"uri":"http://x/","method":"PUT"}}"#;
    const WORKFLOW: &str = r#"{"type":"Workflow","workflow":{"name":"w"}}"#;
    const QUEUE: &str =
        r#"{"type":"StorageQueue","queueMessage":{"storageAccount":"a","queueName":"q","message":"m"}}"#;

    #[test]
    fn only_what_is_named_changes_and_a_rule_replaces_the_one_before() {
        assert_eq!(
            change(CALL, "--every 1h", &[]),
            r#"{"recurrence":{"frequency":"hour","interval":1,"schedule":null}}"#
        );
        assert_eq!(change(CALL, "--cron @daily", &[]), r#"{"recurrence":{"cron":"@daily"}}"#);
        assert_eq!(
            change(CALL, "--count 3 --disabled", &[]),
            r#"{"recurrence":{"count":3},"state":"disabled"}"#
        );
        assert_eq!(
            change(CALL, "--uri https://y/", &[]),
            r#"{"action":{"request":{"uri":"https://y/"},"type":"Https"}}"#
        );
        assert_eq!(
            change(CALL, "", &[Clear::Retry, Clear::End]),
            r#"{"action":{"retryPolicy":null},"recurrence":{"endTime":null}}"#
        );
        assert!(change(CALL, "", &[]).contains("nothing to change"));
    }

    #[test]
    fn a_body_goes_where_the_job_sends_it() {
        assert_eq!(change(CALL, "--body b", &[]), r#"{"action":{"request":{"body":"b"}}}"#);
        assert_eq!(change(WORKFLOW, "--body [1]", &[]), r#"{"action":{"workflow":{"body":[1]}}}"#);
        assert_eq!(
            change(WORKFLOW, "--uri http://y/ --body b", &[]),
            r#"{"action":{"request":{"body":"b","method":"POST","uri":"http://y/"},"type":"Http"}}"#
        );
        assert!(change(WORKFLOW, "--method PUT", &[]).contains("no method"));
        assert!(change(QUEUE, "--body b", &[]).contains("--file"));
    }
}
