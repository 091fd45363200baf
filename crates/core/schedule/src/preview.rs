//! The input of a preview: a job as far as its time goes, and from when and how many occurrences to list.

use serde_json::{Map, Value};
use types::{Ticks, Timestamp, Timing};

use crate::date::Date;
use crate::job::{rules, settle};
use crate::limits::Limits;
use crate::problem::{Problems, Report};
use crate::shape::{Mode, ShapeReader, require};
use crate::shapes::PREVIEW;
use crate::timing::{self, Clock};

/// Occurrences that are listed unless a number is given.
const COUNT_DEFAULT: u32 = 10;

/// What to preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub timing: Timing,
    pub now: Ticks,
    pub count: u32,
}

/// Reads a preview, flat or with the members of the job below `properties`. A whole job will do: what does
/// not concern its time is passed over.
pub fn read_preview(body: &Value, limits: &Limits, now: Timestamp) -> Result<Preview, Problems> {
    let mut report = Report::default();
    let mut reader = ShapeReader { mode: Mode::Whole, report: &mut report };
    let (mut members, path) = read_members(body, &mut reader);
    settle::aliases(&mut members, path, &mut report);
    settle::defaults(&mut members);
    let now = date(&members, "now").unwrap_or_else(|| now.into());
    require(&PREVIEW, &members, path, &mut report);
    rules::check_time(&members, path, limits, now.floor(), &mut report);
    if let Some(Ok(instant)) = timing::at_instant(&members) {
        members.insert("atInstant".to_owned(), Date(instant).to_string().into());
    }
    if !report.is_empty() {
        return Err(report.into_problems());
    }
    let count = members.get("count").and_then(Value::as_u64).and_then(|count| count.try_into().ok());
    match serde_json::from_value::<Clock>(Value::Object(members)) {
        Ok(clock) => Ok(Preview { timing: clock.timing(), now, count: count.unwrap_or(COUNT_DEFAULT) }),
        Err(_) => Err(Problems::one(path, "is not a job that can be previewed")),
    }
}

/// The canonical members, and where those of the job stand.
fn read_members(body: &Value, reader: &mut ShapeReader) -> (Map<String, Value>, &'static str) {
    let is = |written: &str, name: &str| written.eq_ignore_ascii_case(name);
    let written = body.as_object();
    let properties = written.and_then(|written| written.iter().find(|(name, _)| is(name, "properties")));
    let (Some(written), Some((_, properties))) = (written, properties) else {
        return (reader.object(&PREVIEW, body, "").unwrap_or_default(), "");
    };
    let mut members = reader.object(&PREVIEW, properties, "properties").unwrap_or_default();
    let mut beside = written.clone();
    beside
        .retain(|name, _| !["properties", "id", "type", "name", "etag"].iter().any(|known| is(name, known)));
    members.extend(reader.object(&PREVIEW, &Value::Object(beside), "").unwrap_or_default());
    (members, "properties")
}

fn date(members: &Map<String, Value>, name: &str) -> Option<Ticks> {
    members.get(name)?.as_str()?.parse::<Date>().ok().map(|date| date.0)
}
