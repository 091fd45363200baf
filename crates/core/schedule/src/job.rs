//! A job's document: read from what clients write, kept in one canonical form.

mod certificates;
mod patch;
pub(crate) mod rules;
pub(crate) mod settle;

pub use patch::JobPatch;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use types::{JobSpec, Ticks, Timestamp};

use crate::action::Action;
use crate::authentication::Secret;
use crate::date::{Date, Moment};
use crate::duration::Duration;
use crate::limits::Limits;
use crate::problem::{Problems, Report};
use crate::shape::{Mode, ShapeReader, require};
use crate::shapes::{JOB, JOB_PROPERTIES};
use crate::spelling::{Missed, Overlap, Switch};
use crate::timing::{self, Clock, ClockChangeRule, Recurrence};

/// A job as its client described it, valid and in canonical form.
///
/// Serialized it is the stored form, secrets included; what clients read is [`JobDocument::render`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobDocument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start_time: Option<Date>,
    pub(crate) action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recurrence: Option<Recurrence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time_zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clock_change: Option<ClockChangeRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missed: Option<Missed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) overlap: Option<Overlap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<Duration>,
    pub(crate) state: Switch,
    /// What `at` came to when it was written; stored, never shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_instant: Option<Date>,
}

/// Reads the body of a PUT. Secrets in it are plain: seal them before the document is stored.
pub fn read_job(body: &Value, limits: &Limits, now: Timestamp) -> Result<JobDocument, Problems> {
    let mut report = Report::default();
    let mut reader = ShapeReader { mode: Mode::Whole, report: &mut report };
    let mut members = reader.object(&JOB, body, "").unwrap_or_default();
    let Some(Value::Object(mut properties)) = members.remove("properties") else {
        if body.is_object() && !report.mentions("properties") {
            report.add("properties", "required");
        }
        return Err(report.into_problems());
    };
    settle::aliases(&mut properties, "properties", &mut report);
    settle::unspecified(&mut properties, Mode::Whole);
    finish(properties, limits, now, report)
}

/// Reads the body of a PATCH. Secrets in it are plain: seal them before it is merged.
pub fn read_job_patch(body: &Value) -> Result<JobPatch, Problems> {
    patch::read(body)
}

/// Checks canonical members as a whole and makes a document of them.
fn finish(
    mut properties: Map<String, Value>,
    limits: &Limits,
    now: Timestamp,
    mut report: Report,
) -> Result<JobDocument, Problems> {
    settle::defaults(&mut properties);
    require(&JOB_PROPERTIES, &properties, "properties", &mut report);
    rules::check(&properties, limits, now, &mut report);
    if let Some(Ok(instant)) = timing::at_instant(&properties) {
        properties.insert("atInstant".to_owned(), Date(instant).to_string().into());
    }
    if !report.is_empty() {
        return Err(report.into_problems());
    }
    let Ok(document) = serde_json::from_value::<JobDocument>(Value::Object(properties)) else {
        // The cause may quote a secret, so it stays out of the message.
        return Err(Problems::one("properties", "is not a job that can be kept"));
    };
    let bytes = document.public().stored().len();
    if bytes > limits.job_bytes_max {
        let message = format!("the job is {bytes} bytes of JSON; at most {} are kept", limits.job_bytes_max);
        return Err(Problems::one("properties", message));
    }
    Ok(document)
}

impl JobDocument {
    /// This document changed by a patch, checked as if all of it had been written now.
    pub fn patched(
        &self,
        patch: &JobPatch,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<JobDocument, Problems> {
        let mut report = Report::default();
        let properties = patch.merged_into(self, &mut report);
        finish(properties, limits, now, report)
    }

    /// The same document with another wish for its state.
    pub fn with_enabled(&self, enabled: bool) -> JobDocument {
        JobDocument { state: if enabled { Switch::Enabled } else { Switch::Disabled }, ..self.clone() }
    }

    /// What the kernel decides by.
    pub fn spec(&self) -> JobSpec {
        JobSpec {
            timing: self.clock().timing(),
            retry: self.action.retry(),
            alternative: self.action.alternative(),
            missed: self.missed.map_or_else(Default::default, types::Missed::from),
            overlap: self.overlap.map_or_else(Default::default, types::Overlap::from),
            enabled: self.state == Switch::Enabled,
            authenticates: self.action.authenticates(),
        }
    }

    fn clock(&self) -> Clock {
        Clock {
            start_time: self.start_time,
            recurrence: self.recurrence.clone(),
            at_instant: self.at_instant,
            time_zone: self.time_zone.clone(),
            clock_change: self.clock_change,
            jitter: self.jitter.clone(),
        }
    }

    pub fn action(&self) -> &Action {
        &self.action
    }

    /// When it is to begin, if it says so.
    pub fn start(&self) -> Option<Ticks> {
        self.at_instant.or(self.start_time).map(|date| date.0)
    }

    /// The action as it is kept, secrets included, for whoever carries it out.
    pub fn action_json(&self) -> String {
        serde_json::to_string(&self.action).expect("a canonical action is JSON")
    }

    /// The whole document as it is kept, secrets included.
    pub fn stored(&self) -> String {
        serde_json::to_string(self).expect("a canonical job is JSON")
    }

    /// The document that [`JobDocument::stored`] has written.
    pub fn from_stored(text: &str) -> Result<JobDocument, serde_json::Error> {
        let document: JobDocument = serde_json::from_str(text)?;
        match &document.recurrence {
            Some(Recurrence { cron: None, frequency: None, .. }) => {
                Err(serde::de::Error::custom("the recurrence has neither frequency nor cron"))
            }
            _ => Ok(document),
        }
    }

    /// Shows every secret with its path to `visit`, which may replace it; stops at its first error.
    pub fn visit_secrets<E>(
        &mut self,
        mut visit: impl FnMut(&str, &mut String) -> Result<(), E>,
    ) -> Result<(), E> {
        self.action.visit_secrets("properties.action", &mut |path, secret| match secret.text_mut() {
            Some(text) => visit(path, text),
            None => Ok(()),
        })
    }

    /// The document without its secrets.
    pub(crate) fn public(&self) -> JobDocument {
        let mut document = self.clone();
        let Ok(()) = document.action.visit_secrets("", &mut |_, secret: &mut Secret| {
            secret.remove();
            Ok::<(), std::convert::Infallible>(())
        });
        document
    }
}

impl fmt::Debug for JobDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.public().stored())
    }
}
