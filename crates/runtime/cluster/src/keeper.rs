//! Keeps the right partitions: says that the instance lives, takes what it should own, lets go of what it should not.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::hands::Hands;
use crate::pulse::{Phase, Pulse};
use crate::{Holder, InstanceId, Member, Metrics, Register, Settings};

/// What letting go takes beside the patience with calls: snapshots, notes, takes that were under way.
const STOP_MARGIN: Duration = Duration::from_secs(20);
const LEAVE_WITHIN: Duration = Duration::from_secs(10);

/// Keeps partitions until it is stopped. One that is dropped ends like a process that is killed: nobody is told.
pub struct Keeper {
    id: InstanceId,
    phase: watch::Sender<Phase>,
    pulse: JoinHandle<()>,
    hands: JoinHandle<()>,
    stop_within: Duration,
}

impl Keeper {
    pub fn start<R: Register, H: Holder>(
        register: Arc<R>,
        holder: Arc<H>,
        member: Member,
        settings: Settings,
        metrics: Metrics,
    ) -> Keeper {
        let (phase, phases) = watch::channel(Phase::Living);
        let (trust_from, trusted) = watch::channel(None);
        let hands = Hands::new(
            Arc::clone(&register),
            Arc::clone(&holder),
            member.clone(),
            settings.clone(),
            metrics.clone(),
            phases.clone(),
            trusted,
        );
        let (id, stop_within) = (member.id.clone(), settings.patience + STOP_MARGIN);
        let pulse = Pulse { register, holder, member, settings, metrics, phase: phases, trust_from };
        Keeper {
            id,
            phase,
            pulse: host::spawn("instance pulse", pulse.run()),
            hands: host::spawn("partition hands", hands.run()),
            stop_within,
        }
    }

    /// Says that the instance leaves, lets go of everything, and is gone.
    pub async fn stop(mut self) {
        info!(instance = %self.id, "leaving");
        self.phase.send_replace(Phase::Leaving);
        if timeout(self.stop_within, &mut self.hands).await.is_err() {
            warn!(instance = %self.id, "partitions were not let go in time; others take them");
            self.hands.abort();
        }
        self.phase.send_replace(Phase::Gone);
        if timeout(LEAVE_WITHIN, &mut self.pulse).await.is_err() {
            warn!(instance = %self.id, "leaving took too long; others will miss this instance");
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.pulse.abort();
        self.hands.abort();
    }
}

#[cfg(test)]
mod tests;
