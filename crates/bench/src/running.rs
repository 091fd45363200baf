//! Deliveries on servers that run already: handed in everywhere, and counted by what all of them say has ended.

use anyhow::{Context, ensure};
use indicatif::ProgressBar;
use tokio::time::{Duration, Instant};

use super::backlog::STALL_MAX;
use super::deliveries::WORKFLOW;
use super::subject::Subject;
use super::{submit, workflow};
use crate::client::{ApiClient, Call};

/// Runs that ended, by outcome; every server counts its own.
const ENDED: &str = "sortie_runs_total{";
const POLL: Duration = Duration::from_millis(50);

/// Submits `runs` deliveries and waits until all have ended; returns the seconds that it took.
pub async fn deliver(subject: &Subject, runs: u32, name: &str, bar: &ProgressBar) -> anyhow::Result<f64> {
    if subject.is_own() {
        return workflow::deliver(&mut subject.client()?, runs, name, bar).await;
    }
    let mut clients = subject.clients()?;
    let batch = submit::batch_size(&mut clients[0]).await?;
    let numbers: Vec<u32> = (0..runs).collect();
    let before = ended(&mut clients).await?;
    let done_before = bar.position();
    let begun = Instant::now();
    for (turn, numbers) in numbers.chunks(batch).enumerate() {
        let ids = numbers.iter().map(|number| format!("{name}-{}-{number}", subject.mark())).collect();
        let place = turn % clients.len();
        submit::post(&mut clients[place], WORKFLOW, ids).await?;
    }
    let (mut last, mut moved_at) = (0, Instant::now());
    loop {
        let done = ended(&mut clients).await?.saturating_sub(before);
        bar.set_position(done_before + done);
        if done >= u64::from(runs) {
            return Ok(begun.elapsed().as_secs_f64());
        }
        if done != last {
            (last, moved_at) = (done, Instant::now());
        }
        ensure!(moved_at.elapsed() < STALL_MAX, "{done} of {runs} runs have ended, and there is no progress");
        tokio::time::sleep(POLL).await;
    }
}

/// What all servers together have brought to an end.
async fn ended(clients: &mut [ApiClient]) -> anyhow::Result<u64> {
    let mut sum = 0;
    for client in clients {
        let answer = client.send(Call::get("/metrics")).await.context("asking for metrics")?;
        sum += counted(&answer.text());
    }
    Ok(sum)
}

fn counted(metrics: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(ENDED));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_outcomes_are_counted_and_nothing_else() {
        let text = "# TYPE sortie_runs counter\nsortie_runs_total{outcome=\"completed\"} 12\n\
                    sortie_runs_total{outcome=\"undone\"} 3\nsortie_run_seconds_sum 99\n";
        assert_eq!(counted(text), 15);
    }
}
