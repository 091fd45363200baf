//! The loop of one partition: take a batch of inputs, decide, commit them as one frame, then act.
//!
//! The state is evolved while deciding, ahead of the journal. That is safe because nothing leaves before the
//! frame is durable: no call starts, no reply is sent, no run reaches the view.

mod act;
mod batch;
mod import;
mod inbox_reader;
mod jobs;
pub(crate) mod queues;
mod snapshot;
mod window;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use host::Clock;
use journal::{AppendError, Journal, ReadError};
use kernel::job::Job;
use kernel::queue::{QueueNo, Queues};
use kernel::{Command, Event, Input, Rejection, RunNo, State};
use order::{CallReport, Effects, ReportTo, Stop};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{Semaphore, oneshot};
use types::{
    BodyHash, Epoch, JobRef, Outcome, PartitionId, RunId, RunStatus, Seq, Span, Uid, Work, WorkflowName,
};
use view::{Ids, View};

use crate::engine::{CommandError, Settings};
use crate::jobs::{JobAnswer, JobCommand, JobError};
use crate::limits::{ENTERING_MAX, ROOM_LOOK, SPIKE_LOOK};
use crate::queues::{QueueCommand, QueueError};
use crate::recovery::{self, RecoveryError};
use crate::{Catalogs, EngineMetrics};

use batch::Batch;
use inbox_reader::InboxReader;

/// A message to a partition from the rest of the process. The channel itself is unbounded: outcomes are
/// bounded by the calls in flight, commands and queries by the connections that wait for them.
pub(crate) enum PartitionMessage {
    /// A call has its outcome, or was stopped before it was sent.
    Call(CallReport),
    Command {
        id: RunId,
        by: String,
        command: Command,
        reply: oneshot::Sender<Result<(), CommandError>>,
    },
    Job {
        command: JobCommand,
        reply: oneshot::Sender<Result<JobAnswer, JobError>>,
    },
    Query(Query),
    Queue {
        command: QueueCommand,
        reply: queues::Replier,
    },
    QueueQuery(QueueQuery),
    /// A consumer had gone away when its message was delivered.
    QueueReleased {
        queue: QueueNo,
        token: Uid,
    },
    /// Take a snapshot if anything happened since the last one, so that the journal can be trimmed.
    Snapshot,
    /// A snapshot is durable through this frame, or failed.
    SnapshotDone {
        through: Option<Seq>,
    },
    /// Start no further calls; end when no call is in flight, after a snapshot when the partition changes owner.
    Drain {
        hand_over: bool,
    },
    /// Calls are resumed: start the pending ones.
    MakeCalls,
}

/// A query of the state; the answer goes to the caller.
pub(crate) type Query = Box<dyn FnOnce(&State) + Send>;

/// A query of the queues.
pub(crate) type QueueQuery = Box<dyn FnOnce(&Queues) + Send>;

/// What all partitions share.
pub(crate) struct EngineParts<J> {
    pub journal: Arc<J>,
    pub view: View,
    pub ids: Arc<Ids>,
    pub catalogs: Catalogs,
    pub effects: Arc<dyn Effects>,
    pub clock: Clock,
    pub settings: Settings,
    pub metrics: EngineMetrics,
    pub calls_held: CallsHeld,
    pub memory: host::Memory,
}

/// Whether calls are suspended, because another owner may have fenced this instance without its knowledge.
pub(crate) type CallsHeld = Arc<AtomicBool>;

/// The owner of one partition.
pub(crate) struct Partition<J> {
    id: PartitionId,
    shared: Arc<EngineParts<J>>,
    state: State,
    epoch: Epoch,
    tail: Seq,
    tx: UnboundedSender<PartitionMessage>,
    rx: UnboundedReceiver<PartitionMessage>,
    /// Where calls report their outcomes: to this partition, through `tx`.
    reports: ReportTo,
    inbox: InboxReader,
    /// Bytes of the requests of all runs in memory.
    live_bytes: usize,
    /// Calls that were started and have no outcome yet.
    calls: BTreeMap<(RunNo, Work), Stop>,
    draining: bool,
    /// Suspended calls may start once the current batch is durable.
    calls_wanted: bool,
    /// The workflow version that the next request waits for.
    awaited_version: Option<(WorkflowName, u32)>,
    /// Whether a snapshot for the next owner is still to be written.
    leaves_snapshot: bool,
    snapshots: snapshot::SnapshotSchedule,
    counted: act::Counted,
    /// The jobs that are due soon.
    window: window::DueWindow,
    /// The jobs whose occurrences are running, as the view has them.
    firing: BTreeMap<JobRef, Job>,
    queues: Queues,
    /// Consumers that wait for messages.
    lines: queues::WaitingConsumers,
    /// Locks that this owner has granted.
    locks: u64,
}

