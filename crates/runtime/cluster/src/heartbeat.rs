//! Sends the heartbeats of an instance, in a task that nothing else can delay, and pauses calls while none is acknowledged.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::{info, warn};

use crate::{ClusterMetrics, Member, PartitionOwner, Register, RegisterError, Settings};

/// The pause before the next heartbeat when one was missed.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// How often deregistration is tried; if all tries fail, the entry of the instance expires.
const DEREGISTER_TRIES: u32 = 3;

/// The phases in the life of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// It releases its partitions; the others assign partitions without it.
    Leaving,
    Gone,
}

pub(crate) struct Heartbeat<R, H> {
    pub(crate) register: Arc<R>,
    pub(crate) owner: Arc<H>,
    pub(crate) member: Member,
    pub(crate) settings: Settings,
    pub(crate) metrics: ClusterMetrics,
    pub(crate) phase: watch::Receiver<Phase>,
    /// From this time on, an instance that is not in the view is dead; `None` while heartbeats are not acknowledged.
    pub(crate) trust_from: watch::Sender<Option<Instant>>,
}

impl<R: Register, H: PartitionOwner> Heartbeat<R, H> {
    pub(crate) async fn run(mut self) {
        let deadline = Instant::now() + self.settings.silent_after;
        let mut silence = Silence { from: Some(deadline), ever_acknowledged: false };
        loop {
            let phase = *self.phase.borrow_and_update();
            match phase {
                Phase::Running => {}
                Phase::Leaving => self.member.roles.engine = false,
                Phase::Gone => return self.deregister().await,
            }
            let begun = Instant::now();
            let register = Arc::clone(&self.register);
            let member = self.member.clone();
            let heartbeat = timeout(self.settings.heartbeat_timeout, register.heartbeat(&member));
            let next = match self.watching(&mut silence, heartbeat).await {
                Ok(Ok(())) => {
                    self.acknowledged(&mut silence, begun);
                    begun + self.settings.heartbeat_interval
                }
                Ok(Err(error)) => self.missed(&error),
                Err(_) => self.missed(&RegisterError("no response in time".to_owned())),
            };
            let mut changes = self.phase.clone();
            // The channel closes when the membership is dropped: end without deregistering, like a killed process.
            let pause = timeout_at(next, async move { changes.changed().await });
            if let Ok(Err(_)) = self.watching(&mut silence, pause).await {
                return;
            }
        }
    }

    /// Awaits `work`, and pauses calls meanwhile if the time for it comes.
    async fn watching<T>(&self, silence: &mut Silence, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            let at = silence.from.unwrap_or_else(Instant::now);
            tokio::select! {
                // An acknowledgement counts, even if it arrives at the last moment.
                biased;
                value = &mut work => return value,
                () = sleep_until(at), if silence.from.is_some() => {
                    silence.from = None;
                    warn!(instance = %self.member.id, "no heartbeat was acknowledged for too long; calls are paused");
                    self.trust_from.send_replace(None);
                    self.metrics.calls_paused.set(1);
                    self.owner.pause_calls(true);
                }
            }
        }
    }

    /// A heartbeat was acknowledged. It counts from when it was sent.
    fn acknowledged(&self, silence: &mut Silence, begun: Instant) {
        if silence.from.is_none() {
            info!(instance = %self.member.id, "heartbeats are acknowledged again; calls resume");
            self.metrics.calls_paused.set(0);
            self.owner.pause_calls(false);
        }
        if self.trust_from.borrow().is_none() {
            // Perhaps the heartbeats of the others were lost too: they get a whole lifetime to appear again. An instance
            // that has just started has missed nothing.
            let now = Instant::now();
            let from = if silence.ever_acknowledged { now + self.settings.member_ttl } else { now };
            self.trust_from.send_replace(Some(from));
        }
        *silence = Silence { from: Some(begun + self.settings.silent_after), ever_acknowledged: true };
    }

    fn missed(&self, error: &RegisterError) -> Instant {
        self.metrics.heartbeats_missed.inc();
        warn!(instance = %self.member.id, %error, "a heartbeat failed");
        Instant::now() + RETRY_AFTER
    }

    async fn deregister(&self) {
        for _ in 0..DEREGISTER_TRIES {
            match timeout(self.settings.heartbeat_timeout, self.register.deregister(&self.member.id)).await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => warn!(instance = %self.member.id, %error, "deregistering failed"),
                Err(_) => warn!(instance = %self.member.id, "deregistering timed out"),
            }
        }
    }
}

/// When calls are paused for lack of acknowledged heartbeats.
struct Silence {
    /// `None` while they are paused.
    from: Option<Instant>,
    ever_acknowledged: bool,
}
