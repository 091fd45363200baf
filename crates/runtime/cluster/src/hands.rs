//! Takes partitions and lets them go, a few side by side, whenever what there is to be seen has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{info, warn};
use types::{Epoch, PartitionId};

use crate::pauses::Pauses;
use crate::pulse::Phase;
use crate::versions::Versions;
use crate::{
    Action, Decision, Holder, Holding, Member, Metrics, Outlook, Register, Settings, Sight, Wait, decide,
};

/// Looks again after so long, whatever happens.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// What was noted takes a moment to be seen; it is not noted again before.
const NOTE_SEEN_WITHIN: Duration = Duration::from_secs(3);
const NOTE_WITHIN: Duration = Duration::from_secs(2);
const NOTE_TRIES: u32 = 3;
const NOTE_PAUSE: Duration = Duration::from_millis(500);
/// How often it is noted how far the events of what is held are durable: a loss is noticed up to here.
const HIGH_EVERY: Duration = Duration::from_secs(30);

pub(crate) struct Hands<R, H> {
    register: Arc<R>,
    holder: Arc<H>,
    me: Member,
    settings: Settings,
    metrics: Metrics,
    sight: watch::Receiver<Arc<Sight>>,
    lost: watch::Receiver<u64>,
    phase: watch::Receiver<Phase>,
    trust_from: watch::Receiver<Option<Instant>>,
    work: JoinSet<Done>,
    busy: BTreeSet<PartitionId>,
    taking: usize,
    waiting: BTreeMap<PartitionId, Wait>,
    pauses: Pauses,
    versions: Versions,
    /// What was held at the last look: whatever is missing since then was lost.
    kept: BTreeMap<PartitionId, Epoch>,
    /// When it is noted next how far events are durable.
    high_at: Instant,
}

/// What has been done with a partition.
enum Done {
    Taken { partition: PartitionId, outcome: Result<Epoch, String>, time: Duration },
    Released(PartitionId),
    Noted(PartitionId),
}

impl<R: Register, H: Holder> Hands<R, H> {
    pub(crate) fn new(
        register: Arc<R>,
        holder: Arc<H>,
        me: Member,
        settings: Settings,
        metrics: Metrics,
        phase: watch::Receiver<Phase>,
        trust_from: watch::Receiver<Option<Instant>>,
    ) -> Hands<R, H> {
        Hands {
            sight: register.watch(),
            lost: holder.lost(),
            register,
            holder,
            me,
            settings,
            metrics,
            phase,
            trust_from,
            work: JoinSet::new(),
            busy: BTreeSet::new(),
            taking: 0,
            waiting: BTreeMap::new(),
            pauses: Pauses::default(),
            versions: Versions::default(),
            kept: BTreeMap::new(),
            high_at: Instant::now() + HIGH_EVERY,
        }
    }

    /// Goes on until the instance leaves and has let go of everything.
    pub(crate) async fn run(mut self) {
        loop {
            let leaving = *self.phase.borrow_and_update() != Phase::Living;
            let again = self.look(leaving);
            if leaving && self.busy.is_empty() && self.kept.is_empty() {
                return;
            }
            tokio::select! {
                // In one order: a simulation goes the same way each time.
                biased;
                Some(done) = self.work.join_next() => match done {
                    Ok(done) => self.finish(done),
                    // A half-done take is nothing to go on with: the process ends, as with every task that panics.
                    Err(error) => if let Ok(panic) = error.try_into_panic() { resume_unwind(panic) },
                },
                Ok(()) = self.sight.changed() => {}
                Ok(()) = self.lost.changed() => {}
                Ok(()) = self.phase.changed() => {}
                Ok(()) = self.trust_from.changed() => {}
                () = sleep_until(again) => {}
            }
        }
    }

    /// Decides, begins what follows, and says when to look again.
    fn look(&mut self, leaving: bool) -> Instant {
        let now = Instant::now();
        self.lost.mark_unchanged();
        let held = self.holder.held();
        self.count_losses(&held, now);
        let sight = Arc::clone(&self.sight.borrow_and_update());
        if let Some(versions) = self.versions.mixed(&sight) {
            warn!(versions, "instances of several versions live side by side; finish the upgrade");
        }
        let trust_from = *self.trust_from.borrow_and_update();
        let outlook = Outlook {
            sight: &sight,
            me: &self.me,
            leaving,
            held: &held,
            busy: &self.busy,
            waiting: &self.waiting,
            paused: self.pauses.until(),
            trust_from,
            now,
        };
        let Decision { actions, waiting, again } = decide(&self.settings, &outlook);
        self.waiting = waiting;
        self.metrics.held.set(i64::try_from(held.len()).unwrap_or(i64::MAX));
        self.metrics.instances.set(i64::try_from(sight.members.len()).unwrap_or(i64::MAX));
        for action in actions {
            self.begin(action, &held);
        }
        if now >= self.high_at && trust_from.is_some() {
            self.high_at = now + HIGH_EVERY;
            self.note_highs(&sight, &held);
        }
        self.kept = held.into_iter().filter(|(partition, _)| !self.busy.contains(partition)).collect();
        again.unwrap_or(now + LOOK_EVERY).min(now + LOOK_EVERY)
    }

