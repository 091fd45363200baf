//! The backlog of a server, and waiting until it is empty.

use std::time::Duration;

use anyhow::ensure;
use api_types::PartitionView;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::load::Measured;
use crate::client::ApiClient;

const POLL: Duration = Duration::from_millis(20);
/// A server that makes no progress for this long is stuck.
pub const STALL_MAX: Duration = Duration::from_secs(60);

/// How far a server is with what it was given.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub ended: u64,
    pub unfinished: u64,
    /// Of those unfinished: what has become runs.
    pub live: u64,
    /// Calls in flight, or waiting for their service.
    pub calls: u64,
}

/// The response of `GET /v1/partitions`.
#[derive(Debug, Deserialize)]
struct Partitions {
    items: Vec<PartitionView>,
}

impl Progress {
    pub async fn of(client: &mut ApiClient) -> anyhow::Result<Progress> {
        let partitions: Partitions = client.get("/v1/partitions").await?;
        let mut progress = Progress { ended: 0, unfinished: 0, live: 0, calls: 0 };
        for partition in partitions.items {
            let reason = partition.reason.unwrap_or_default();
            ensure!(partition.state == "running", "partition {} stopped: {reason}", partition.partition);
            let live = partition.live_runs as u64;
            progress.live += live;
            progress.calls += partition.calls as u64;
            progress.unfinished += partition.inbox_tail.saturating_sub(partition.inbox_through) + live;
            progress.ended += partition.inbox_through.saturating_sub(live);
        }
        Ok(progress)
    }
}

/// Waits until nothing is unfinished and `wanted` runs have ended since there were `before`; fewer are an error only
/// when there is no progress. The bar moves along from where it is.
pub async fn wait_until_ended(
    client: &mut ApiClient,
    before: u64,
    wanted: u64,
    bar: &ProgressBar,
) -> anyhow::Result<u64> {
    let done_before = bar.position();
    let (mut last_ended, mut moved_at) = (0, Instant::now());
    loop {
        let progress = Progress::of(client).await?;
        let ended = progress.ended - before;
        bar.set_position(done_before + ended);
        if progress.unfinished == 0 && ended >= wanted {
            return Ok(ended);
        }
        if ended != last_ended {
            (last_ended, moved_at) = (ended, Instant::now());
        }
        if progress.unfinished == 0 && moved_at.elapsed() > Duration::from_secs(2) {
            return Ok(ended);
        }
        ensure!(
            moved_at.elapsed() < STALL_MAX,
            "{ended} of {wanted} runs have ended, {} have not, and there is no progress",
            progress.unfinished
        );
        tokio::time::sleep(POLL).await;
    }
}

/// What became of the acknowledged requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Account {
    /// Requests that were acknowledged, including those of the warm-up.
    pub accepted: u64,
    /// Requests with neither an acknowledgement nor a rejection: they may have been accepted.
    pub unknown: u64,
    pub ended: u64,
    pub lost: u64,
    /// Runs that were not requested.
    pub surplus: u64,
}

impl Account {
    fn new(accepted: u64, unknown: u64, ended: u64) -> Account {
        let lost = accepted.saturating_sub(ended);
        Account { accepted, unknown, ended, lost, surplus: ended.saturating_sub(accepted + unknown) }
    }

    /// Waits until all that was accepted has ended. `before` had ended before the load.
    pub async fn settle(
        client: &mut ApiClient,
        before: u64,
        loads: &[&Measured],
        bar: &ProgressBar,
    ) -> anyhow::Result<Account> {
        let accepted = loads.iter().map(|load| load.accepted_ever).sum();
        let unknown = loads.iter().map(|load| load.unknown_ever).sum();
        bar.set_length(accepted);
        let ended = wait_until_ended(client, before, accepted, bar).await?;
        Ok(Account::new(accepted, unknown, ended))
    }

    pub fn is_whole(&self) -> bool {
        self.lost == 0 && self.surplus == 0
    }

    pub fn describe(&self) -> String {
        let Account { accepted, unknown, ended, lost, surplus } = self;
        let more = if *surplus > 0 { format!(", {surplus} not requested") } else { String::new() };
        format!("{lost} of {accepted} accepted; {ended} runs ended, {unknown} answers unknown{more}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledged_run_without_an_end_is_lost_and_an_end_without_a_request_is_surplus() {
        let lost = |accepted, unknown, ended| {
            let account = Account::new(accepted, unknown, ended);
            (account.lost, account.surplus, account.is_whole())
        };
        assert_eq!(lost(10, 0, 10), (0, 0, true));
        assert_eq!(lost(10, 2, 11), (0, 0, true), "an unknown answer may have been an acknowledgement");
        assert_eq!(lost(10, 2, 13), (0, 1, false));
        assert_eq!(lost(10, 2, 9), (1, 0, false));
    }
}
