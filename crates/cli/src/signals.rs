//! Ctrl-C and SIGTERM.

use std::future::Future;
use std::process::ExitCode;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// The signals that request a shutdown.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From now on the signals no longer end the process by default.
    pub fn listen() -> anyhow::Result<Signals> {
        let interrupt = signal(SignalKind::interrupt()).context("waiting for an interrupt")?;
        let terminate = signal(SignalKind::terminate()).context("waiting for a termination")?;
        Ok(Signals { interrupt, terminate })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Runs a command, and drops it at the first signal so that it cleans up after itself.
pub async fn unless_interrupted(
    command: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        biased; // A finished command counts, even if a signal arrived at the same time.
        ended = command => ended,
        () = signals.next() => Err(Failure::No("interrupted".to_owned()).into()),
    }
}
