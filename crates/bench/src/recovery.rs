//! `sortie bench recovery`: how long a killed server takes to recover.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use serde::Serialize;
use terminal::machine;
use tokio::time::Instant;

use super::backlog::{Progress, STALL_MAX};
use super::comparison::median;
use super::figures::{Figures, Setting, count, thousands};
use super::options::DataDirectory;
use super::subject::Subject;
use super::waiting::{Service, WORKFLOW};
use super::{progress, submit};
use crate::client::{ApiClient, Call};

const POLL: Duration = Duration::from_millis(50);
const POLL_RESTART: Duration = Duration::from_millis(2);

/// Measure how long a killed server takes to recover
///
/// Brings runs to their second round of calls, where each waits for an hour before its next attempt, and kills the
/// server with all of them in memory. Times count from its start: to the first answer, to being ready, and until all
/// runs are there again. Beside it stands the start of an empty server, and reading the same files from the disk cache.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bench recovery --runs 1000000\n  sortie bench recovery --runs 10000 --repeats 5 --json"
)]
pub struct Recovery {
    /// The number of live runs when the server is killed
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    runs: u32,
    /// Kill it and start it again this many times; the figures are medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeats: u32,
    #[command(flatten)]
    place: DataDirectory,
}

/// One start, in seconds since the process was started.
#[derive(Debug, Clone, Copy, Serialize)]
struct Start {
    answers_seconds: f64,
    ready_seconds: f64,
    /// All partitions run, with all of their runs.
    whole_seconds: f64,
    memory_bytes: u64,
}

#[derive(Debug, Serialize)]
struct RecoverySetting {
    runs: u32,
    load_seconds: f64,
    memory_before_bytes: u64,
    /// Medians, with the slowest beside them.
    restart: Start,
    restart_whole_seconds_max: f64,
    repeats: u32,
    empty: Start,
    data_bytes: u64,
    /// Reading all files of the data directory, without doing anything with them.
    read_seconds: f64,
}

impl Recovery {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let empty = self.start_empty().await?;
        let service = Service::postponing().await?;
        let subject = Subject::start(&self.place, &self.settings()).await?;
        subject.apply(service.workflow_in_memory()).await?;
        let sync = subject.sync()?;
        let begun = Instant::now();
        let bar = progress::bar("live runs", u64::from(self.runs), json);
        submit::all(&subject, WORKFLOW, self.runs, &indicatif::ProgressBar::hidden()).await?;
        self.wait_until_all_wait(&mut subject.client()?, &bar).await?;
        bar.finish_and_clear();
        let load_seconds = begun.elapsed().as_secs_f64();
        let memory_before_bytes = subject.memory_bytes()?;

        let (mut subject, mut starts) = (subject, Vec::new());
        let bar = progress::bar("killing it and starting again", self.repeats.into(), json);
        for _ in 0..self.repeats {
            let start;
            (subject, start) = restart(subject, self.runs).await?;
            starts.push(start);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let (data_bytes, read_seconds) = read_all(&subject.data_directory())?;
        let figure = |of: fn(&Start) -> f64| median(&starts.iter().map(of).collect::<Vec<_>>());
        let setting = RecoverySetting {
            runs: self.runs,
            load_seconds,
            memory_before_bytes,
            restart: Start {
                answers_seconds: figure(|start| start.answers_seconds),
                ready_seconds: figure(|start| start.ready_seconds),
                whole_seconds: figure(|start| start.whole_seconds),
                memory_bytes: figure(|start| start.memory_bytes as f64) as u64,
            },
            restart_whole_seconds_max: starts.iter().map(|start| start.whole_seconds).fold(0.0, f64::max),
            repeats: self.repeats,
            empty,
            data_bytes,
            read_seconds,
        };
        drop(subject);
        Figures::new(None, &sync, setting).show(json)
    }

    /// As many runs in memory as are wanted; shares are by partition, and no hash is quite even.
    fn settings(&self) -> String {
        let runs = u64::from(self.runs);
        format!(
            "[limits]\nlive_runs_max = {}\nunfinished_runs_max = {}\n",
            runs + runs / 4 + 10_000,
            2 * runs + 10_000
        )
    }

