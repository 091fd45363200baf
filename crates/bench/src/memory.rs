//! `sortie bench memory`: what accepted requests take that wait.

use clap::Args;
use serde::Serialize;
use terminal::machine;
use tokio::time::Instant;

use super::backlog::Progress;
use super::figures::{Figures, Setting, count, thousands};
use super::options::DataDirectory;
use super::subject::Subject;
use super::waiting::{Service, WORKFLOW};
use super::{progress, submit, watch};

/// Measure the memory used by accepted requests that wait
///
/// Submits requests to a workflow whose only service never responds, so that they wait, and reads the resident memory
/// of the server: empty, at its highest while they come, and with all of them waiting.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bench memory --requests 1000000 --json")]
pub struct Memory {
    /// The number of requests
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=20_000_000))]
    requests: u32,
    /// Sample the memory for this long after the last request was accepted, for its maximum
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=3600))]
    seconds: u32,
    #[command(flatten)]
    place: DataDirectory,
}

#[derive(Debug, Serialize)]
struct MemorySetting {
    requests: u32,
    /// Of those, how many the server says are not ended.
    waiting: u64,
    load_seconds: f64,
    memory_empty_bytes: u64,
    memory_max_bytes: u64,
    memory_waiting_bytes: u64,
    memory_per_request_bytes: u64,
}

impl Memory {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let silent = Service::silent().await?;
        // The default refuses more than two million.
        let settings = format!("[limits]\nunfinished_runs_max = {}\n", u64::from(self.requests) * 2);
        let subject = Subject::start(&self.place, &settings).await?;
        subject.apply(silent.workflow_on_disk()).await?;
        let sync = subject.sync()?;
        let memory_empty_bytes = subject.memory_bytes()?;
        let bar = progress::bar("requests", u64::from(self.requests), json);
        let loading = async {
            let begun = Instant::now();
            submit::all(&subject, WORKFLOW, self.requests, &bar).await?;
            let load_seconds = begun.elapsed().as_secs_f64();
            tokio::time::sleep(std::time::Duration::from_secs(self.seconds.into())).await;
            Ok(load_seconds)
        };
        let interval = std::time::Duration::from_millis(200);
        let (load_seconds, samples) = watch::during(&subject, interval, loading).await?;
        bar.finish_and_clear();
        let memory_waiting_bytes = subject.memory_bytes()?;
        let highest = samples.iter().map(|sample| sample.memory_bytes).max().unwrap_or(0);
        let setting = MemorySetting {
            requests: self.requests,
            waiting: Progress::of(&mut subject.client()?).await?.unfinished,
            load_seconds,
            memory_empty_bytes,
            memory_max_bytes: highest.max(memory_waiting_bytes),
            memory_waiting_bytes,
            memory_per_request_bytes: memory_waiting_bytes.saturating_sub(memory_empty_bytes)
                / u64::from(self.requests),
        };
        drop(subject);
        Figures::new(None, &sync, setting).show(json)
    }
}

impl Setting for MemorySetting {
    const BENCH: &'static str = "memory";

    fn describe(&self) -> String {
        format!("Memory: {} requests accepted, {} of them waiting", count(self.requests), count(self.waiting))
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        let [empty, waiting, highest] =
            [self.memory_empty_bytes, self.memory_waiting_bytes, self.memory_max_bytes].map(machine::bytes);
        let MemorySetting { memory_per_request_bytes, load_seconds, .. } = self;
        let pace = thousands(f64::from(self.requests) / load_seconds);
        vec![
            (
                "memory",
                format!(
                    "{empty} empty, {waiting} with all waiting ({memory_per_request_bytes} bytes a request), {highest} at its highest"
                ),
            ),
            ("load", format!("{load_seconds:.1} s, {pace} requests/s in batches")),
        ]
    }
}
