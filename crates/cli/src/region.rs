//! `sortie region`: which region is active, and how the two change places.

mod render;
mod requests;

use std::process::ExitCode;
use std::time::Duration;

use api_types::{DrillView, PromotedView, RegionView};
use clap::{Args, Subcommand};

use crate::client::Call;
use crate::session::Session;
use crate::watch::WatchArgs;

/// How long a promotion may take beyond an ordinary call: the pair's instances let go, then its mirrors catch up.
const PROMOTION: Duration = Duration::from_secs(120);
/// How long a drill with a switch and one back may take: everything is copied anew in between.
const SWITCH_AND_BACK: Duration = Duration::from_secs(2 * 60 * 60);
const JSON: &str = "application/json";

/// See which region is active, and make the other one so
///
/// Each command speaks to the region of the server that it asks: name one of its servers with --url.
#[derive(Debug, Subcommand)]
pub enum RegionCommand {
    Status(RegionStatus),
    Promote(Promote),
    /// Make this region let go of everything; without a witness nobody is active until one of the two is promoted
    #[command(after_help = "Example:\n  sortie region demote --url http://east-1:7070")]
    Demote,
    Drill(Drill),
    Tail(RegionTail),
}

/// Show this region and its pair, and how far the mirrors are
#[derive(Debug, Args)]
#[command(visible_alias = "show", after_help = "Example:\n  sortie region status --url http://west-1:7070")]
pub struct RegionStatus {
    #[command(flatten)]
    watch: WatchArgs,
}

/// Make this region the active one; nothing is lost, unless it is forced
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sortie region promote --url http://west-1:7070\n  \
                        sortie region promote --force     the other region is gone\n  \
                        sortie region promote --force --incomplete     and this one was never level")]
pub struct Promote {
    /// Go on without the other region: what it has not sent yet is lost
    #[arg(long)]
    force: bool,
    /// Even if this region has never had everything: what it does not have is lost
    #[arg(long, requires = "force")]
    incomplete: bool,
}

/// List what this region had when it was overtaken, and its pair never got
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sortie region tail\n  \
                        sortie region tail --requests --url http://east-1:7070 > tail.jsonl\n  \
                        sortie run start --lines tail.jsonl --url http://west-1:7070     hands them in again")]
pub struct RegionTail {
    /// Print its requests, one in a line, to be handed in again; needs the role admin
    #[arg(long)]
    requests: bool,
}

/// Check that a switch would work
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sortie region drill\n  sortie region drill --switch")]
pub struct Drill {
    /// Make a planned switch to the other region, and one back
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
