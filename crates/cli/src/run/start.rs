//! `sortie run start`: submits one or many requests.

mod lines;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use crate::client::{self, Answer, Call};
use crate::failure::Failure;
use crate::run::{RunState, say};
use crate::session::Session;

/// Start a run of a workflow
///
/// The request is JSON, from a file or from standard input. Submitting the same request with the same id again does
/// not start a new run: it shows the existing one.
///
/// With --lines it submits the requests of a file; each line names its workflow and id.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie run start drone-delivery --file delivery.json\n  echo '{…}' | sortie run start drone-delivery --id delivery-7 -\n  sortie run start --lines tail.jsonl"
)]
pub struct StartRun {
    /// The name of the workflow
    #[arg(required_unless_present = "lines")]
    workflow: Option<String>,
    /// The id of the run; by default taken from the request, or generated
    #[arg(long)]
    id: Option<String>,
    /// The file with the request; `-` is standard input
    #[arg(long, value_name = "F", conflicts_with = "standard_input")]
    file: Option<PathBuf>,
    /// `-` reads the request from standard input
    #[arg(value_name = "-", value_parser = ["-"])]
    standard_input: Option<String>,
    /// A file with one request per line, as `sortie region tail --requests` prints them; `-` is standard input
    #[arg(long, value_name = "F", conflicts_with_all = ["workflow", "id", "file", "standard_input"])]
    lines: Option<PathBuf>,
}

impl StartRun {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        let workflow = match (&self.workflow, &self.lines) {
            (Some(workflow), _) => workflow,
            (None, Some(file)) => return lines::hand_in(file, session).await,
            (None, None) => return Err(Failure::Usage("name the workflow".to_owned()).into()),
        };
        let body = self.body()?;
        let call = match &self.id {
            None => Call::post(client::path("/v1/workflows/{}/runs", &[workflow]), JSON, body),
            Some(id) => Call::put(client::path("/v1/workflows/{}/runs/{}", &[workflow, id]), JSON, body),
        };
        let answer = session.client.send(call).await?;
        session.show(&answer, || Ok(describe(&answer.value()?, is_repeat(&answer), &session.program())))?;
        Ok(ExitCode::SUCCESS)
    }

    fn body(&self) -> anyhow::Result<Vec<u8>> {
        match &self.file {
            Some(file) if file != Path::new("-") => {
                std::fs::read(file).with_context(|| format!("reading {}", file.display()))
            }
            named => {
                let asked = named.is_some() || self.standard_input.is_some();
                if !asked && std::io::stdin().is_terminal() {
                    let hint = "pass the request with --file F, or on standard input with -";
                    return Err(Failure::Usage(hint.to_owned()).into());
                }
                let mut body = Vec::new();
                std::io::stdin().read_to_end(&mut body).context("reading standard input")?;
                Ok(body)
            }
        }
    }
}

const JSON: &str = "application/json";

fn is_repeat(answer: &Answer) -> bool {
    answer.headers.get("idempotent-replay").is_some_and(|value| value == "true")
}

fn describe(run: &RunState, repeat: bool, program: &str) -> String {
    let id = &run.id;
    let first = if repeat {
        format!("run {id} already exists; it is {}", say(run.status))
    } else {
        format!("accepted run {id}")
    };
    format!("{first}\nsee it with: {program} run show {id}\n")
}
