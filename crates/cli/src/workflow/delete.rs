//! `sortie workflow delete`: deletes a workflow.

use clap::Args;
use serde::Serialize;

use crate::client::{self, Call};
use crate::session::Session;

/// Delete a workflow
///
/// It stops accepting requests. Runs in progress continue to their end.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie workflow delete drone-reschedule")]
pub struct DeleteWorkflow {
    /// The name of the workflow
    name: String,
}

#[derive(Serialize)]
struct DeletedWorkflow<'a> {
    deleted: &'a str,
}

impl DeleteWorkflow {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let path = client::path("/v1/workflows/{}", &[&self.name]);
        session.client.send(Call::delete(path)).await?;
        session.show_value(&DeletedWorkflow { deleted: &self.name }, || format!("deleted {}\n", self.name))
    }
}
