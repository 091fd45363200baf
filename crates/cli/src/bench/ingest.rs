//! `sortie bench ingest`: how fast requests are taken in, each durable before its answer.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use drone_delivery::workflows::DELIVERY_REQUEST_SCHEMA;
use tokio::net::TcpListener;

use super::child::Child;
use super::figures::{Figures, Setting};
use super::load::{Answers, LATE_ANSWERS, Load, Measured, Pace, Target, drive};
use super::progress;
use super::request::REQUEST_BYTES;
use super::subject::Subject;
use crate::json::one_line;

const CLOSED_CONNECTIONS: u32 = 64;
/// As many as a rate may keep waiting: what finds no free connection counts as failed.
const OPEN_CONNECTIONS: u32 = 1024;
const WARM_UP_MAX: Duration = Duration::from_secs(2);

/// Measure how fast requests are taken in, each durable before its answer
///
/// Requests go to a workflow whose only service never answers: they are accepted and wait on disk, so the
/// figures are about ingest. A bare hyper server is measured with the same load in the same run.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bench ingest\n  sortie bench ingest --rate 10000 --seconds 30 --json\n  sortie bench ingest --batch 1000 --connections 8"
)]
pub struct Ingest {
    /// Send this many requests per second, answered or not; without it each connection waits for its answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rate: Option<u32>,
    /// Hand in batches of this many requests; the figures stay in requests, and --rate does not go with it
    #[arg(long, value_name = "N", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: Option<u32>,
    /// Connections that stay open; 64 by default, and 1024 with --rate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: Option<u32>,
    /// Measure for this long, after a warm-up
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Put the temporary data directory in here; the disk it is on is the one that is measured
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl Ingest {
    pub async fn run(self, json: bool) -> anyhow::Result<()> {
        let silent = TcpListener::bind("127.0.0.1:0").await.context("listening on any free port")?;
        let silent_port = silent.local_addr()?.port();
        let _silence = AbortOnDrop(tokio::spawn(stay_silent(silent)));
        let subject = Subject::start(self.data.as_deref()).await?;
        subject.apply(workflow(silent_port)).await?;
        let target = Target {
            address: subject.address,
            path: format!(
                "/v1/workflows/bench-ingest/{}",
                if self.batch.is_some() { "runs:batch" } else { "runs" }
            ),
            token: subject.token.clone(),
            answers: if self.batch.is_some() { Answers::ByLine } else { Answers::Whole },
        };
        let sync = subject.sync()?;
        let sortie = self.measure("sortie", &target, json).await?;
        drop(subject);

        let (_bare_server, line) = Child::start("the bare server", &["bench", "bare-server"]).await?;
        let address = line.strip_prefix("listening on ").and_then(|address| address.parse().ok());
        let address = address.with_context(|| format!("the bare server's first line is {line:?}"))?;
        let bare = self
            .measure("bare hyper server", &Target { address, answers: Answers::Whole, ..target }, json)
            .await?;

        let setting = Setting::Ingest {
            rate: self.rate,
            batch: self.batch,
            connections: self.connections(),
            seconds: self.seconds,
            request_bytes: REQUEST_BYTES,
            refused: sortie.refused,
            failed: sortie.failed,
        };
        Figures::new("ingest", sortie.side(), bare.side(), &sync, setting).show(json)
    }

    async fn measure(&self, name: &'static str, target: &Target, json: bool) -> anyhow::Result<Measured> {
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
        let length = u64::try_from((warm_up + measured).as_millis()).unwrap_or(u64::MAX);
        let bar = progress::bar(name, length, json);
        let measured = tokio::select! {
            measured = drive(target, load, "bench") => measured,
            () = progress::follow_time(&bar) => unreachable!("time goes on"),
        };
        bar.finish_and_clear();
        measured.with_context(|| format!("measuring {name}"))
    }

    fn connections(&self) -> u32 {
        self.connections.unwrap_or(if self.rate.is_some() { OPEN_CONNECTIONS } else { CLOSED_CONNECTIONS })
    }
}

/// A workflow that checks requests like the real one, and then waits for a service that never answers.
fn workflow(silent_port: u16) -> String {
    let schema = one_line(DELIVERY_REQUEST_SCHEMA);
    format!(
        "name: bench-ingest
accept:
  id: .deliveryId
  schema: {schema}
services:
  silent: {{ url: \"http://127.0.0.1:{silent_port}\", timeout: 1h, concurrency: 1 }}
steps:
  wait:
    call: {{ service: silent, method: GET, path: / }}
"
    )
}

/// Takes connections and never says a word.
async fn stay_silent(listener: TcpListener) {
    let mut held = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        held.push(stream);
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use definition::Definition;

    use super::*;

    #[test]
    fn the_workflow_is_well() {
        Definition::parse(&workflow(1)).unwrap_or_else(|problems| panic!("{problems}"));
    }
}