    fn count_losses(&mut self, held: &BTreeMap<PartitionId, Epoch>, now: Instant) {
        let lost = self.kept.iter().filter(|(partition, _)| !held.contains_key(partition));
        for (partition, epoch) in lost {
            self.metrics.losses.inc();
            let Settings { pause_first, pause_max, .. } = self.settings;
            let pause = self.pauses.lengthen(*partition, now, pause_first, pause_max);
            warn!(%partition, epoch = epoch.0, ?pause, "partition lost");
        }
    }

    /// Notes how far the events of each partition have come since that was last noted.
    fn note_highs(&mut self, sight: &Sight, held: &BTreeMap<PartitionId, Epoch>) {
        for (partition, epoch) in held {
            let noted = sight.holdings.get(partition).filter(|noted| noted.is_of(&self.me.id, *epoch));
            let has_risen = noted.is_some_and(|noted| noted.high < self.holder.high(*partition));
            if has_risen && !self.busy.contains(partition) {
                let holding = Holding::new(Some(self.me.id.clone()), *epoch);
                self.begin(Action::Note(*partition, holding), held);
            }
        }
    }

    fn begin(&mut self, action: Action, held: &BTreeMap<PartitionId, Epoch>) {
        let (register, holder) = (Arc::clone(&self.register), Arc::clone(&self.holder));
        match action {
            // What does not fit now is decided again when one of these is done.
            Action::Take(_) if self.taking >= self.settings.takes_at_once => {}
            Action::Take(partition) => {
                self.taking += 1;
                self.busy.insert(partition);
                let me = self.me.id.clone();
                let high = self.sight.borrow().holdings.get(&partition).and_then(|noted| noted.high);
                self.work.spawn(async move {
                    let begun = Instant::now();
                    let outcome = holder.take(partition, high).await;
                    let time = begun.elapsed();
                    if let Ok(epoch) = outcome {
                        let high = holder.high(partition);
                        tell(&*register, partition, Holding { holder: Some(me), epoch, high }).await;
                    }
                    Done::Taken { partition, outcome, time }
                });
            }
            Action::Release(partition) => {
                let Some(epoch) = held.get(&partition).copied() else { return };
                self.busy.insert(partition);
                let patience = self.settings.patience;
                self.work.spawn(async move {
                    holder.release(partition, patience).await;
                    let high = holder.high(partition);
                    tell(&*register, partition, Holding { holder: None, epoch, high }).await;
                    Done::Released(partition)
                });
            }
            Action::Note(partition, mut holding) => {
                self.busy.insert(partition);
                holding.high = holding.holder.as_ref().and_then(|_| holder.high(partition));
                self.work.spawn(async move {
                    tell(&*register, partition, holding).await;
                    Done::Noted(partition)
                });
            }
        }
    }

    fn finish(&mut self, done: Done) {
        let now = Instant::now();
        match done {
            Done::Taken { partition, outcome, time } => {
                self.taking -= 1;
                self.busy.remove(&partition);
                match outcome {
                    Ok(epoch) => self.taken(partition, epoch, time, now),
                    Err(error) => self.failed(partition, &error, now),
                }
            }
            Done::Released(partition) => {
                self.busy.remove(&partition);
                self.metrics.releases.inc();
                self.pauses.rest(partition, now + NOTE_PAUSE);
                info!(%partition, instance = %self.me.id, "partition let go");
            }
            Done::Noted(partition) => {
                self.busy.remove(&partition);
                self.pauses.rest(partition, now + NOTE_SEEN_WITHIN);
            }
        }
    }

    fn taken(&mut self, partition: PartitionId, epoch: Epoch, time: Duration, now: Instant) {
        self.kept.insert(partition, epoch);
        self.metrics.takes.inc();
        self.metrics.last_take_seconds.set(time.as_secs_f64());
        self.pauses.rest(partition, now + NOTE_SEEN_WITHIN);
        info!(%partition, epoch = epoch.0, ?time, instance = %self.me.id, "partition taken");
    }

    fn failed(&mut self, partition: PartitionId, error: &str, now: Instant) {
        self.metrics.take_failures.inc();
        let Settings { pause_first, pause_max, .. } = self.settings;
        let pause = self.pauses.lengthen(partition, now, pause_first, pause_max);
        warn!(%partition, error, ?pause, "taking a partition failed");
    }
}

/// Tells the others who holds a partition. When they do not hear it, it is seen at the next look and told again.
async fn tell<R: Register>(register: &R, partition: PartitionId, holding: Holding) {
    for attempt in 1..=NOTE_TRIES {
        match timeout(NOTE_WITHIN, register.note(partition, holding.clone())).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => warn!(%partition, %error, "noting who holds a partition failed"),
            Err(_) => warn!(%partition, "noting who holds a partition was not answered"),
        }
        if attempt < NOTE_TRIES {
            sleep(NOTE_PAUSE).await;
        }
    }
}
