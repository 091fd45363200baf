//! `sortie workflow delete`: takes a workflow out of force.

use clap::Args;
use serde::Serialize;

use crate::client::{self, Call};
use crate::session::Session;

/// Take a workflow out of force
///
/// It takes no more requests. Runs that have started go on to their end.
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
        session.show_value(&DeletedWorkflow { deleted: &self.name }, || {
            format!("{} is out of force\n", self.name)
        })
    }
}