fn reports_to(tx: UnboundedSender<PartitionMessage>) -> ReportTo {
    Arc::new(move |report| {
        // A partition that has ended does not need the outcome: its next owner calls again with the same key.
        let _ = tx.send(PartitionMessage::Call(report));
    })
}

impl<J: Journal> Partition<J> {
    /// Claims the partition and recovers it.
    pub(crate) async fn recover(
        id: PartitionId,
        shared: Arc<EngineParts<J>>,
        turns: &Semaphore,
        tx: UnboundedSender<PartitionMessage>,
        rx: UnboundedReceiver<PartitionMessage>,
    ) -> Result<Partition<J>, RecoveryError> {
        let EngineParts { journal, catalogs, view, ids, .. } = &*shared;
        let recovered = recovery::recover(&**journal, id, catalogs, view, ids, turns).await?;
        shared.clock.catch_up(recovered.latest);
        Ok(Partition {
            id,
            inbox: InboxReader::open(&shared.journal, id, recovered.state.inbox_through()),
            shared,
            live_bytes: recovered.state.runs().map(|run| run.request.body.len()).sum(),
            state: recovered.state,
            epoch: recovered.claim.epoch,
            tail: recovered.claim.events_tail,
            reports: reports_to(tx.clone()),
            tx,
            rx,
            calls: BTreeMap::new(),
            draining: false,
            calls_wanted: false,
            awaited_version: None,
            leaves_snapshot: false,
            snapshots: snapshot::SnapshotSchedule::new(
                recovered.snapshot_through,
                recovered.bytes_since_snapshot,
            ),
            counted: act::Counted::default(),
            window: window::DueWindow::new(),
            firing: BTreeMap::new(),
            queues: recovered.queues,
            lines: queues::WaitingConsumers::default(),
            locks: 0,
        })
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Runs until it is drained, or the journal reports that another owner has the partition.
    pub(crate) async fn run(mut self) -> Result<(), AppendError> {
        self.resume();
        loop {
            let mut batch = Batch::new(self.shared.clock.now(), self.shared.clock.wall());
            self.wait_for_input(&mut batch).await?;
            while !batch.is_full()
                && let Ok(message) = self.rx.try_recv()
            {
                self.take(&mut batch, message)?;
            }
            self.take_due(&mut batch)?;
            self.take_requests(&mut batch).await?;
            self.tick(&mut batch);
            self.serve_queues(&mut batch);
            self.count_ended(&mut batch)?;
            self.commit(&batch.events).await?;
            self.act(batch)?;
            // Only now: the calls that the batch decided on were not durable before.
            if std::mem::take(&mut self.calls_wanted) {
                self.start_pending_calls();
            }
            self.snapshot_if_due();
            if self.draining && self.calls.is_empty() && !self.snapshots.is_running() {
                if !std::mem::take(&mut self.leaves_snapshot) || !self.snapshots.has_news(self.tail) {
                    self.refuse_rest();
                    return Ok(());
                }
                self.snapshots.ask();
                self.snapshot_if_due();
            }
        }
    }

    async fn wait_for_input(&mut self, batch: &mut Batch) -> Result<(), AppendError> {
        let may_fire = self.may_fire();
        let has_work = (self.can_take_requests() && self.has_requests())
            || (may_fire && self.window.is_due(batch.wall))
            || self.can_serve();
        let message = if has_work { None } else { self.next_message(may_fire).await? };
        // Other ready tasks run first: their messages join the same frame.
        tokio::task::yield_now().await;
        (batch.now, batch.wall) = (self.shared.clock.now(), self.shared.clock.wall());
        match message {
            Some(message) => self.take(batch, message),
            None => Ok(()),
        }
    }

    /// Waits for a message, or until a timer may be due.
    async fn next_message(&mut self, may_fire: bool) -> Result<Option<PartitionMessage>, AppendError> {
        let can_take = self.can_take_requests();
        // Capped, so that a timer that expired while the machine was suspended is late by a second at most.
        let run_nap = self.state.wake_at().map(|at| at.since(self.shared.clock.now()));
        let job_nap = may_fire.then(|| self.window.wake_at().since(self.shared.clock.wall()));
        let queue_nap = self.queues.wake_at().map(|at| at.since(self.shared.clock.wall()));
        // Waiting consumers time out by the monotonic clock, whatever the wall clock is set to meanwhile.
        let line_nap = self.lines.wake_at().map(|at| at.since(self.shared.clock.now()));
        let naps = run_nap.into_iter().chain(job_nap).chain(queue_nap).chain(line_nap);
        let nap = naps.fold(Span::from_secs(1), Span::min).as_std();
        let nap = if self.should_yield_to_ingest() { nap.min(SPIKE_LOOK) } else { nap };
        tokio::select! {
            // Outcomes first: they end work in progress before new work is taken.
            biased;
            message = self.rx.recv() => Ok(message),
            come = self.inbox.wait_for_more(), if can_take => match come {
                Ok(()) => Ok(None),
                Err(error) => Err(self.unread(&error)),
            },
            () = tokio::time::sleep(nap) => Ok(None),
        }
    }

    /// Whether another request may be taken: calls in flight and runs in memory are bounded, the inbox is on
    /// disk.
    fn can_take_requests(&self) -> bool {
        let settings = &self.shared.settings;
        let live = self.state.live_count() - self.state.parked_count();
        let comes = |(workflow, version): &(WorkflowName, u32)| {
            self.shared.catalogs.load().version(workflow, *version).is_none()
        };
        !self.draining
            && !self.awaited_version.as_ref().is_some_and(comes)
            && !self.should_yield_to_ingest()
            && self.state.calls_count() < settings.calls_max_per_partition
            && live < settings.live_runs_max_per_partition
            // Parked runs alone may exceed this for long: without the exception no request would be taken again.
            && (live == 0 || self.live_bytes < settings.live_bytes_max_per_partition)
    }

    /// Whether so many clients wait for an acknowledgement that ingest goes first: accepted requests can wait on disk.
    fn should_yield_to_ingest(&self) -> bool {
        let EngineParts { ids, settings, .. } = &*self.shared;
        ids.entering() > ENTERING_MAX && ids.len() < settings.spike_unfinished_max
    }

    fn take(&mut self, batch: &mut Batch, message: PartitionMessage) -> Result<(), AppendError> {
        match message {
            PartitionMessage::Call(report) => self.take_report(batch, report),
            PartitionMessage::Command { id, by, command, reply } => {
                let result = match self.ended(batch, &id, &command) {
                    Some(status) => Err(Rejection::Ended(status)),
                    None => self.apply(batch, &Input::Command { id, by, command }),
                };
                batch.replies.push((reply, result.map_err(CommandError::Rejected)));
            }
            PartitionMessage::Job { command, reply } => return self.take_job_command(batch, command, reply),
            PartitionMessage::Query(query) => batch.queries.push(query),
            PartitionMessage::Queue { command, reply } => self.take_queue_command(batch, command, reply),
            PartitionMessage::QueueQuery(query) => batch.queue_queries.push(query),
            PartitionMessage::QueueReleased { queue, token } => self.take_released(batch, queue, token),
            PartitionMessage::Snapshot => self.snapshots.ask(),
            PartitionMessage::SnapshotDone { through } => self.snapshot_done(through),
            PartitionMessage::Drain { hand_over } => self.drain(hand_over),
            PartitionMessage::MakeCalls => self.calls_wanted = true,
        }
        Ok(())
    }

    fn take_report(&mut self, batch: &mut Batch, report: CallReport) {
        let CallReport { run, work, attempt, outcome } = report;
        self.calls.remove(&(run, work));
        let Some(outcome) = outcome else { return self.take_withdrawn(batch, run, work, attempt) };
        self.count_outcome(work, &outcome);
        // Stale when an operator or a crash has settled the call already: there is no one to notify.
        let _ = self.apply(batch, &Input::Outcome { run, work, attempt, outcome });
    }

    fn take_withdrawn(&mut self, batch: &mut Batch, run: RunNo, work: Work, attempt: u32) {
        // When the process stops, the call stays pending and is made after the next start.
        if !self.draining {
            let outcome = Outcome::Unknown {
                reason: "not sent: the run rolled back while the call was queued".to_owned(),
            };
            // Stale only if the run has ended meanwhile.
            let _ = self.apply(batch, &Input::Outcome { run, work, attempt, outcome });
        }
    }

    /// Refuses commands that were not started, so that their callers can retry at the next owner.
    fn refuse_rest(&mut self) {
        self.rx.close();
        let left = || CommandError::of_end(self.id, self.shared.journal.capabilities().has_other_owners);
        // A caller that has gone away needs no answer.
        while let Ok(message) = self.rx.try_recv() {
            match message {
                PartitionMessage::Command { reply, .. } => drop(reply.send(Err(left()))),
                PartitionMessage::Job { reply, .. } => drop(reply.send(Err(JobError::of_stop(left())))),
                PartitionMessage::Queue { reply, .. } => drop(reply.send(Err(QueueError::of_stop(left())))),
                PartitionMessage::Call(_)
                | PartitionMessage::Query(_)
                | PartitionMessage::QueueQuery(_)
                | PartitionMessage::QueueReleased { .. }
                | PartitionMessage::Snapshot
                | PartitionMessage::SnapshotDone { .. }
                | PartitionMessage::Drain { .. }
                | PartitionMessage::MakeCalls => {}
            }
        }
    }

    /// Only calls in flight are waited for.
    fn drain(&mut self, hand_over: bool) {
        self.draining = true;
        self.leaves_snapshot |= hand_over;
        for stop in self.calls.values() {
            stop.raise();
        }
    }

    fn take_request(
        &mut self,
        batch: &mut Batch,
        inbox: Seq,
        request: kernel::Request,
    ) -> Result<(), AppendError> {
        let seen = self.seen(batch, &request.id)?;
        self.shared.metrics.taken.inc();
        let input = Input::Request { inbox, request, seen };
        self.apply(batch, &input).expect("a request becomes a run or is dropped, never rejected");
        Ok(())
    }

    /// The body of an ended run with this id: in the view, or in this batch on its way to the view.
    fn seen(&self, batch: &Batch, id: &RunId) -> Result<Option<BodyHash>, AppendError> {
        if let Some(run) = batch.retired.iter().find(|run| run.request.id == *id) {
            return Ok(Some(run.request.body_hash));
        }
        self.shared.view.seen_in(self.id, id).map_err(|error| self.damaged(&error.to_string()))
    }

    /// How a run ended that a cancel still expects in the inbox.
    fn ended(&self, batch: &Batch, id: &RunId, command: &Command) -> Option<RunStatus> {
        let Command::Cancel { pending: true } = command else { return None };
        if self.state.find(id).is_some() {
            return None;
        }
        if let Some(run) = batch.retired.iter().find(|run| run.request.id == *id) {
            return Some(run.status());
        }
        // A view that cannot be read stops the partition when it is next needed; the cancel is recorded meanwhile.
        self.shared.view.run(id, Some(self.id)).ok().flatten().map(|ended| ended.status)
    }

    fn tick(&mut self, batch: &mut Batch) {
        if self.state.wake_at().is_some_and(|at| at <= batch.now) {
            self.apply(batch, &Input::Tick).expect("a tick is never rejected");
        }
    }

    fn apply(&mut self, batch: &mut Batch, input: &Input) -> Result<(), Rejection> {
        let catalog = self.shared.catalogs.load();
        let (from, retired) = (batch.events.len(), batch.retired.len());
        let applied = self.state.apply(&*catalog, batch.now, input, &mut batch.events, &mut batch.retired);
        batch.count(from);
        self.live_bytes += batch.events[from..].iter().map(request_bytes).sum::<usize>();
        self.live_bytes -= batch.retired[retired..].iter().map(|run| run.request.body.len()).sum::<usize>();
        applied
    }

    /// Makes the batch durable. Waits while the disk is full: the events are facts and cannot be dropped.
    async fn commit(&mut self, events: &[Event]) -> Result<(), AppendError> {
        if events.is_empty() {
            return Ok(());
        }
        let frame = journal::codec::encode(events);
        self.snapshots.note_frame(frame.len());
        let began = Instant::now();
        loop {
            match self.shared.journal.append(self.id, self.epoch, self.tail, frame.clone()).await {
                Ok(seq) => self.tail = seq,
                Err(AppendError::Full) => {
                    tracing::warn!(partition = %self.id, "the journal is full; the partition waits for disk space");
                    tokio::time::sleep(ROOM_LOOK).await;
                    continue;
                }
                Err(error) => return Err(error),
            }
            break;
        }
        let metrics = &self.shared.metrics;
        metrics.commit_seconds.observe(began.elapsed());
        metrics.frames.inc();
        metrics.events.inc_by(events.len() as u64);
        Ok(())
    }

    /// The reason that requests cannot be read. In a cluster, requests that this owner has not taken are missing only
    /// when the next owner has taken them.
    fn unread(&self, error: &ReadError) -> AppendError {
        match error {
            ReadError::Trimmed { .. } if self.shared.journal.capabilities().has_other_owners => {
                AppendError::Fenced { partition: self.id }
            }
            error => self.damaged(&error.to_string()),
        }
    }

    fn damaged(&self, detail: &str) -> AppendError {
        AppendError::Damaged { partition: self.id, detail: detail.to_owned() }
    }
}

impl<J> Drop for Partition<J> {
    fn drop(&mut self) {
        // Calls that were not sent are left to the next owner.
        for stop in self.calls.values() {
            stop.raise();
        }
        self.counted.subtract(&self.shared.metrics);
    }
}

/// Bytes of the request that an event loads into memory.
fn request_bytes(event: &Event) -> usize {
    match event {
        Event::Accepted(accepted) => accepted.request.body.len(),
        Event::Fired(fired) => fired.request.body.len(),
        Event::Run { .. }
        | Event::Dropped { .. }
        | Event::CancelNoted { .. }
        | Event::Job(_)
        | Event::Queue(_) => 0,
    }
}
