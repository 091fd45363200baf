//! `sortie run cancel`: cancels a run.

use clap::Args;

use crate::client::{self, Call};
use crate::names::NameKind;
use crate::run::decide::describe;
use crate::session::Session;

/// Cancel a run: its completed steps are undone
///
/// Rejected once the run is past its pivot: from there it only goes forward.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie run cancel delivery-7")]
pub struct Cancel {
    /// The id of the run
    id: String,
}

impl Cancel {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let path = client::path("/v1/runs/{}/cancel", &[&self.id]);
        let answer = session.find(Call::post_nothing(path), NameKind::Run, &self.id).await?;
        session.show(&answer, || Ok(describe("cancel requested", &answer.value()?, &session.program())))
    }
}
