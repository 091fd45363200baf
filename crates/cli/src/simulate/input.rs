//! What a simulation is made of: the files that it reads, checked by the rules of the server.

use std::path::Path;
use std::str::FromStr;

use bytes::Bytes;
use jiff::tz::TimeZone;
use kernel::Request;
use schedule::{JobDocument, Limits};
use serde_json::{Value, json};
use types::{BodyHash, Key, RunId, Span, Timestamp};
use workflow::document::{self, Report};
use workflow::{BodyProblem, Definition};

use super::job::without_secrets;
use super::script::{self, KnownNames, Script};
use super::window;
use crate::failure::Failure;
use crate::file;
use crate::workflow::check;

/// A point in time, or a span after another.
#[derive(Debug, Clone, Copy)]
pub enum When {
    At(Timestamp),
    After(Span),
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<When, String> {
        if let Some(span) = text.strip_prefix('+') {
            return span
                .parse()
                .map(When::After)
                .map_err(|error: types::time::InvalidSpan| error.to_string());
        }
        let at = window::moment(text, &TimeZone::UTC);
        at.map(When::At)
            .ok_or_else(|| format!("{text:?} is not a point in time, such as 2026-03-01T12:00:00Z"))
    }
}

/// A definition with the files that it names put in.
pub fn read_workflow(file: &Path) -> anyhow::Result<Definition> {
    let checked = check::check_all(&[file.to_owned()])?;
    let source = checked.first().map(|checked| checked.source.as_str()).unwrap_or_default();
    Definition::parse(source).map_err(|problems| Failure::Definition(check::lines(file, &problems)).into())
}

/// The request that a client would submit, with the id and the key that the workflow takes from it.
pub fn request(definition: &Definition, text: &str, seed: u64, now: Timestamp) -> anyhow::Result<Request> {
    let body = if text.trim_start().starts_with(['{', '[', '"']) {
        text.as_bytes().to_vec()
    } else {
        file::read(Path::new(text))?
    };
    let taken = definition.take(&body).map_err(|problem| {
        let lines = match &problem {
            BodyProblem::Schema(problems) => {
                problems.iter().map(|problem| format!("request: {problem}")).collect()
            }
            problem => vec![format!("request: {problem}")],
        };
        Failure::Definition(lines)
    })?;
    let made = RunId::new(&format!("simulated-{seed}")).expect("letters, a dash and digits make an id");
    let id = taken.id.unwrap_or(made);
    Ok(Request {
        accepted_at: now,
        key: taken.key.unwrap_or_else(|| Key::from(id.clone())),
        id,
        workflow: definition.name().clone(),
        version: 1,
        body: Bytes::from(body),
        // There is only one request, so no duplicates.
        body_hash: BodyHash([0; 16]),
        trace: None,
    })
}

/// A job, named after its file. Its members may record_progress below `properties` or alone.
pub fn read_job(file: &Path, now: Timestamp) -> anyhow::Result<(String, JobDocument)> {
    let text = file::read_text(file)?;
    let mut report = Report::default();
    let node = document::read(&text, &mut report);
    let node = report.finish(node).map_err(|problems| Failure::Definition(check::lines(file, &problems)))?;
    let body = match node.to_json() {
        Value::Object(members) if !members.contains_key("properties") => json!({ "properties": members }),
        body => body,
    };
    let document = schedule::read_job(&body, &Limits::default(), now)
        .map_err(|problems| wrong(file, &problems.iter().map(ToString::to_string).collect::<Vec<_>>()))?;
    let name = file.file_stem().map_or("job".to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok((name, without_secrets(document)))
}

/// A script of services.
pub fn read_script(file: &Path, known: &KnownNames) -> anyhow::Result<Script> {
    let text = file::read_text(file)?;
    script::read(&text, known).map_err(|problems| Failure::Definition(check::lines(file, &problems)).into())
}

/// Describes what is wrong with a file.
pub fn wrong(file: &Path, problems: &[String]) -> anyhow::Error {
    let lines = problems.iter().map(|problem| format!("{}: {problem}", file.display()));
    Failure::Definition(lines.collect()).into()
}
