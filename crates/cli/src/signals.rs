//! Ctrl-C and SIGTERM.

use std::future::Future;
use std::process::ExitCode;

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// The signals that ask a process to end.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// From here on the signals no longer end the process by themselves.
    pub fn listen() -> anyhow::Result<Signals> {
        let interrupt = signal(SignalKind::interrupt()).context("waiting for an interrupt")?;
        let terminate = signal(SignalKind::terminate()).context("waiting for a termination")?;
        Ok(Signals { interrupt, terminate })
    }

    /// Returns at the next one of them.
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
        biased; // A command that has ended counts, also if a signal came with its end.
        ended = command => ended,
        () = signals.next() => Err(Failure::No("interrupted".to_owned()).into()),
    }
}