    async fn start_empty(&self) -> anyhow::Result<Start> {
        let subject = Subject::start(&self.place, "").await?;
        Progress::of(&mut subject.client()?).await?;
        Ok(restart(subject, 0).await?.1)
    }

    /// Until every run is live, and no call is in flight.
    async fn wait_until_all_wait(
        &self,
        client: &mut ApiClient,
        bar: &indicatif::ProgressBar,
    ) -> anyhow::Result<()> {
        let (mut last, mut moved_at) = (u64::MAX, Instant::now());
        loop {
            let progress = Progress::of(client).await?;
            bar.set_position(progress.live);
            if progress.live == u64::from(self.runs) && progress.calls == 0 {
                return Ok(());
            }
            let mark = progress.live ^ progress.calls.rotate_left(32);
            if mark != last {
                (last, moved_at) = (mark, Instant::now());
            }
            ensure!(
                moved_at.elapsed() < STALL_MAX,
                "{} of {} runs are live with {} calls, and there is no progress",
                progress.live,
                self.runs,
                progress.calls
            );
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Kills the server and starts it again.
async fn restart(subject: Subject, runs: u32) -> anyhow::Result<(Subject, Start)> {
    let stopped = subject.kill();
    let begun = Instant::now();
    let subject = stopped.start().await?;
    let mut client = subject.client()?;
    client.send(Call::get("/livez")).await.context("asking a server that has just started")?;
    let answers_seconds = begun.elapsed().as_secs_f64();
    while !client.try_send(Call::get("/readyz")).await?.status.is_success() {
        ensure!(begun.elapsed() < STALL_MAX, "the server does not become ready");
        tokio::time::sleep(POLL_RESTART).await;
    }
    let ready_seconds = begun.elapsed().as_secs_f64();
    loop {
        let live = Progress::of(&mut client).await?.live;
        if live == u64::from(runs) {
            break;
        }
        ensure!(begun.elapsed() < STALL_MAX, "after a restart {live} of {runs} runs are there");
        tokio::time::sleep(POLL_RESTART).await;
    }
    let whole_seconds = begun.elapsed().as_secs_f64();
    let memory_bytes = subject.memory_bytes()?;
    Ok((subject, Start { answers_seconds, ready_seconds, whole_seconds, memory_bytes }))
}

/// Reads all files in a directory: how many bytes they have, and how long it took.
fn read_all(directory: &Path) -> anyhow::Result<(u64, f64)> {
    let begun = Instant::now();
    let (mut bytes, mut directories) = (0, vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in
            std::fs::read_dir(&directory).with_context(|| format!("reading {}", directory.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                bytes +=
                    std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?.len() as u64;
            }
        }
    }
    Ok((bytes, begun.elapsed().as_secs_f64()))
}

impl Setting for RecoverySetting {
    const BENCH: &'static str = "recovery";

    fn describe(&self) -> String {
        let RecoverySetting { load_seconds, .. } = self;
        let pace = thousands(f64::from(self.runs) / load_seconds);
        format!(
            "Recovery: {} live runs ({load_seconds:.1} s to load, {pace}/s), killed and started {} times",
            count(self.runs),
            self.repeats
        )
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        let start = |start: &Start| {
            let Start { answers_seconds, ready_seconds, whole_seconds, memory_bytes } = start;
            let memory = machine::bytes(*memory_bytes);
            format!(
                "{answers_seconds:.3} s to the first answer, {ready_seconds:.3} s to ready, {whole_seconds:.3} s to all runs; {memory}"
            )
        };
        let (before, data) = (machine::bytes(self.memory_before_bytes), machine::bytes(self.data_bytes));
        vec![
            ("restart", format!("{}, {before} before", start(&self.restart))),
            ("slowest", format!("{:.3} s to all runs", self.restart_whole_seconds_max)),
            ("empty", start(&self.empty)),
            ("reading", format!("{:.3} s for all {data} of its files", self.read_seconds)),
        ]
    }
}
