//! `sortie run resolve`: says what became of a step that waits for a person.

use api_types::{DecisionKind, DecisionRequest};
use clap::Args;
use serde_json::value::RawValue;

use crate::run::decide::send;
use crate::session::Session;

/// Say what becomes of a step that waits for a person
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie run resolve delivery-7 --step package --by-hand --note \"removed at the depot\""
)]
pub struct Resolve {
    /// The id of the run
    id: String,
    /// The step; `sortie run show` says which ones wait
    #[arg(long, value_name = "S")]
    step: String,
    #[command(flatten)]
    way: DecisionArgs,
    /// With --by-hand: what stands for the step's output
    #[arg(long, value_name = "JSON", conflicts_with_all = ["skip", "instead"], value_parser = json)]
    output: Option<Box<RawValue>>,
    /// Why; kept in the run's timeline
    #[arg(long)]
    note: String,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct DecisionArgs {
    /// Go on as if the step's call or undo had been done
    #[arg(long)]
    skip: bool,
    /// Somebody has done it by hand
    #[arg(long)]
    by_hand: bool,
    /// Try this action in place of the step's call or undo
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
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}
