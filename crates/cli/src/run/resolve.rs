//! `sortie run resolve`: decides on a step of a parked run.

use api_types::{DecisionKind, DecisionRequest};
use clap::Args;
use serde_json::value::RawValue;

use crate::run::decide::send;
use crate::session::Session;

/// Resolve a failed step of a parked run
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie run resolve delivery-7 --step package --by-hand --note \"removed at the depot\""
)]
pub struct Resolve {
    /// The id of the run
    id: String,
    /// The step; `sortie run show` lists the unresolved ones
    #[arg(long, value_name = "S")]
    step: String,
    #[command(flatten)]
    way: DecisionArgs,
    /// With --by-hand: the output of the step
    #[arg(long, value_name = "JSON", conflicts_with_all = ["skip", "instead"], value_parser = json)]
    output: Option<Box<RawValue>>,
    /// Why; stored in the timeline of the run
    #[arg(long)]
    note: String,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct DecisionArgs {
    /// Skip the step's call or undo
    #[arg(long)]
    skip: bool,
    /// The call or undo was done manually
    #[arg(long)]
    by_hand: bool,
    /// Run this action instead of the step's call or undo
    #[arg(long, value_name = "ACTION-JSON", value_parser = json)]
    instead: Option<Box<RawValue>>,
}

impl Resolve {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        let decision = match &self.way {
            DecisionArgs { instead: Some(_), .. } => DecisionKind::Instead,
            DecisionArgs { by_hand: true, .. } => DecisionKind::ByHand,
            DecisionArgs { .. } => DecisionKind::Skip,
        };
        let request = DecisionRequest {
            decision,
            step: Some(self.step),
            output: self.output,
            action: self.way.instead,
            note: self.note,
        };
        send(session, &self.id, &request).await
    }
}

fn json(text: &str) -> Result<Box<RawValue>, String> {
    serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))
}
