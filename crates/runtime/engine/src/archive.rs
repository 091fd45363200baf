//! Runs as the view stores them: whole, in one value.

use journal::codec::{self, Unreadable};
use kernel::Run;
use types::Timestamp;
use view::EndedRun;

/// A run that has ended, as the view stores it.
pub(crate) fn ended(run: &Run) -> EndedRun {
    EndedRun {
        id: run.request.id.clone(),
        workflow: run.request.workflow.clone(),
        version: run.request.version,
        key: run.request.key.clone(),
        status: run.status(),
        accepted_at: run.request.accepted_at,
        ended_at: run.ended_at().unwrap_or(Timestamp(0)),
        body_hash: run.request.body_hash,
        reason: run.reason(),
        detail: codec::encode(run),
    }
}

/// The run inside an entry of the view. Its plan is not part of it.
pub fn open(ended: &EndedRun) -> Result<Run, Unreadable> {
    codec::decode(&ended.detail)
}
