//! Looking at the server while a load is on it: what waits, and how much memory it holds.

use std::time::{Duration, Instant};

use tokio::time::MissedTickBehavior;

use super::backlog::Progress;
use super::subject::Subject;

/// What was seen at some time.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub at: Instant,
    /// Accepted and not ended.
    pub waiting: u64,
    pub memory_bytes: u64,
}

/// Polls the server at each interval until the measurement ends.
pub async fn during<T>(
    subject: &Subject,
    interval: Duration,
    what: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<(T, Vec<Sample>)> {
    let mut samples = Vec::new();
    let looking = async {
        let mut client = subject.client()?;
        let mut tick = tokio::time::interval(interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tick.tick().await;
            let waiting = Progress::of(&mut client).await?.unfinished;
            samples.push(Sample { at: Instant::now(), waiting, memory_bytes: subject.memory_bytes()? });
        }
    };
    let outcome = tokio::select! {
        outcome = what => outcome?,
        trouble = looking => return trouble,
    };
    Ok((outcome, samples))
}
