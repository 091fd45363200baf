//! SIGKILL at random moments under load, restart, and an audit at the end.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use clap::Args;
use drone_delivery::{Entry, Service};
use hyper::{Method, StatusCode};
use words::RunStatus;

use crate::audit::{Evidence, Findings, audit};
use crate::client::Client;
use crate::dice::Dice;
use crate::load::Load;
use crate::posts::Posts;
use crate::process::{Drones, Running, Sortie};
use crate::report::{self, Tally, Verdict};
use crate::scratch;
use crate::workflow;

const TOKEN: &str = "torture-token-of-this-process-only";
/// Kills between two lines of progress.
const PROGRESS_EVERY: u32 = 10;
/// Kills in a hundred that come before the server is ready again.
const RECOVERY_KILL_PERCENT: u64 = 25;
/// Acknowledged runs that are looked up after each restart.
const SAMPLE: usize = 20;
/// How long nothing may end before the rest counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Kill the server at random moments under load, start it again, and audit every promise
#[derive(Args)]
pub struct Kill {
    /// How often to kill
    #[arg(long, default_value_t = 100)]
    n: u32,
    /// Where the dice start; drawn and printed when it is not given
    #[arg(long)]
    seed: Option<u64>,
    /// The server
    #[arg(long, value_name = "PATH_TO_sortie")]
    bin: PathBuf,
    /// The drone services
    #[arg(long, value_name = "PATH_TO_drone-services")]
    drone: PathBuf,
    /// Keep data and logs, also when all is well
    #[arg(long)]
    keep: bool,
}

impl Kill {
    pub async fn run(self) -> anyhow::Result<Verdict> {
        ensure!(self.n > 0, "--n is at least 1");
        let seed = self.seed.unwrap_or_else(Dice::any_seed);
        println!("torture kill: {} kills, seed {seed}", self.n);
        scratch::within(self.keep, seed, async |directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<Verdict> {
        let mut dice = Dice::new(seed);
        let drones = Drones::start(&self.drone, directory, seed)?;
        let sortie = Sortie::new(&self.bin, directory, TOKEN, &mut dice)?;
        let posts = Arc::new(Posts::default());
        let mut running = sortie.start()?;
        running.ready().await?;
        apply(sortie.address, &workflow::source(drones.addresses())?).await?;
        let load = Load::start(sortie.address, TOKEN, &posts, &mut dice);
        let mut rounds =
            Rounds { sortie: &sortie, posts: &posts, dice, tally: Tally::default(), began: Instant::now() };
        // The last kill is kept for the end, when all runs have ended.
        let running = rounds.run(running, self.n - 1).await?;
        load.stop().await;
        let findings = rounds.settle_and_audit(running, &drones).await?;
        Ok(report::close(rounds.tally, &posts, &findings, seed))
    }
}

async fn apply(address: SocketAddr, source: &str) -> anyhow::Result<()> {
    let mut client = Client::new(address, Some(TOKEN));
    let body = Bytes::from(source.to_owned());
    let answer = client.send(Method::POST, "/v1/workflows", "application/yaml", body).await?;
    answer.success().context("applying the drone workflow")?;
    Ok(())
}

struct Rounds<'a> {
    sortie: &'a Sortie,
    posts: &'a Arc<Posts>,
    dice: Dice,
    tally: Tally,
    began: Instant,
}

impl<'a> Rounds<'a> {
    /// Kills until the number is reached; hands back a server that is ready.
    async fn run(&mut self, mut running: Running<'a>, kills: u32) -> anyhow::Result<Running<'a>> {
        while self.tally.kills < kills {
            self.posts.begin_round();
            tokio::time::sleep(self.moment()).await;
            running.kill()?;
            self.note_kill();
            running = self.restart(kills).await?;
            self.spot_check().await?;
        }
        Ok(running)
    }

    /// When to kill after readiness: mostly soon, sometimes when there is much to lose.
    fn moment(&mut self) -> Duration {
        match self.dice.range(0, 10) {
            0..5 => self.dice.milliseconds(5, 60),
            5..8 => self.dice.milliseconds(60, 400),
            _ => self.dice.milliseconds(400, 1500),
        }
    }

    async fn restart(&mut self, kills: u32) -> anyhow::Result<Running<'a>> {
        let mut running = self.sortie.start()?;
        while self.tally.kills < kills && self.dice.hits_percent(RECOVERY_KILL_PERCENT) {
            tokio::time::sleep(self.dice.milliseconds(1, 80)).await;
            running.kill()?;
            self.tally.kills_in_recovery += 1;
            self.note_kill();
            running = self.sortie.start()?;
        }
        running.ready().await?;
        Ok(running)
    }

    fn note_kill(&mut self) {
        self.tally.kills += 1;
        if self.tally.kills.is_multiple_of(PROGRESS_EVERY) {
            report::progress(self.tally, self.posts, self.began.elapsed());
        }
    }

    /// Acknowledged runs, drawn, must be known right after a restart.
    async fn spot_check(&mut self) -> anyhow::Result<()> {
        let mut client = Client::new(self.sortie.address, Some(TOKEN));
        for id in self.posts.sample(&mut self.dice, SAMPLE) {
            if status(&mut client, &id).await?.is_none() {
                let kills = self.tally.kills;
                self.posts.accuse(&id, format!("acknowledged, and not known after kill {kills}"));
            }
        }
        Ok(())
    }

    /// Waits for every run, kills once more, and holds what the server then says against the ledgers.
    async fn settle_and_audit(&mut self, running: Running<'a>, drones: &Drones) -> anyhow::Result<Findings> {
        let acknowledged = self.posts.acknowledged();
        ensure!(!acknowledged.is_empty() || !self.posts.wrong().is_empty(), "no post was ever answered");
        let settled = settle(self.sortie.address, &acknowledged).await?;
        running.kill()?;
        self.note_kill();
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
        let (entries, key_changes) = ledgers(drones).await?;
        let unanswered = self.posts.unanswered();
        Ok(audit(&Evidence { endings, unanswered, seen, entries, key_changes }))
    }
}

fn describe(status: Option<RunStatus>) -> &'static str {
    status.map_or("unknown", RunStatus::as_str)
}

type Statuses = BTreeMap<String, Option<RunStatus>>;

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

/// How each run stands now.
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

async fn status(client: &mut Client, id: &str) -> anyhow::Result<Option<RunStatus>> {
    let answer = client.get(&format!("/v1/runs/{id}")).await?;
    if answer.status == StatusCode::NOT_FOUND {
        return Ok(None);
    }
    let answer = answer.success().with_context(|| format!("asking for run {id}"))?;
    Ok(Some(answer.run()?.status))
}

/// The entries of all ledgers, and how often a call came again under another key.
async fn ledgers(drones: &Drones) -> anyhow::Result<(Vec<Entry>, u64)> {
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
