//! One trial: the server under load from clients, the services with their ledgers, and the audit of both.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use drone_delivery::{Entry, Service};
use hyper::{Method, StatusCode};
use serde::Deserialize;
use types::RunStatus;

use crate::audit::{Evidence, Findings, audit};
use crate::client::{Client, ShownRun};
use crate::dice::Dice;
use crate::load::{Load, Pace};
use crate::posts::Posts;
use crate::process::{Drones, ProcessEnvironment, Running, Sortie};
use crate::rig::{Rig, TOKEN};
use crate::workflow;

/// Acknowledged runs that are looked up after each restart.
const SAMPLE: usize = 20;
/// How long nothing may end before the rest counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// What exists during a fault: the services, the log of the clients, and how the server is started.
pub struct Trial {
    pub sortie: Sortie,
    pub posts: Arc<Posts>,
    drones: Drones,
}

impl Trial {
    pub fn new(
        rig: &Rig,
        seed: u64,
        directory: &Path,
        surroundings: ProcessEnvironment,
    ) -> anyhow::Result<Trial> {
        let mut dice = Dice::new(seed);
        let drones = Drones::start(&rig.drone, directory, seed)?;
        let sortie = Sortie::new(&rig.bin, directory, TOKEN, &mut dice)?.surrounded_by(surroundings);
        Ok(Trial { sortie, posts: Arc::default(), drones })
    }

    /// The first start: the workflow is applied once the server is ready.
    pub async fn open(&self) -> anyhow::Result<Running<'_>> {
        let mut running = self.sortie.start()?;
        running.ready().await?;
        let mut client = Client::new(self.sortie.address, Some(TOKEN));
        let source = Bytes::from(workflow::source(self.drones.addresses())?);
        let answer = client.send(Method::POST, "/v1/workflows", "application/yaml", source).await?;
        answer.success().context("applying the drone workflow")?;
        Ok(running)
    }

    pub fn load(&self, dice: &mut Dice) -> Load {
        self.load_at(Pace::STEADY, dice)
    }

    pub fn load_at(&self, pace: Pace, dice: &mut Dice) -> Load {
        Load::start(&[self.sortie.address], TOKEN, pace, &self.posts, dice)
    }

    /// Acknowledged runs, drawn, must be known right after a restart.
    pub async fn spot_check(&self, dice: &mut Dice, when: &str) -> anyhow::Result<()> {
        let mut client = Client::new(self.sortie.address, Some(TOKEN));
        for id in self.posts.sample(dice, SAMPLE) {
            if status(&mut client, &id).await?.is_none() {
                self.posts.record_wrong(&id, format!("acknowledged, and not known {when}"));
            }
        }
        Ok(())
    }

    /// As [`Trial::spot_check`], of a server that may refuse to answer, but must not deny what it has accepted.
    pub async fn spot_check_if_up(&self, dice: &mut Dice, when: &str) -> anyhow::Result<()> {
        let mut client = Client::new(self.sortie.address, Some(TOKEN));
        for id in self.posts.sample(dice, SAMPLE) {
            if matches!(status(&mut client, &id).await, Ok(None)) {
                self.posts.record_wrong(&id, format!("acknowledged, and denied {when}"));
            }
        }
        Ok(())
    }

    /// Waits until every run that was acknowledged so far has ended or is parked; how many have not.
    pub async fn settled(&self) -> anyhow::Result<usize> {
        let settled = settle(self.sortie.address, &self.posts.acknowledged()).await?;
        let ended = |status: &RunStatus| status.is_final() || *status == RunStatus::Parked;
        Ok(settled.values().filter(|status| !status.as_ref().is_some_and(ended)).count())
    }

    /// Waits for every run, kills once more, and holds what the server then says against the ledgers.
    pub async fn settle_and_audit(&self, running: Running<'_>) -> anyhow::Result<Findings> {
        let acknowledged = self.posts.acknowledged();
        ensure!(!acknowledged.is_empty() || !self.posts.wrong().is_empty(), "no post was ever answered");
        let settled = settle(self.sortie.address, &acknowledged).await?;
        running.kill()?;
        let mut running = self.sortie.start()?;
        running.ready().await?;
        let endings = statuses(self.sortie.address, &acknowledged).await?;
        let mut seen = self.posts.wrong();
        for (id, before) in &settled {
            if endings[id] != *before {
                let (before, after) = (describe(*before), describe(endings[id]));
                seen.insert(id.clone(), format!("ended as {before}, and is {after} after one more kill"));
            }
        }
        // Requests that are still on their way to a service arrive before the books are closed.
        tokio::time::sleep(Duration::from_millis(workflow::LATE_MS + 100)).await;
        let (entries, key_changes) = ledgers(&self.drones).await?;
        let stored = stored(self.sortie.address).await?;
        let unanswered = self.posts.unanswered();
        Ok(audit(&Evidence { endings, unanswered, seen, stored, entries, key_changes }))
    }
}

