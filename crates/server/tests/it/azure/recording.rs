//! The recordings in `testdata/azure-scheduler`, and how an answer differs from one.

use std::path::{Path, PathBuf};

use serde_json::Value;
use types::Timestamp;

use crate::jobs_world::ticks;

pub struct Recording {
    pub number: u32,
    pub name: String,
    /// When it was recorded.
    pub now: Timestamp,
    pub steps: Vec<Value>,
}

impl Recording {
    /// All recordings with steps, which are those up to 23.
    pub fn all() -> Vec<Recording> {
        let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
        let mut all: Vec<Recording> =
            entries.filter_map(|path| read(&path)).filter(|recording| recording.number < 24).collect();
        all.sort_by_key(|recording| recording.number);
        let numbers: Vec<u32> = all.iter().map(|recording| recording.number).collect();
        assert_eq!(numbers, (1..=23).collect::<Vec<_>>(), "a recording is missing");
        all
    }

    pub fn numbered(number: u32) -> Recording {
        Recording::all().into_iter().find(|recording| recording.number == number).unwrap()
    }

    /// Says how much was compared; all of it must have been.
    #[track_caller]
    pub fn finish(&self, compared: usize) {
        println!("{}: {compared} of {} steps compared", self.name, self.steps.len());
        assert_eq!(compared, self.steps.len(), "{}: a step was not compared", self.name);
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/azure-scheduler")
}

fn read(path: &Path) -> Option<Recording> {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let number = name.split_once('_')?.0.parse().ok()?;
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).ok()?;
    let now = match &document["_meta"]["now"] {
        // Nothing in these depends on the time.
        Value::Null => Timestamp(1_459_364_168_000),
        now => ticks(now).floor(),
    };
    let steps = document["steps"].as_array().cloned().unwrap_or_default();
    Some(Recording { number, name, now, steps })
}

/// Where an answer is not what was recorded. The order of members does not count.
pub fn differences(recorded: &Value, answered: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(recorded, answered, "", &mut found);
    found
}

fn compare(recorded: &Value, answered: &Value, at: &str, found: &mut Vec<String>) {
    match (recorded, answered) {
        (Value::Object(recorded), Value::Object(answered)) => {
            for (name, value) in recorded {
                match answered.get(name) {
                    Some(answered) => compare(value, answered, &format!("{at}/{name}"), found),
                    None => found.push(format!("{at}/{name} is missing, recorded as {value}")),
                }
            }
            for (name, value) in answered.iter().filter(|(name, _)| !recorded.contains_key(*name)) {
                found.push(format!("{at}/{name} was not recorded, answered as {value}"));
            }
        }
        (Value::Array(recorded), Value::Array(answered)) if recorded.len() == answered.len() => {
            for (index, (recorded, answered)) in recorded.iter().zip(answered).enumerate() {
                compare(recorded, answered, &format!("{at}/{index}"), found);
            }
        }
        (recorded, answered) if recorded == answered => {}
        _ => found.push(format!("{at} is {answered}, recorded as {recorded}")),
    }
}

/// The members of a value without what they hold.
pub fn shape(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), shape(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(shape).collect()),
        Value::Null => Value::Null,
        Value::Bool(_) => "bool".into(),
        Value::Number(_) => "number".into(),
        Value::String(_) => "text".into(),
    }
}

#[test]
fn a_difference_of_any_kind_is_found() {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let recorded = json(r#"{ "a": 1, "b": [1, 2], "c": { "d": null } }"#);
    assert_eq!(differences(&recorded, &json(r#"{ "c": { "d": null }, "b": [1, 2], "a": 1 }"#)), [""; 0]);
    for other in [
        r#"{ "a": 2, "b": [1, 2], "c": { "d": null } }"#,
        r#"{ "a": 1, "b": [2, 1], "c": { "d": null } }"#,
        r#"{ "a": 1, "b": [1], "c": { "d": null } }"#,
        r#"{ "a": 1, "b": [1, 2], "c": {} }"#,
        r#"{ "a": 1, "b": [1, 2], "c": { "d": null }, "e": 1 }"#,
    ] {
        assert_ne!(differences(&recorded, &json(other)), [""; 0], "{other}");
    }
}
