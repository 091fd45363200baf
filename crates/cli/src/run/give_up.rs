//! `sortie run give-up`: ends a parked run in its current state.

use api_types::{DecisionKind, DecisionRequest};
use clap::Args;

use crate::run::decide::send;
use crate::session::Session;

/// End a parked run in its current state, without undoing anything
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie run give-up delivery-7 --note \"the customer was called\"")]
pub struct GiveUp {
    /// The id of the run
    id: String,
    /// Why; stored in the timeline of the run
    #[arg(long)]
    note: String,
}

impl GiveUp {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        let decision = DecisionKind::GiveUp;
        let request = DecisionRequest { decision, step: None, output: None, action: None, note: self.note };
        send(session, &self.id, &request).await
    }
}
