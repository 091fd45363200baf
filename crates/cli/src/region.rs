//! `sortie region`: which region is active, and switching between the two.

mod render;
mod requests;

use std::process::ExitCode;
use std::time::Duration;

use api_types::{DrillView, PromotedView, RegionView};
use clap::{Args, Subcommand};

use crate::client::Call;
use crate::session::Session;
use crate::watch::WatchArgs;

/// How long a promotion may take beyond an ordinary call: the pair's instances release their partitions, then the mirrors catch up.
const PROMOTION: Duration = Duration::from_secs(120);
/// How long a drill with a switch and a switch back may take: everything is copied again in between.
const SWITCH_AND_BACK: Duration = Duration::from_secs(2 * 60 * 60);
const JSON: &str = "application/json";

/// Show which region is active, and switch to the other one
///
/// Each command applies to the region of the server it talks to: choose one with --url.
#[derive(Debug, Subcommand)]
pub enum RegionCommand {
    Status(RegionStatus),
    Promote(Promote),
    /// Demote this region; without a witness no region is active until one of the two is promoted
    #[command(after_help = "Example:\n  sortie region demote --url http://east-1:7070")]
    Demote,
    Drill(Drill),
    Tail(RegionTail),
}

/// Show this region and its pair, and the lag of the mirrors
#[derive(Debug, Args)]
#[command(visible_alias = "show", after_help = "Example:\n  sortie region status --url http://west-1:7070")]
pub struct RegionStatus {
    #[command(flatten)]
    watch: WatchArgs,
}

/// Make this region active; without data loss, unless it is forced
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sortie region promote --url http://west-1:7070\n  \
                        sortie region promote --force     the other region is lost\n  \
                        sortie region promote --force --incomplete     and this one was never in sync")]
pub struct Promote {
    /// Continue without the other region: what it has not replicated yet is lost
    #[arg(long)]
    force: bool,
    /// Even if this region was never in sync: what it lacks is lost
    #[arg(long, requires = "force")]
    incomplete: bool,
}

/// List the records of this region that its pair never received before taking over
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sortie region tail\n  \
                        sortie region tail --requests --url http://east-1:7070 > tail.jsonl\n  \
                        sortie run start --lines tail.jsonl --url http://west-1:7070     submits them again")]
pub struct RegionTail {
    /// Print the requests, one per line, to be submitted again; needs the role admin
    #[arg(long)]
    requests: bool,
}

/// Check that a switch would work
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sortie region drill\n  sortie region drill --switch")]
pub struct Drill {
    /// Perform a planned switch to the other region and back
    #[arg(long)]
    switch: bool,
}

async fn show(session: &mut Session) -> anyhow::Result<()> {
    let answer = session.client.send(Call::get("/v1/region")).await?;
    session.show(&answer, || Ok(render::status(&answer.value()?, &session.screen)))
}

impl RegionCommand {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        match self {
            RegionCommand::Status(status) => status.watch.each(session, show).await?,
            RegionCommand::Tail(RegionTail { requests: true }) => return requests::print(&mut session).await,
            RegionCommand::Tail(RegionTail { requests: false }) => {
                let region: RegionView = session.client.get("/v1/region").await?;
                session.show_value(&region.tail, || render::tail(&region, &session.screen))?;
            }
            RegionCommand::Promote(Promote { force, incomplete }) => {
                let body = serde_json::json!({ "force": force, "incomplete": incomplete }).to_string();
                let call = Call::post("/v1/region:promote", JSON, body).waiting(PROMOTION);
                let answer = session.client.send(call).await?;
                let promoted: PromotedView = answer.value()?;
                session.show(&answer, || Ok(render::promoted(&promoted)))?;
            }
            RegionCommand::Demote => {
                let call = Call::post("/v1/region:demote", JSON, "{}").waiting(PROMOTION);
                let answer = session.client.send(call).await?;
                session.show(&answer, || Ok(render::status(&answer.value()?, &session.screen)))?;
            }
            RegionCommand::Drill(Drill { switch }) => {
                let body = serde_json::json!({ "switch": switch }).to_string();
                let patience = if switch { SWITCH_AND_BACK } else { PROMOTION };
                let call = Call::post("/v1/region:drill", JSON, body).waiting(patience);
                let answer = session.client.send(call).await?;
                let drill: DrillView = answer.value()?;
                session.show(&answer, || Ok(render::drill(&drill, &session.screen)))?;
                if !drill.ready {
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
