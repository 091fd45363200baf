//! The signs of life of an instance, in a task that nothing else holds up.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::{info, warn};

use crate::{Holder, Member, Metrics, Register, RegisterError, Settings};

/// After a sign of life that was lost, the next is sent so soon.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// How often it is tried to say that this instance is gone; if nobody hears it, its entry runs out by itself.
const LEAVE_TRIES: u32 = 3;

/// How far the life of an instance has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Living,
    /// It lets go of all it has; others compute without it.
    Leaving,
    Gone,
}

pub(crate) struct Pulse<R, H> {
    pub(crate) register: Arc<R>,
    pub(crate) holder: Arc<H>,
    pub(crate) member: Member,
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics,
    pub(crate) phase: watch::Receiver<Phase>,
    /// From when on one that cannot be seen is dead; `None` while the register does not hear this instance.
    pub(crate) trust_from: watch::Sender<Option<Instant>>,
}

impl<R: Register, H: Holder> Pulse<R, H> {
    pub(crate) async fn run(mut self) {
        let mut quiet = Quiet { at: Some(Instant::now() + self.settings.quiet_after), ever_heard: false };
        loop {
            let phase = *self.phase.borrow_and_update();
            match phase {
                Phase::Living => {}
                Phase::Leaving => self.member.roles.engine = false,
                Phase::Gone => return self.leave().await,
            }
            let begun = Instant::now();
            let register = Arc::clone(&self.register);
            let member = self.member.clone();
            let beat = timeout(self.settings.beat_within, register.beat(&member));
            let next = match self.watching(&mut quiet, beat).await {
                Ok(Ok(())) => {
                    self.heard(&mut quiet, begun);
                    begun + self.settings.beat_every
                }
                Ok(Err(error)) => self.missed(&error),
                Err(_) => self.missed(&RegisterError("no answer".to_owned())),
            };
            let mut changes = self.phase.clone();
            // Whoever started this has ended it without a word when there are no more phases.
            let pause = timeout_at(next, async move { changes.changed().await });
            if let Ok(Err(_)) = self.watching(&mut quiet, pause).await {
                return;
            }
        }
    }

    /// Does this, and stops calls meanwhile when their time has come.
    async fn watching<T>(&self, quiet: &mut Quiet, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            let at = quiet.at.unwrap_or_else(Instant::now);
            tokio::select! {
                // A sign of life that was heard counts, even when it was heard at the last moment.
                biased;
                value = &mut work => return value,
                () = sleep_until(at), if quiet.at.is_some() => {
                    quiet.at = None;
                    warn!(instance = %self.member.id, "nobody has heard this instance for a while; it starts no calls");
                    self.trust_from.send_replace(None);
                    self.metrics.calls_held.set(1);
                    self.holder.hold_calls(true);
                }
            }
        }
    }

    /// A sign of life was heard. It is as old as its beginning.
    fn heard(&self, quiet: &mut Quiet, begun: Instant) {
        if quiet.at.is_none() {
            info!(instance = %self.member.id, "this instance is heard again");
            self.metrics.calls_held.set(0);
            self.holder.hold_calls(false);
        }
        if self.trust_from.borrow().is_none() {
            // The others could not be heard either, perhaps: they get the time of a life to be seen again. One that
            // has just started has missed nothing.
            let now = Instant::now();
            let from = if quiet.ever_heard { now + self.settings.lifetime } else { now };
            self.trust_from.send_replace(Some(from));
        }
        *quiet = Quiet { at: Some(begun + self.settings.quiet_after), ever_heard: true };
    }

    fn missed(&self, error: &RegisterError) -> Instant {
        self.metrics.beats_missed.inc();
        warn!(instance = %self.member.id, %error, "a sign of life was not taken");
        Instant::now() + AGAIN_AFTER
    }

    async fn leave(&self) {
        for _ in 0..LEAVE_TRIES {
            match timeout(self.settings.beat_within, self.register.leave(&self.member.id)).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => warn!(instance = %self.member.id, %error, "leaving was not heard"),
                Err(_) => warn!(instance = %self.member.id, "leaving was not answered"),
            }
        }
    }
}

/// When calls are stopped; `None` when they are.
struct Quiet {
    at: Option<Instant>,
    ever_heard: bool,
}
