//! Looking at the server while a load is on it: what waits, and how much memory it holds.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::backlog::Progress;
use super::subject::Subject;

/// What was seen at some time since the beginning.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub at: Duration,
    /// Accepted and not ended.
    pub waiting: u64,
    pub memory_bytes: u64,
}

/// Looks at the server at each interval while something goes on.
pub async fn during<T>(
    subject: &Subject,
    interval: Duration,
    what: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<(T, Vec<Sample>)> {
    let begun = Instant::now();
    let mut samples = Vec::new();
    let looking = async {
        let mut client = subject.client()?;
        let mut tick = tokio::time::interval_at(begun + interval / 2, interval);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tick.tick().await;
            let waiting = Progress::of(&mut client).await?.unfinished;
            samples.push(Sample { at: begun.elapsed(), waiting, memory_bytes: subject.memory_bytes()? });
        }
    };
    let outcome = tokio::select! {
        outcome = what => outcome?,
        trouble = looking => return trouble,
    };
    Ok((outcome, samples))
}
