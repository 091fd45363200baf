//! What the state owes the outside. Effects are derived from it, so that recovery is nothing special.

use types::Work;

use crate::{Phase, Run, RunNo, State, Try};

/// One attempt that is owed to the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingCall {
    pub run: RunNo,
    pub attempt: Try,
}

impl State {
    /// Every attempt that must be called, or called again after a crash, with the same key.
    pub fn pending_calls(&self) -> impl Iterator<Item = PendingCall> {
        self.in_flight(|run, attempt| !is_orphan(run, attempt))
    }

    /// Attempts that were under way when the run turned back. They are not sent again: after a crash their
    /// outcome is simply unknown, and their undo covers them.
    pub fn orphans(&self) -> impl Iterator<Item = PendingCall> {
        self.in_flight(is_orphan)
    }

    fn in_flight(&self, chosen: fn(&Run, Try) -> bool) -> impl Iterator<Item = PendingCall> {
        self.runs().flat_map(move |run| {
            let attempts = run.in_flight().filter(move |attempt| chosen(run, *attempt));
            attempts.map(|attempt| PendingCall { run: run.no, attempt })
        })
    }
}

fn is_orphan(run: &Run, attempt: Try) -> bool {
    let forward = matches!(attempt.work, Work::Do(_) | Work::Alternative(_) | Work::DoInstead(_));
    forward && matches!(run.phase, Phase::Undoing { .. })
}
