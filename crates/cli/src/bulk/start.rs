//! Starts a bulk operation: dry run, confirmation, then progress.

use api_types::{BulkAction, BulkPreview, BulkRequest, BulkSelect, BulkView, DecisionKind, Time};
use clap::Args;
use types::RunStatus;

use super::confirm::{self, Confirmation};
use super::{follow, show};
use crate::client::Call;
use crate::failure::Failure;
use crate::session::Session;
use crate::when;

/// The selection of runs and the options.
#[derive(Debug, Args)]
pub struct BulkStartArgs {
    /// Only runs of this workflow
    #[arg(long)]
    workflow: Option<String>,
    /// Only runs with this key
    #[arg(long)]
    key: Option<String>,
    /// Accepted at or after this time, or this long ago: 2026-03-01T12:00:00Z or 90m
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Time>,
    /// Accepted before this time, or this long ago
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: Option<Time>,
    /// Only runs whose failure reason contains this text
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Only this run; may be repeated
    #[arg(long = "id", value_name = "ID", conflicts_with_all = ["workflow", "key", "from", "to", "reason"])]
    ids: Vec<String>,
    /// At most this many runs per second
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate: u32,
    /// Why; stored in the timelines of the runs. Required for resolve
    #[arg(long, default_value = "")]
    note: String,
    /// Only show what would be done
    #[arg(long, conflicts_with_all = ["yes", "detach"])]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Do not wait until it has ended
    #[arg(long)]
    detach: bool,
}

/// Runs that can be cancelled.
#[derive(Debug, Args)]
pub struct Forward {
    /// Only runs with this status: queued or running
    #[arg(long, conflicts_with = "ids")]
    status: Option<RunStatus>,
}

/// Runs that can be started again.
#[derive(Debug, Args)]
pub struct BulkEnd {
    /// Runs with this status: undone, given_up or completed
    #[arg(long, required_unless_present = "ids", conflicts_with = "ids")]
    status: Option<RunStatus>,
}

impl Forward {
    pub fn status(&self) -> Option<RunStatus> {
        self.status
    }
}

impl BulkEnd {
    pub fn status(&self) -> Option<RunStatus> {
        self.status
    }
}

impl BulkStartArgs {
    /// Refuses a decision without a note.
    pub fn needs_note(&self) -> Result<(), Failure> {
        if self.note.trim().is_empty() && !self.dry_run {
            return Err(Failure::Usage(
                "--note is required: it is stored in the timelines of the runs".to_owned(),
            ));
        }
        Ok(())
    }

    pub async fn run(
        self,
        mut session: Session,
        action: BulkAction,
        status: Option<RunStatus>,
        decision: Option<DecisionKind>,
        step: Option<String>,
    ) -> anyhow::Result<()> {
        let (yes, dry_run, detach) = (self.yes, self.dry_run, self.detach);
        let mut request = self.request(action, status, decision, step);
        request.dry_run = true;
        let answer = session.client.send(call(&request)?).await?;
        let found: BulkPreview = answer.value()?;
        if dry_run {
            return session.show(&answer, || Ok(show::preview(&found, &session.screen)));
        }
        if found.matched.count == 0 && !found.matched.at_least {
            return session.show(&answer, || Ok("No run matches; nothing was changed.\n".to_owned()));
        }
        if !yes && confirm::person(&session, &request, &found)? == Confirmation::No {
            return session.show(&answer, || Ok("Nothing was changed.\n".to_owned()));
        }
        request.dry_run = false;
        let answer = session.client.send(call(&request)?).await?;
        let bulk: BulkView = answer.value()?;
        if detach {
            let program = session.program();
            return session.show(&answer, || {
                Ok(format!("bulk operation {} started\nfollow it with: {program} bulk show {0}\n", bulk.id))
            });
        }
        follow::to_the_end(session, bulk).await
    }

    fn request(
        self,
        action: BulkAction,
        status: Option<RunStatus>,
        decision: Option<DecisionKind>,
        step: Option<String>,
    ) -> BulkRequest {
        let BulkStartArgs { workflow, key, from, to, reason, ids, rate, note, .. } = self;
        let select = BulkSelect { workflow, status, key, from, to, reason };
        BulkRequest {
            select: ids.is_empty().then_some(select),
            ids,
            action,
            decision,
            step,
            note,
            rate: Some(rate),
            dry_run: false,
        }
    }
}

fn call(request: &BulkRequest) -> anyhow::Result<Call> {
    Ok(Call::post("/v1/bulk", "application/json", serde_json::to_vec(request)?))
}

fn time(text: &str) -> Result<Time, String> {
    when::parse(text, when::now())
}
