//! `sortie bench workflow`: how fast whole deliveries are made, durable at each step.

use anyhow::ensure;
use api_types::{Limits, RunPage, Time};
use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use terminal::machine;
use tokio::time::Instant;
use types::RunStatus;

use super::alone::{self, Alone};
use super::backlog::{Progress, wait_until_ended};
use super::comparison::{Comparison, Side};
use super::deliveries::{Deliveries, WORKFLOW};
use super::figures::{Figures, Setting, count};
use super::options::{DataDirectory, Repeats, Running};
use super::subject::Sync;
use super::{calls, load, progress, running, submit};
use crate::client::{self, ApiClient};

/// Deliveries made one at a time, for the latency at low load.
const DELIVERIES_ALONE: u32 = 200;
/// Latencies of more runs than this add no information.
const LATENCIES_MAX: usize = 100_000;

/// Measure workflow throughput: whole deliveries, durable at each step
///
/// Submits deliveries in batches and waits until all have ended. The same five calls are then made by a bare
/// client loop without persistence, against the same services in the same run. Latencies are from
/// acceptance to the end, with the time a run waits for its turn. Some are then made one at a time, on both sides: what
/// a step costs when nothing waits.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bench workflow --runs 50000 --json")]
pub struct Workflow {
    /// The number of deliveries
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    runs: u32,
    /// Deliveries that the bare loop makes at once
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=2_000))]
    concurrency: u32,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    running: Running,
    #[command(flatten)]
    place: DataDirectory,
}

/// How workflows were measured.
#[derive(Debug, Serialize)]
struct WorkflowSetting {
    runs: u32,
    /// The fewest of all repeats.
    completed: u32,
    concurrency: u32,
    /// The longest of all repeats.
    seconds: f64,
    /// Latency at low load, in the last repeat.
    alone: Option<Alone>,
}

/// One repeat.
struct Once {
    sortie: Side,
    bare: Side,
    completed: u32,
    seconds: f64,
    alone: Alone,
    sync: Sync,
}

impl Workflow {
    pub async fn run(self, json: bool, token: Option<&str>) -> anyhow::Result<()> {
        let (runs, concurrency) = (self.runs, self.concurrency);
        let mut setting = WorkflowSetting { runs, completed: runs, concurrency, seconds: 0.0, alone: None };
        let (mut pairs, mut syncs) = (Vec::new(), Vec::new());
        for _ in 0..self.repeats.repeats {
            let once = self.once(json, token).await?;
            setting.completed = setting.completed.min(once.completed);
            setting.seconds = setting.seconds.max(once.seconds);
            setting.alone = Some(once.alone);
            pairs.push((once.sortie, once.bare));
            syncs.push(once.sync);
        }
        let comparison = Comparison::new("runs/s", "bare client loop", pairs);
        Figures::new(Some(comparison), &Sync::middle(syncs), setting).show(json)
    }

    async fn once(&self, json: bool, token: Option<&str>) -> anyhow::Result<Once> {
        let Deliveries { subject, addresses, services: _services } =
            Deliveries::of(&self.running, token, &self.place).await?;
        let sync = subject.sync()?;
        let warm_up = (self.runs / 10).clamp(1, 2_000);

        let mut client = subject.client()?;
        let bar = progress::bar("sortie", u64::from(warm_up + self.runs), json);
        running::deliver(&subject, warm_up, "warm", &bar).await?;
        let alone = alone::deliver(&subject, DELIVERIES_ALONE).await?;
        let from = machine::now();
        let seconds = running::deliver(&subject, self.runs, "bench", &bar).await?;
        bar.finish_and_clear();
        let (completed, sortie) = read_back(&mut client, Time(from), self.runs, seconds).await?;
        drop(subject);

        let bar = progress::bar("bare client loop", u64::from(warm_up + self.runs), json);
        calls::drive(&addresses, warm_up, self.concurrency, "bare-warm", &bar).await?;
        let bare = calls::drive(&addresses, self.runs, self.concurrency, "bare", &bar).await?;
        bar.finish_and_clear();
        let bare_alone = calls::drive(&addresses, DELIVERIES_ALONE, 1, "bare-alone", &bar).await?;
        let alone = Alone::new(DELIVERIES_ALONE, alone, bare_alone);
        Ok(Once { sortie, bare, completed, seconds, alone, sync })
    }
}

impl Setting for WorkflowSetting {
    const BENCH: &'static str = "workflow";

    fn describe(&self) -> String {
        let WorkflowSetting { concurrency, seconds, .. } = self;
        let (runs, completed) = (count(self.runs), count(self.completed));
        format!(
            "Workflow: {runs} deliveries of five calls, {completed} completed in {seconds:.1} s; bare loop with {concurrency} at once"
        )
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        self.alone.iter().map(|alone| ("idle", alone.describe())).collect()
    }
}

/// Submits `runs` deliveries and waits until all have ended; returns the seconds that it took.
pub async fn deliver(
    client: &mut ApiClient,
    runs: u32,
    name: &str,
    bar: &ProgressBar,
) -> anyhow::Result<f64> {
    let batch = submit::batch_size(client).await?;
    let numbers: Vec<u32> = (0..runs).collect();
    let ended_before = Progress::of(client).await?.ended;
    let done_before = bar.position();
    let begun = Instant::now();
    for numbers in numbers.chunks(batch) {
        let ids = numbers.iter().map(|number| format!("{name}-{number}")).collect();
        submit::post(client, WORKFLOW, ids).await?;
        let ended = Progress::of(client).await?.ended - ended_before;
        bar.set_position(done_before + ended);
    }
    bar.set_position(done_before);
    let ended = wait_until_ended(client, ended_before, u64::from(runs), bar).await?;
    ensure!(ended == u64::from(runs), "{ended} runs have ended, of {runs} that were accepted");
    Ok(begun.elapsed().as_secs_f64())
}

/// The runs accepted since `from`: how many completed, and how long they took.
async fn read_back(
    client: &mut ApiClient,
    from: Time,
    runs: u32,
    seconds: f64,
) -> anyhow::Result<(u32, Side)> {
    let limits: Limits = client.get("/v1/limits").await?;
    let (mut latencies, mut cursor) = (load::histogram(), None);
    let (mut seen, mut completed) = (0, 0);
    loop {
        let parameters = [
            ("workflow", Some(WORKFLOW.to_owned())),
            ("from", Some(from.to_string())),
            ("limit", Some(limits.page_items_max.to_string())),
            ("cursor", cursor.take()),
        ];
        let page: RunPage = client.get(&client::query("/v1/runs", &parameters)).await?;
        for run in page.items.iter().filter(|run| run.id.starts_with("bench-")) {
            seen += 1;
            let Some(ended_at) = run.ended_at.filter(|_| run.status == RunStatus::Completed) else {
                continue;
            };
            completed += 1;
            let ms = u64::try_from(ended_at.0.0 - run.accepted_at.0.0).unwrap_or(0);
            latencies.saturating_record((ms * 1000).max(1));
        }
        cursor = page.next;
        if cursor.is_none() || seen >= LATENCIES_MAX {
            break;
        }
    }
    // Beyond the sample all have ended too, or the wait would not have.
    let completed = if seen >= LATENCIES_MAX && completed == seen { runs } else { u32::try_from(completed)? };
    Ok((completed, load::side(&latencies, f64::from(completed) / seconds)))
}
