//! `sortie job create`: creates a job.

use clap::Args;
use hyper::header::{HeaderValue, IF_NONE_MATCH};
use serde_json::json;

use super::JSON;
use super::definition::Definition;
use super::name::JobName;
use super::recurrence;
use super::view::{JobItem, second};
use crate::client::{self, Answer, Call};
use crate::failure::{Failure, code_of};
use crate::session::Session;

/// Create a job
///
/// It calls a URL or starts a workflow: once, immediately or at a given time, or repeatedly with --every or --cron. A job
/// that already exists is not changed.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie job create ops/ping --uri http://127.0.0.1:7101/healthz --every 5m --create-collection\n  sortie job create ops/report --workflow report --cron '0 3 * * 1-5' --time-zone Europe/Berlin\n  sortie job create ops/later --uri https://example.com/hook --body hello --at +10m"
)]
pub struct CreateJob {
    /// The job, as COLLECTION/JOB
    job: JobName,
    #[command(flatten)]
    definition: Definition,
    /// Create the collection if it does not exist
    #[arg(long)]
    create_collection: bool,
}

impl CreateJob {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let body = self.definition.whole()?.to_string();
        let mut sent = self.send(&mut session, &body).await;
        let missing = |sent: &anyhow::Result<Answer>| {
            sent.as_ref().is_err_and(|error| code_of(error) == Some("unknown_collection"))
        };
        if self.create_collection && missing(&sent) {
            create_collection(&mut session, &self.job.collection).await?;
            sent = self.send(&mut session, &body).await;
        }
        let answer = sent.map_err(|error| self.explain(error, &session.program()))?;
        session.show(&answer, || Ok(describe(&answer.value()?, &session.program())))
    }

    async fn send(&self, session: &mut Session, body: &str) -> anyhow::Result<Answer> {
        let call = Call::put(self.job.path(""), JSON, body.to_owned());
        session.client.send(call.header(IF_NONE_MATCH, HeaderValue::from_static("*"))).await
    }

    fn explain(&self, error: anyhow::Error, program: &str) -> anyhow::Error {
        let JobName { collection, .. } = &self.job;
        match code_of(&error) {
            Some("exists") => Failure::No(format!(
                "job {} already exists; change it with: {program} job update {}",
                self.job, self.job
            ))
            .into(),
            Some("unknown_collection") => Failure::No(format!(
                "no collection is named '{collection}'; add --create-collection to create it"
            ))
            .into(),
            _ => error,
        }
    }
}

/// Creates a collection with the default plan, unless it has been created concurrently.
async fn create_collection(session: &mut Session, collection: &str) -> anyhow::Result<()> {
    let path = client::path("/v1/collections/{}", &[collection]);
    let call = Call::put(path, JSON, json!({}).to_string());
    let made = session.client.send(call.header(IF_NONE_MATCH, HeaderValue::from_static("*"))).await;
    match made {
        Err(error) if code_of(&error) != Some("exists") => Err(error),
        _ => Ok(()),
    }
}

fn describe(job: &JobItem, program: &str) -> String {
    let name = job.full_name();
    let when = recurrence::describe(&job.properties);
    let next = match (job.properties.status.next_execution_time, job.properties.state.as_str()) {
        (_, "disabled") => format!("it is disabled; enable it with: {program} job enable {name}"),
        (Some(next), _) => format!("next run at {} UTC", second(next)),
        (None, _) => "it never runs: its schedule has no future time".to_owned(),
    };
    format!("created job {name}: {when}\n{next}\nsee it with: {program} job show {name}\n")
}
