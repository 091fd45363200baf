//! One request per line, each with its id: submitting the same file again starts nothing twice.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{JSON, is_repeat};
use crate::client::{self, Answer, Call};
use crate::failure::Failure;
use crate::session::Session;
use crate::table::clean;

/// Retries while the server is busy, and the delay between them.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(2);

/// The members of a line that are used; others are ignored.
#[derive(Deserialize)]
struct RequestLine {
    workflow: String,
    id: String,
    body: Option<Box<RawValue>>,
    text: Option<String>,
}

impl RequestLine {
    /// The original body: only identical bytes are the same request.
    fn body(&self) -> Option<String> {
        self.body.as_ref().map(|body| body.get().to_owned()).or_else(|| self.text.clone())
    }
}

/// Submits all lines of a file; continues after a rejected one, and reports the counts at the end.
pub(super) async fn hand_in(file: &Path, mut session: Session) -> anyhow::Result<ExitCode> {
    let reading = || format!("reading {}", file.display());
    let lines: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        Box::new(BufReader::new(std::fs::File::open(file).with_context(reading)?))
    };
    let (mut new, mut known, mut refused) = (0, 0, 0);
    for (number, line) in lines.lines().enumerate() {
        let line = line.with_context(reading)?;
        if line.trim().is_empty() {
            continue;
        }
        match hand_in_one(&line, &mut session).await {
            Ok((id, answer)) => {
                let (count, became) =
                    if is_repeat(&answer) { (&mut known, "already exists") } else { (&mut new, "accepted") };
                *count += 1;
                session.show(&answer, || Ok(format!("run {} {became}\n", clean(&id))))?;
            }
            Err(error) if concerns_all(&error) => return Err(error),
            Err(error) => {
                refused += 1;
                eprintln!("line {}: {}", number + 1, clean(&error.to_string()));
            }
        }
    }
    eprintln!("{new} accepted, {known} already existed, {refused} rejected");
    Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The id of a line's request, and the response.
async fn hand_in_one(line: &str, session: &mut Session) -> anyhow::Result<(String, Answer)> {
    let line: RequestLine = serde_json::from_str(line)?;
    let body = line.body().context("it has neither body nor text")?;
    let path = client::path("/v1/workflows/{}/runs/{}", &[&line.workflow, &line.id]);
    let mut tries = 0;
    loop {
        let answer = session.client.try_send(Call::put(path.clone(), JSON, body.clone())).await?;
        tries += 1;
        let busy = matches!(answer.status.as_u16(), 429 | 503);
        match session.client.check(answer) {
            Err(error) if busy && tries < TRIES && !concerns_all(&error) => tokio::time::sleep(PAUSE).await,
            checked => return Ok((line.id, checked?)),
        }
    }
}

/// Whether every further line would fail too: no server, no permission, or a standby region.
fn concerns_all(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(Failure::Unreachable { .. }) => true,
        Some(Failure::Refused(problem)) => matches!(problem.status, 401 | 403) || problem.code == "standby",
        _ => false,
    }
}
