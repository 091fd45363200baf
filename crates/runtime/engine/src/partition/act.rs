//! Acting on what is durable: start the calls that the state owes, archive what ended, answer who waits.

use std::sync::atomic::Ordering;

use journal::{AppendError, Journal};
use kernel::job::Occurrence;
use kernel::{DropReason, Event, Fact, Fired, PendingCall, Run, RunNo, Try};
use types::{Outcome, Timestamp, Work};

use super::{Batch, Partition};
use crate::limits::HISTORY_TRIM_EVERY;
use crate::metrics::OutcomeLabel;
use crate::order::{CallContext, CallOrder, CallSubject, Reply, Stop};
use crate::{EngineMetrics, archive};

/// What this partition has added to the gauges that all partitions share.
#[derive(Default)]
pub(crate) struct Counted {
    live: i64,
    parked: i64,
    calls: i64,
}

impl Counted {
    /// Takes the partition out of the gauges.
    pub(super) fn take_back(&self, metrics: &EngineMetrics) {
        metrics.live.dec_by(self.live);
        metrics.parked.dec_by(self.parked);
        metrics.calls.dec_by(self.calls);
    }
}

impl<J: Journal> Partition<J> {
    /// Begins where the state stands.
    pub(super) fn resume(&mut self) {
        self.start_pending_calls();
        self.count_gauges();
    }

    /// Starts every call that is owed and not under way, again with the same key. Those of a run that has turned back
    /// meanwhile are not made: nobody knows whether they left in an earlier life, and their undo covers them.
    pub(super) fn start_pending_calls(&mut self) {
        let is_under_way = |owed: &PendingCall| self.calls.contains_key(&(owed.run, owed.attempt.work));
        let owed: Vec<PendingCall> = self.state.pending_calls().filter(|owed| !is_under_way(owed)).collect();
        let orphans: Vec<PendingCall> = self.state.orphans().filter(|orphan| !is_under_way(orphan)).collect();
        for owed in owed {
            self.start(owed.run, owed.attempt);
        }
        for orphan in orphans {
            let reason =
                "the process stopped or held the call back, and the run has turned back since".to_owned();
            self.reply_for(orphan.run, orphan.attempt).tell(Outcome::Unknown { reason });
        }
    }

    pub(super) fn act(&mut self, mut batch: Batch) -> Result<(), AppendError> {
        for event in &batch.events {
            match event {
                Event::Run { no, fact: Fact::Started { work, attempt }, .. } => {
                    self.start(*no, Try { work: *work, attempt: *attempt });
                }
                Event::Run { no, fact: Fact::Undoing { .. }, .. } => self.stop_calls(*no),
                Event::Run { no, fact: Fact::Parked { reason }, .. } => self.alert_parked(*no, reason),
                Event::Dropped { id, reason, .. } => self.count_dropped(id, *reason),
                Event::Fired(fired) => {
                    self.record(&mut batch.jobs, event)?;
                    self.note_fired(fired)?;
                }
                Event::Job(_) => self.record(&mut batch.jobs, event)?,
                // Written to the inbox by another instance, it is heard of here for the first time.
                Event::Accepted(accepted) if self.shared.ids.partitions_move() => {
                    let request = &accepted.request;
                    self.shared.ids.restore(&request.id, request.body_hash, self.id);
                }
                Event::Accepted(_) | Event::CancelNoted { .. } | Event::Run { .. } | Event::Queue(_) => {}
            }
        }
        for run in &batch.retired {
            self.archive(run)?;
        }
        for (reply, result) in batch.replies {
            // A client that has gone away asked for something that is done all the same.
            let _ = reply.send(result);
        }
        self.note_lateness(&batch.jobs.fired);
        for (reply, answer) in std::mem::take(&mut batch.jobs.replies) {
            // As above: it is done, whoever asked for it.
            let _ = reply.send(answer);
        }
        self.keep_at_hand(batch.jobs);
        self.deliver(&batch.events, batch.queues)?;
        for query in batch.queries {
            query(&self.state);
        }
        for query in batch.queue_queries {
            query(&self.queues);
        }
        self.count_gauges();
        Ok(())
    }

    fn start(&mut self, no: RunNo, attempt: Try) {
        // A later event of the same batch may have settled the attempt already.
        let Some(run) = self.state.run(no).filter(|run| run.in_flight().any(|now| now == attempt)) else {
            return;
        };
        // What is owed when the process drains is made after its next start; what is held back, when it may leave.
        if self.draining || self.shared.calls_held.load(Ordering::Acquire) {
            return;
        }
        let stop = Stop::default();
        let order = CallOrder {
            work: attempt.work,
            attempt: attempt.attempt,
            subject: self.subject(run),
            context: CallContext::of(run, attempt.work, run.reason()),
            stop: stop.clone(),
            reply: self.reply_for(no, attempt),
        };
        self.calls.insert((no, attempt.work), stop);
        self.shared.effects.start(order);
    }

