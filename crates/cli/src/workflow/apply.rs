//! `sortie workflow apply`: deploys definitions.

use std::path::PathBuf;

use api_types::AppliedView;
use clap::Args;
use hyper::header::{HeaderValue, IF_MATCH};

use crate::client::{Answer, Call};
use crate::failure::{Failure, describe_field};
use crate::session::Session;
use crate::workflow::check::{CheckResponse, check_all};

/// Deploy definitions
///
/// All files are checked before the first is sent. Runs that have started keep the version they started with.
/// Applying the active definition again changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie workflow apply drone-delivery.yaml")]
pub struct ApplyWorkflow {
    /// Definitions in YAML or JSON; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Only if this version is the active one
    #[arg(long, value_name = "N")]
    if_version: Option<u32>,
}

impl ApplyWorkflow {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        for checked in check_all(&self.files)? {
            let answer = send(&mut session, &checked, self.if_version).await?;
            let applied: AppliedView = answer.value()?;
            session.show(&answer, || Ok(describe(&applied)))?;
        }
        Ok(())
    }
}

async fn send(
    session: &mut Session,
    checked: &CheckResponse,
    if_version: Option<u32>,
) -> anyhow::Result<Answer> {
    let mut call = Call::post("/v1/workflows", "application/yaml", checked.source.clone());
    if let Some(version) = if_version {
        let version = HeaderValue::from_str(&format!("\"{version}\""))?;
        call = call.header(IF_MATCH, version);
    }
    session.client.send(call).await.map_err(|error| name_the_file(checked, error))
}

/// Reports problems found by the server like those found locally.
fn name_the_file(checked: &CheckResponse, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Refused(problem)) if matches!(problem.status, 400 | 422) => {
            let file = checked.file.display();
            let mut lines = vec![format!("{file}: {}", problem.detail)];
            lines.extend(problem.errors.iter().map(|error| format!("{file}: {}", describe_field(error))));
            Failure::Definition(lines).into()
        }
        _ => error,
    }
}

fn describe(applied: &AppliedView) -> String {
    let AppliedView { name, version, changed } = applied;
    if *changed {
        format!("{name}: version {version} is active\n")
    } else {
        format!("{name}: version {version} was already active, nothing changed\n")
    }
}