fn describe(status: Option<RunStatus>) -> &'static str {
    status.map_or("unknown", RunStatus::as_str)
}

pub type Statuses = BTreeMap<String, Option<RunStatus>>;

/// Asks until every run has ended, is parked or is unknown, or until nothing moves any more.
async fn settle(address: SocketAddr, runs: &[String]) -> anyhow::Result<Statuses> {
    let mut settled = Statuses::new();
    let mut open = runs.to_vec();
    let mut moved = Instant::now();
    loop {
        let asked = statuses(address, &open).await?;
        let (rest, still_open): (Statuses, Statuses) = asked
            .into_iter()
            .partition(|(_, status)| status.is_none_or(|s| s.is_final() || s == RunStatus::Parked));
        if !rest.is_empty() {
            moved = Instant::now();
        }
        settled.extend(rest);
        open = still_open.keys().cloned().collect();
        if open.is_empty() || moved.elapsed() > STUCK_AFTER {
            settled.extend(still_open);
            return Ok(settled);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The current state of each run.
async fn statuses(address: SocketAddr, runs: &[String]) -> anyhow::Result<Statuses> {
    let mut tasks = tokio::task::JoinSet::new();
    for part in runs.chunks(runs.len().div_ceil(4).max(1)) {
        let part = part.to_vec();
        tasks.spawn(async move {
            let mut client = Client::new(address, Some(TOKEN));
            let mut found = Statuses::new();
            for id in part {
                let status = status(&mut client, &id).await?;
                found.insert(id, status);
            }
            anyhow::Ok(found)
        });
    }
    let mut all = Statuses::new();
    while let Some(part) = tasks.join_next().await {
        all.extend(part.context("asking for runs")??);
    }
    Ok(all)
}

pub async fn status(client: &mut Client, id: &str) -> anyhow::Result<Option<RunStatus>> {
    let answer = client.get(&format!("/v1/runs/{id}")).await?;
    if answer.status == StatusCode::NOT_FOUND {
        return Ok(None);
    }
    let answer = answer.success().with_context(|| format!("asking for run {id}"))?;
    Ok(Some(answer.run()?.status))
}

/// A page of the list of runs.
#[derive(Deserialize)]
struct Listed {
    items: Vec<ShownRun>,
    next: Option<String>,
}

/// The ids of all runs that the server lists.
async fn stored(address: SocketAddr) -> anyhow::Result<BTreeSet<String>> {
    stored_at(&mut Client::new(address, Some(TOKEN))).await
}

pub async fn stored_at(client: &mut Client) -> anyhow::Result<BTreeSet<String>> {
    let mut stored = BTreeSet::new();
    let mut path = "/v1/runs?limit=1000".to_owned();
    loop {
        let answer = client.get(&path).await?.success().context("listing all runs")?;
        let page: Listed = serde_json::from_slice(&answer.body).context("reading a page of runs")?;
        stored.extend(page.items.into_iter().map(|run| run.id));
        match page.next {
            Some(next) => path = format!("/v1/runs?limit=1000&cursor={next}"),
            None => return Ok(stored),
        }
    }
}

/// The entries of all ledgers, and how often a call came again under another key.
pub async fn ledgers(drones: &Drones) -> anyhow::Result<(Vec<Entry>, u64)> {
    let mut entries = Vec::new();
    let mut key_changes = 0;
    for service in Service::ALL {
        let mut client = Client::new(drones.addresses()[&service], None);
        let answer = client.get("/ledger/entries").await?.success()?;
        entries.extend(drone_delivery::entries_of(&answer.body)?);
        let totals = client.get("/ledger").await?.success()?;
        let totals: serde_json::Value = serde_json::from_slice(&totals.body)?;
        key_changes += totals["key_changes"].as_u64().context("reading the totals of a ledger")?;
    }
    Ok((entries, key_changes))
}
