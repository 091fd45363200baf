//! `sortie run retry`: tries again what failed in a parked run.

use api_types::{DecisionKind, DecisionRequest};
use clap::Args;

use crate::run::decide::send;
use crate::session::Session;

/// Try again what failed in a parked run
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie run retry delivery-7 --note \"the drone service is back\"")]
pub struct Retry {
    /// The id of the run
    id: String,
    /// Only this step; without it every step that failed
    #[arg(long, value_name = "S", conflicts_with = "from")]
    step: Option<String>,
    /// Go forward again from this step: it and all that comes after it is called again
    #[arg(long, value_name = "S", requires = "note")]
    from: Option<String>,
    /// Why; kept in the run's timeline. Needed with --from
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
