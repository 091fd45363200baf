//! `sortie run retry`: retries the failed steps of a parked run.

use api_types::{DecisionKind, DecisionRequest};
use clap::Args;

use crate::run::decide::send;
use crate::session::Session;

/// Retry the failed steps of a parked run
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie run retry delivery-7 --note \"the drone service is back\"")]
pub struct Retry {
    /// The id of the run
    id: String,
    /// Only this step; default: every failed step
    #[arg(long, value_name = "S", conflicts_with = "from")]
    step: Option<String>,
    /// Restart from this step: it and all steps after it are called again
    #[arg(long, value_name = "S", requires = "note")]
    from: Option<String>,
    /// Why; stored in the timeline of the run. Required with --from
    #[arg(long)]
    note: Option<String>,
}

impl Retry {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        let decision = if self.from.is_some() { DecisionKind::RetryFrom } else { DecisionKind::Retry };
        let step = self.from.or(self.step);
        let note = self.note.unwrap_or_default();
        let request = DecisionRequest { decision, step, output: None, action: None, note };
        send(session, &self.id, &request).await
    }
}