    fn subject(&self, run: &Run) -> CallSubject {
        if let Some(occurrence) = Occurrence::of_request(&run.request) {
            return CallSubject::Job(Box::new(occurrence));
        }
        let catalog = self.shared.catalogs.load();
        let entry = catalog.version(&run.request.workflow, run.request.version);
        let definition = entry.expect("a live run's workflow version is never removed").definition.clone();
        CallSubject::Workflow { definition, version: run.request.version }
    }

    /// How late occurrences are when their calls have been ordered.
    fn note_lateness(&self, due: &[Timestamp]) {
        let wall = self.shared.clock.wall();
        for due in due {
            self.shared.metrics.lateness_seconds.observe(wall.since(*due).as_std());
        }
    }

    /// An occurrence has become a run: its id is known from now on.
    fn note_fired(&self, fired: &Fired) -> Result<(), AppendError> {
        let shared = &self.shared;
        shared.ids.restore(&fired.request.id, fired.request.body_hash, self.id);
        shared.metrics.fired.inc();
        if fired.standing.fired.is_multiple_of(HISTORY_TRIM_EVERY) {
            let keep = shared.settings.history_max_per_job;
            let trimmed = shared.view.keep_newest(self.id, &fired.request.key, keep);
            trimmed.map_err(|error| self.damaged(&error.to_string()))?;
        }
        Ok(())
    }

    fn reply_for(&self, run: RunNo, attempt: Try) -> Reply {
        Reply { to: self.tx.clone(), run, work: attempt.work, attempt: attempt.attempt, told: false }
    }

    /// A run that turns back no longer needs the calls that have not left yet.
    fn stop_calls(&self, no: RunNo) {
        let calls = self.calls.iter().filter(|((run, work), _)| {
            *run == no && matches!(work, Work::Do(_) | Work::Alternative(_) | Work::DoInstead(_))
        });
        for (_, stop) in calls {
            stop.raise();
        }
    }

    /// A run that cannot reach the view stops the partition: a later snapshot would let the journal forget it.
    fn archive(&self, run: &Run) -> Result<(), AppendError> {
        let ended = archive::ended(run);
        self.shared.metrics.run_seconds.observe(ended.ended_at.since(ended.accepted_at).as_std());
        self.shared.metrics.runs.get_or_create(&OutcomeLabel { outcome: ended.status.as_str() }).inc();
        let put = self.shared.view.put_ended(self.id, &ended);
        put.map_err(|error| self.damaged(&error.to_string()))?;
        self.shared.ids.release(&ended.id);
        Ok(())
    }

    fn alert_parked(&self, no: RunNo, reason: &str) {
        self.shared.metrics.runs.get_or_create(&OutcomeLabel { outcome: "parked" }).inc();
        if let Some(run) = self.state.run(no) {
            tracing::error!(run = %run.request.id, workflow = %run.request.workflow, reason, "run parked: a person must decide");
        }
    }

    fn count_dropped(&self, id: &types::RunId, reason: DropReason) {
        self.shared.metrics.dropped.inc();
        if self.state.find(id).is_none() {
            // Its run has ended: after a restart the id was held again for this request alone.
            self.shared.ids.release(id);
        }
        match reason {
            DropReason::Duplicate => tracing::debug!(run = %id, "a repeated request was dropped"),
            DropReason::Conflict => {
                tracing::error!(run = %id, "a request with a used id and another body was dropped")
            }
        }
    }

    pub(super) fn count_outcome(&self, work: Work, outcome: &Outcome) {
        let outcome = outcome.name();
        let family = match work {
            Work::Undo(_) | Work::UndoInstead(_) => &self.shared.metrics.undos,
            Work::Do(_) | Work::Alternative(_) | Work::DoInstead(_) | Work::Notice(_) => {
                &self.shared.metrics.attempts
            }
        };
        family.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    fn count_gauges(&mut self) {
        let now = Counted {
            live: self.state.live_count() as i64,
            parked: self.state.parked_count() as i64,
            calls: self.calls.len() as i64,
        };
        let metrics = &self.shared.metrics;
        metrics.live.inc_by(now.live - self.counted.live);
        metrics.parked.inc_by(now.parked - self.counted.parked);
        metrics.calls.inc_by(now.calls - self.counted.calls);
        self.counted = now;
    }
}
