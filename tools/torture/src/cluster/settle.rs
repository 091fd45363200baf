//! Queries to a cluster whose partitions may be changing owner: retried at other instances for a while.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use types::RunStatus;

use crate::client::Client;
use crate::rig::TOKEN;
use crate::trial::{self, Statuses};

/// For one answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(15);
/// For an answer from anybody.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long nothing may end before the rest counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(200);

/// Asks one after another until one answers.
pub async fn asked<T>(
    addresses: &[SocketAddr],
    question: impl AsyncFn(&mut Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let began = Instant::now();
    let mut turns = addresses.iter().cycle();
    loop {
        let address = turns.next().context("there is no address to ask")?;
        let mut client = Client::new(*address, Some(TOKEN)).within(ANSWER_PATIENCE);
        match question(&mut client).await {
            Ok(answer) => return Ok(answer),
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// The current state of each run.
pub async fn statuses(addresses: &[SocketAddr], runs: &[String]) -> anyhow::Result<Statuses> {
    let mut all = Statuses::new();
    for part in runs.chunks(200) {
        let asked = asked(addresses, async |client: &mut Client| {
            let mut found = Statuses::new();
            for id in part {
                found.insert(id.clone(), trial::status(client, id).await?);
            }
            Ok(found)
        });
        all.extend(asked.await.context("asking for runs")?);
    }
    Ok(all)
}

/// Asks until every run has ended, is parked or is unknown, or until nothing moves any more.
pub async fn settle(addresses: &[SocketAddr], runs: &[String]) -> anyhow::Result<Statuses> {
    let mut settled = Statuses::new();
    let mut open = runs.to_vec();
    let mut moved = Instant::now();
    loop {
        let over = |status: &Option<RunStatus>| status.is_none_or(|s| s.is_final() || s == RunStatus::Parked);
        let asked = statuses(addresses, &open).await?;
        let (rest, still_open): (Statuses, Statuses) =
            asked.into_iter().partition(|(_, status)| over(status));
        if !rest.is_empty() {
            moved = Instant::now();
        }
        settled.extend(rest);
        open = still_open.keys().cloned().collect();
        if open.is_empty() || moved.elapsed() > STUCK_AFTER {
            settled.extend(still_open);
            return Ok(settled);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The ids of all runs that are listed.
pub async fn stored(addresses: &[SocketAddr]) -> anyhow::Result<BTreeSet<String>> {
    asked(addresses, async |client: &mut Client| trial::stored_at(client).await).await
}
