//! `sortie bench journal`: how many durable appends the disk takes, through the journal and without it.

mod raw;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use hdrhistogram::Histogram;
use journal::Journal as _;
use journal_disk::{DiskJournal, Settings};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;
use types::PartitionId;

use super::comparison::{Comparison, Side};
use super::figures::{Figures, Setting, count};
use super::load::{histogram, side};
use super::options::{DataDirectory, Repeats};
use super::progress;
use super::subject::Sync;

const PARTITIONS: u16 = 32;
/// Appends of one task alone: how long one takes on an idle machine.
const ALONE_MAX: Duration = Duration::from_secs(2);

/// Measure durable appends: through the journal, and as plain writes and syncs of the same bytes
///
/// Many tasks append a record each and wait until it is durable, as requests do. Beside it a plain loop writes as many
/// records at once as there are tasks, syncs them, and does it again: what the disk allows.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bench journal\n  sortie bench journal --tasks 64 --bytes 1000 --repeats 3"
)]
pub struct Journal {
    /// Tasks that append
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    tasks: u32,
    /// Bytes of a record
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    bytes: u32,
    /// Measure for this long
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    place: DataDirectory,
}

#[derive(Debug, Serialize)]
struct JournalSetting {
    tasks: u32,
    record_bytes: u32,
    seconds: u32,
    /// One task that appends alone, and one record written and synced alone; of the last repeat.
    alone_p50_ms: f64,
    alone_p99_ms: f64,
    raw_alone_p50_ms: f64,
    raw_alone_p99_ms: f64,
}

impl Journal {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let (mut pairs, mut syncs, mut alone) = (Vec::new(), Vec::new(), None);
        for _ in 0..self.repeats.repeats {
            let place = self.place.data.clone().unwrap_or_else(std::env::temp_dir);
            let directory = tempfile::Builder::new().prefix("sortie-bench-").tempdir_in(&place);
            let directory =
                directory.with_context(|| format!("making a directory in {}", place.display()))?;
            syncs.push(Sync::of(directory.path())?);
            let time = Duration::from_secs(self.seconds.into());
            let path = directory.path().join("journal");
            let appending = self.appends(&path, time);
            let (sortie, sortie_alone) = progress::during("journal", time, json, appending).await?;
            let path = directory.path().join("raw");
            let (bytes, tasks) = (self.bytes as usize, self.tasks as usize);
            let raw = tokio::task::spawn_blocking(move || {
                anyhow::Ok((
                    raw::appends(&path, bytes, tasks, time)?,
                    raw::appends(&path, bytes, 1, ALONE_MAX.min(time))?,
                ))
            });
            let (raw, raw_alone) =
                progress::during("write and sync", time, json, raw).await.context("measuring the disk")??;
            pairs.push((sortie, raw));
            alone = Some((sortie_alone, raw_alone));
        }
        let (sortie_alone, raw_alone) = alone.context("there is at least one repeat")?;
        let setting = JournalSetting {
            tasks: self.tasks,
            record_bytes: self.bytes,
            seconds: self.seconds,
            alone_p50_ms: sortie_alone.p50_ms,
            alone_p99_ms: sortie_alone.p99_ms,
            raw_alone_p50_ms: raw_alone.p50_ms,
            raw_alone_p99_ms: raw_alone.p99_ms,
        };
        let comparison = Comparison::new("appends/s", "write and sync", pairs);
        Figures::new(Some(comparison), &Sync::middle(syncs), setting).show(json)
    }

    /// Appends of many tasks, and of one alone.
    async fn appends(&self, directory: &std::path::Path, time: Duration) -> anyhow::Result<(Side, Side)> {
        std::fs::create_dir(directory).context("making the journal's directory")?;
        let journal = DiskJournal::open(directory, Settings::new(PARTITIONS)).context("opening a journal")?;
        let journal = Arc::new(journal);
        let record = Bytes::from(vec![7; self.bytes as usize]);
        let many = append(&journal, &record, self.tasks, time).await?;
        let alone = append(&journal, &record, 1, ALONE_MAX.min(time)).await?;
        Ok((many, alone))
    }
}

/// Appends from so many tasks at once, each waiting for its own.
async fn append(
    journal: &Arc<DiskJournal>,
    record: &Bytes,
    tasks: u32,
    time: Duration,
) -> anyhow::Result<Side> {
    let over = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    let begun = Instant::now();
    for client in 0..tasks {
        let (journal, record, over) = (journal.clone(), record.clone(), over.clone());
        let partition = PartitionId((client % u32::from(PARTITIONS)) as u16);
        clients.spawn(async move {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                journal.inbox_append(partition, vec![record.clone()]).await.context("appending")?;
                times.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX).max(1));
            }
            anyhow::Ok(times)
        });
    }
    tokio::time::sleep(time).await;
    over.store(true, Ordering::Relaxed);
    let mut latencies: Histogram<u64> = histogram();
    while let Some(ended) = clients.join_next().await {
        for micros in ended.context("running a task")?? {
            latencies.saturating_record(micros.into());
        }
    }
    Ok(side(&latencies, latencies.len() as f64 / begun.elapsed().as_secs_f64()))
}

impl Setting for JournalSetting {
    const BENCH: &'static str = "journal";

    fn describe(&self) -> String {
        let JournalSetting { record_bytes, seconds, .. } = self;
        format!("Journal: {} tasks append {record_bytes} bytes each, {seconds} s", count(self.tasks))
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        let JournalSetting { alone_p50_ms, alone_p99_ms, raw_alone_p50_ms, raw_alone_p99_ms, .. } = self;
        vec![(
            "alone",
            format!(
                "p50 {alone_p50_ms:.2} ms, p99 {alone_p99_ms:.2} ms through the journal; p50 {raw_alone_p50_ms:.2} ms, p99 {raw_alone_p99_ms:.2} ms as write and sync"
            ),
        )]
    }
}
