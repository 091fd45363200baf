//! Acts on durable state: starts the pending calls, archives ended runs, answers waiting callers.

use std::sync::atomic::Ordering;

use journal::{AppendError, Journal};
use kernel::job::Occurrence;
use kernel::{DropReason, Event, Fact, Fired, PendingCall, Run, RunNo, Try};
use order::{CallContext, CallOrder, CallSubject, Reply, Stop};
use types::{Outcome, Timestamp, Work};

use super::{Batch, Partition};
use crate::limits::HISTORY_TRIM_EVERY;
use crate::metrics::OutcomeLabel;
use crate::{EngineMetrics, archive};

/// This partition's share of the gauges that all partitions add to.
#[derive(Default)]
pub(crate) struct Counted {
    live: i64,
    parked: i64,
    calls: i64,
}

impl Counted {
    /// Subtracts the partition from the gauges.
    pub(super) fn subtract(&self, metrics: &EngineMetrics) {
        metrics.live.dec_by(self.live);
        metrics.parked.dec_by(self.parked);
        metrics.calls.dec_by(self.calls);
    }
}

impl<J: Journal> Partition<J> {
    /// Starts from the current state.
    pub(super) fn resume(&mut self) {
        self.start_pending_calls();
        self.count_gauges();
    }

    /// Starts every call that is pending and not in flight, again with the same key. Calls of a run that rolls back
    /// are not made: nobody knows whether an earlier process sent them, and their undo covers them.
    pub(super) fn start_pending_calls(&mut self) {
        let is_in_flight = |call: &PendingCall| self.calls.contains_key(&(call.run, call.attempt.work));
        let pending: Vec<PendingCall> =
            self.state.pending_calls().filter(|call| !is_in_flight(call)).collect();
        let orphans: Vec<PendingCall> = self.state.orphans().filter(|orphan| !is_in_flight(orphan)).collect();
        for call in pending {
            self.start(call.run, call.attempt);
        }
        for orphan in orphans {
            let reason =
                "the process stopped or suspended the call, and the run has rolled back since".to_owned();
            self.reply_for(orphan.run, orphan.attempt).report(Outcome::Unknown { reason });
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
                // Another instance wrote it to the inbox; this one reads it for the first time.
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
            // The client may have disconnected; the command is carried out all the same.
            let _ = reply.send(result);
        }
        self.note_lateness(&batch.jobs.fired);
        for (reply, answer) in std::mem::take(&mut batch.jobs.replies) {
            // As above: it is done, whether or not the caller still waits.
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
        // A draining process leaves pending calls to its next start; suspended calls start when they are resumed.
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

    /// Records how late occurrences are once their calls have been ordered.
    fn note_lateness(&self, due: &[Timestamp]) {
        let wall = self.shared.clock.wall();
        for due in due {
            self.shared.metrics.lateness_seconds.observe(wall.since(*due).as_std());
        }
    }

    /// An occurrence has become a run: its id is in use from now on.
    fn note_fired(&self, fired: &Fired) -> Result<(), AppendError> {
        let shared = &self.shared;
        shared.ids.restore(&fired.request.id, fired.request.body_hash, self.id);
        shared.metrics.fired.inc();
        if fired.progress.fired.is_multiple_of(HISTORY_TRIM_EVERY) {
            let keep = shared.settings.history_max_per_job;
            let trimmed = shared.view.keep_newest(self.id, &fired.request.key, keep);
            trimmed.map_err(|error| self.damaged(&error.to_string()))?;
        }
        Ok(())
    }

    fn reply_for(&self, run: RunNo, attempt: Try) -> Reply {
        Reply::new(self.reports.clone(), run, attempt.work, attempt.attempt)
    }

    /// A run that rolls back no longer needs the calls that were not sent yet.
    fn stop_calls(&self, no: RunNo) {
        let calls = self.calls.iter().filter(|((run, work), _)| {
            *run == no && matches!(work, Work::Do(_) | Work::Alternative(_) | Work::DoInstead(_))
        });
        for (_, stop) in calls {
            stop.raise();
        }
    }

    /// A run that cannot be written to the view stops the partition: a later snapshot would let the journal drop it.
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
            tracing::error!(run = %run.request.id, workflow = %run.request.workflow, reason, "run parked: an operator must decide");
        }
    }

    fn count_dropped(&self, id: &types::RunId, reason: DropReason) {
        self.shared.metrics.dropped.inc();
        if self.state.find(id).is_none() {
            // Its run has ended: after a restart the id was reserved again only for this request.
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
