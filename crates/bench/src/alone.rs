//! One delivery at a time on an idle server: what a step costs when nothing waits.

use std::time::Duration;

use anyhow::{Context, ensure};
use api_types::RunSummary;
use serde::Serialize;
use tokio::time::Instant;

use super::backlog::STALL_MAX;
use super::comparison::Side;
use super::deliveries::WORKFLOW;
use super::load::{histogram, side};
use super::request;
use super::subject::Subject;
use crate::client::{self, Call};

/// A delivery makes its five calls in three rounds.
const ROUNDS: f64 = 3.0;
/// How often a run is polled. Each poll costs the server some work, and half of this is added to the measured time.
const POLL: Duration = Duration::from_micros(200);
/// After each delivery the server rests, so that none meets the last one's end.
const REST: Duration = Duration::from_millis(10);

/// Latency at low load.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Alone {
    deliveries: u32,
    /// From sending the request until the run is seen to have ended.
    p50_ms: f64,
    p99_ms: f64,
    /// The same calls by the bare loop, one delivery at a time.
    bare_p50_ms: f64,
    bare_p99_ms: f64,
    /// By the medians: how much longer each round of calls takes, acceptance with it.
    added_per_step_ms: f64,
}

impl Alone {
    pub fn new(deliveries: u32, sortie: Side, bare: Side) -> Alone {
        Alone {
            deliveries,
            p50_ms: sortie.p50_ms,
            p99_ms: sortie.p99_ms,
            bare_p50_ms: bare.p50_ms,
            bare_p99_ms: bare.p99_ms,
            added_per_step_ms: (sortie.p50_ms - bare.p50_ms) / ROUNDS,
        }
    }

    pub fn describe(&self) -> String {
        let Alone { p50_ms, p99_ms, bare_p50_ms, added_per_step_ms, .. } = self;
        format!(
            "one at a time p50 {p50_ms:.2} ms, p99 {p99_ms:.2} ms; bare loop p50 {bare_p50_ms:.2} ms; {added_per_step_ms:.2} ms more for each step"
        )
    }
}

/// Makes deliveries one after the other.
pub async fn deliver(subject: &Subject, deliveries: u32) -> anyhow::Result<Side> {
    let mut client = subject.client()?;
    let (mut latencies, all) = (histogram(), Instant::now());
    for number in 0..deliveries {
        let id = format!("alone{}-{number}", subject.mark());
        let path = client::path("/v1/runs/{}", &[&id]);
        let begun = Instant::now();
        let call =
            Call::post(format!("/v1/workflows/{WORKFLOW}/runs"), "application/json", request::delivery(&id));
        client.send(call).await.context("handing in a delivery")?;
        loop {
            let run: RunSummary = client.get(&path).await?;
            if run.ended_at.is_some() {
                break;
            }
            ensure!(begun.elapsed() < STALL_MAX, "delivery {id} does not end");
            // The runtime's own timer is too coarse.
            tokio::task::block_in_place(|| std::thread::sleep(POLL));
        }
        latencies.saturating_record(u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX).max(1));
        tokio::time::sleep(REST).await;
    }
    Ok(side(&latencies, f64::from(deliveries) / all.elapsed().as_secs_f64()))
}
