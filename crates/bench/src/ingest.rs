//! `sortie bench ingest`: ingest throughput, each request durable before its acknowledgement.

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::comparison::{Comparison, Side};
use super::figures::{Figures, Setting, count};
use super::load::{Answers, LATE_ANSWERS, Load, Measured, OPEN_CONNECTIONS, Pace, Target, drive};
use super::options::{DataDirectory, Repeats, Running};
use super::request::REQUEST_BYTES;
use super::subject::{Subject, Sync};
use super::waiting::{Service, WORKFLOW};
use super::{bare, progress};

const CLOSED_CONNECTIONS: u32 = 64;
const WARM_UP_MAX: Duration = Duration::from_secs(2);

/// Measure ingest throughput, each request durable before its acknowledgement
///
/// Requests go to a workflow whose only service never responds: they are accepted and wait on disk, so the
/// figures are about ingest. A bare hyper server is measured with the same load in the same run.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bench ingest\n  sortie bench ingest --rate 10000 --seconds 30 --json\n  sortie bench ingest --batch 1000 --connections 8"
)]
pub struct Ingest {
    /// Send this many requests per second (open loop); without it each connection waits for its response
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rate: Option<u32>,
    /// Submit batches of this many requests; the figures count requests. Not with --rate
    #[arg(long, value_name = "N", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: Option<u32>,
    /// Connections that stay open; 64 by default, and 1024 with --rate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: Option<u32>,
    /// Measure for this long, after a warm-up
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    running: Running,
    #[command(flatten)]
    place: DataDirectory,
}

/// How ingest was measured.
#[derive(Debug, Serialize)]
struct IngestSetting {
    rate: Option<u32>,
    batch: Option<u32>,
    connections: u32,
    seconds: u32,
    request_bytes: usize,
    /// Of all repeats.
    refused: u64,
    failed: u64,
    /// What was wrong with the first that failed.
    trouble: Option<String>,
}

impl Ingest {
    pub async fn run(self, json: bool, token: Option<&str>) -> anyhow::Result<()> {
        let mut setting = IngestSetting {
            rate: self.rate,
            batch: self.batch,
            connections: self.connections(),
            seconds: self.seconds,
            request_bytes: REQUEST_BYTES,
            refused: 0,
            failed: 0,
            trouble: None,
        };
        let (mut pairs, mut syncs) = (Vec::new(), Vec::new());
        for _ in 0..self.repeats.repeats {
            let (sortie, bare, sync) = self.once(json, token).await?;
            setting.refused += sortie.refused;
            setting.failed += sortie.failed;
            pairs.push((sortie.side(), bare));
            setting.trouble = setting.trouble.or(sortie.trouble);
            syncs.push(sync);
        }
        let comparison = Comparison::new("requests/s", bare::NAME, pairs);
        Figures::new(Some(comparison), &Sync::middle(syncs), setting).show(json)
    }

    async fn once(&self, json: bool, token: Option<&str>) -> anyhow::Result<(Measured, Side, Sync)> {
        let silent = Service::silent().await?;
        let subject = Subject::of(&self.running, token, &self.place).await?;
        subject.apply(silent.workflow_on_disk()).await?;
        let mut target = subject.target(WORKFLOW);
        if self.batch.is_some() {
            target = Target { path: format!("{}:batch", target.path), answers: Answers::ByLine, ..target };
        }
        let sync = subject.sync()?;
        let sortie = self.measure("sortie", &target, &format!("bench{}", subject.mark()), json).await?;
        drop(subject);
        let (_bare_server, target) = bare::start(&target).await?;
        let bare = self.measure(bare::NAME, &target, "bench", json).await?;
        Ok((sortie, bare.side(), sync))
    }

    /// `ids` begins the ids of its requests.
    async fn measure(
        &self,
        name: &'static str,
        target: &Target,
        ids: &str,
        json: bool,
    ) -> anyhow::Result<Measured> {
        let measured = Duration::from_secs(self.seconds.into());
        let warm_up = WARM_UP_MAX.min(measured);
        let pace = match self.rate {
            None => Pace::Closed,
            Some(rate) => Pace::steady(f64::from(rate), warm_up + measured),
        };
        let load = Load {
            connections: self.connections(),
            pace,
            batch: self.batch,
            warm_up,
            measured,
            interval: Duration::from_secs(1),
            late_answers: LATE_ANSWERS,
        };
        let time = warm_up + measured;
        let measured = progress::during(name, time, json, drive(target, load, ids)).await;
        measured.with_context(|| format!("measuring {name}"))
    }

    fn connections(&self) -> u32 {
        self.connections.unwrap_or(if self.rate.is_some() { OPEN_CONNECTIONS } else { CLOSED_CONNECTIONS })
    }
}

impl Setting for IngestSetting {
    const BENCH: &'static str = "ingest";

    fn describe(&self) -> String {
        let IngestSetting { connections, seconds, request_bytes, refused, failed, .. } = self;
        let pace = match self.rate {
            Some(rate) => format!("{} requests/s, latency from the time each was due", count(rate)),
            None => "closed loop".to_owned(),
        };
        let batch = self.batch.map_or(String::new(), |batch| format!(", batches of {batch}"));
        let trouble = match refused + failed {
            0 => String::new(),
            _ => format!("; {refused} refused, {failed} failed"),
        };
        format!(
            "Ingest: {pace}{batch}, {connections} connections, {request_bytes} bytes each, {seconds} s{trouble}"
        )
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        self.trouble.iter().map(|trouble| ("trouble", trouble.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::rendered;
    use super::*;

    #[test]
    fn what_was_done_is_said_in_a_line() {
        let setting = IngestSetting {
            rate: Some(10_000),
            batch: None,
            connections: 64,
            seconds: 10,
            request_bytes: 300,
            refused: 2,
            failed: 1,
            trouble: Some("a response with status 400".to_owned()),
        };
        let text = rendered(setting);
        let first = "Ingest: 10,000 requests/s, latency from the time each was due, 64 connections, \
                     300 bytes each, 10 s; 2 refused, 1 failed\n";
        assert!(
            text.starts_with(first) && text.contains("  trouble  a response with status 400\n"),
            "{text}"
        );
    }
}
