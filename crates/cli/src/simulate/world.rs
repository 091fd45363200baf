//! The loop of a simulation: a virtual clock, the shipped rules, and scripted services.
//!
//! What comes next is the earliest of an answer, a timer of a run and a job that is due. Each turn does what a turn of
//! a partition's loop does: outcomes first, then jobs that are due, then timers; then pending calls are sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kernel::job::{self, Due, Job};
use kernel::{Event, Fact, Input, Request, Run, RunNo, State, Try};
use outbound::{Fault, ServiceResponse};
use types::{Outcome, Plan, Seq, Timestamp, WorkflowName};

use super::call::{CallKind, assumed_done};
use super::job::PlannedJob;
use super::log::{AttemptEnd, LogEntry, LogEvent, SimulatedAttempt, SimulatedFiring, SkipReason};
use super::script::{Script, ScriptReply};

/// Attempts of one simulation; a job every minute of a year has half a million, which nobody reads.
const ATTEMPTS_MAX: usize = 50_000;

/// A world of one workflow or one job.
pub struct World<'a> {
    pub now: Timestamp,
    pub subject: CallKind<'a>,
    pub script: Script,
    pub entries: Vec<LogEntry>,
    /// Runs that have ended.
    pub ended: Vec<Run>,
    /// Steps that no rule answers and whose definition does not take the usual answer.
    pub assumed: BTreeSet<String>,
    state: State,
    plans: BTreeMap<(WorkflowName, u32), Arc<Plan>>,
    job: Option<WatchedJob<'a>>,
    /// Calls in flight, by the time of their response and then by their order.
    calls: BTreeMap<(Timestamp, usize), Pending>,
    attempts: usize,
}

/// A job and until when it is watched.
pub struct WatchedJob<'a> {
    pub job: Job,
    pub until: Timestamp,
    pub planned: &'a PlannedJob,
}

/// A call in flight.
struct Pending {
    run: RunNo,
    attempt: Try,
    outcome: Outcome,
    entry: usize,
}

/// More would happen than can be shown.
#[derive(Debug, thiserror::Error)]
#[error("more than {ATTEMPTS_MAX} attempts; simulate a shorter time")]
pub struct LimitReached;

impl<'a> World<'a> {
    pub fn new(now: Timestamp, subject: CallKind<'a>, script: Script) -> World<'a> {
        World {
            now,
            subject,
            script,
            entries: Vec::new(),
            ended: Vec::new(),
            assumed: BTreeSet::new(),
            state: State::default(),
            plans: BTreeMap::new(),
            job: None,
            calls: BTreeMap::new(),
            attempts: 0,
        }
    }

    /// Submits a request and follows its run to its end, or until a person must decide.
    pub fn run_request(&mut self, plan: Arc<Plan>, request: Request) -> Result<(), LimitReached> {
        self.plans.insert((request.workflow.clone(), request.version), plan);
        let input = Input::Request { inbox: Seq::ZERO.next(), request, seen: None };
        let events = self.apply(&input);
        self.act(events);
        self.run_on()
    }

    /// Lets a job fire until its time is over, and follows each occurrence to its end.
    pub fn run_job(&mut self, watch: WatchedJob<'a>) -> Result<Job, LimitReached> {
        self.job = Some(watch);
        self.run_on()?;
        Ok(self.job.take().expect("put there above").job)
    }

    /// The run that has not ended, if any: it is parked.
    pub fn left(&self) -> Option<&Run> {
        self.state.runs().next()
    }

    fn run_on(&mut self) -> Result<(), LimitReached> {
        while let Some(next) = self.next_at() {
            self.now = self.now.max(next);
            match self.script.up_again(self.now) {
                Some(Some(up)) => self.sleep(up),
                Some(None) => {
                    self.log(None, LogEvent::Down { until: None });
                    return Ok(());
                }
                None => self.turn(),
            }
            if self.attempts > ATTEMPTS_MAX {
                return Err(LimitReached);
            }
        }
        Ok(())
    }

    fn next_at(&self) -> Option<Timestamp> {
        let answer = self.calls.keys().next().map(|(at, _)| *at);
        let next = [answer, self.state.wake_at(), self.job_due_at()].into_iter().flatten().min()?;
        // Calls in flight when Sortie goes down are lost; otherwise it is enough to check when something is due.
        let down = self.script.next_down(self.now).filter(|_| !self.calls.is_empty());
        Some(down.map_or(next, |down| down.min(next)))
    }

    fn job_due_at(&self) -> Option<Timestamp> {
        let watch = self.job.as_ref()?;
        watch.job.progress.due.filter(|due| *due <= watch.until)
    }

    fn turn(&mut self) {
        let mut events = Vec::new();
        while let Some(call) = self.calls.first_entry().filter(|call| call.key().0 <= self.now) {
            let Pending { run, attempt, outcome, entry } = call.remove();
            let Try { work, attempt } = attempt;
            let came = self.apply(&Input::Outcome { run, work, attempt, outcome: outcome.clone() });
            self.note_end(entry, outcome, &came);
            events.extend(came);
        }
        while self.job_due_at().is_some_and(|due| due <= self.now) {
            events.extend(self.take_due());
        }
        if self.state.wake_at().is_some_and(|at| at <= self.now) {
            events.extend(self.apply(&Input::Tick));
        }
        self.act(events);
    }

    /// Nothing happens until `up`; then every pending call is made again, as after a crash.
    fn sleep(&mut self, up: Timestamp) {
        self.log(None, LogEvent::Down { until: Some(up) });
        for pending in std::mem::take(&mut self.calls).into_values() {
            if let LogEvent::Attempt(attempt) = &mut self.entries[pending.entry].what {
                attempt.answer = "lost: Sortie went down".to_owned();
            }
        }
        self.now = up;
        let orphans: Vec<_> = self.state.orphans().collect();
        for orphan in orphans {
            let Try { work, attempt } = orphan.attempt;
            let reason = "the process stopped while the call was in flight".to_owned();
            let events = self.apply(&Input::Outcome {
                run: orphan.run,
                work,
                attempt,
                outcome: Outcome::Unknown { reason },
            });
            self.act(events);
        }
        let owed: Vec<_> = self.state.pending_calls().collect();
        for owed in owed {
            if !self.calls.values().any(|call| call.run == owed.run && call.attempt == owed.attempt) {
                self.start(owed.run, owed.attempt);
            }
        }
    }

    fn apply(&mut self, input: &Input) -> Vec<Event> {
        let (mut events, before) = (Vec::new(), self.ended.len());
        let applied = self.state.apply(&self.plans, self.now, input, &mut events, &mut self.ended);
        // Stale only when the run has ended meanwhile, which changes nothing.
        let _ = applied;
        for place in before..self.ended.len() {
            self.count_ended(place);
        }
        events
    }

    fn take_due(&mut self) -> Vec<Event> {
        let watch = self.job.as_mut().expect("a job is due");
        let live = self.state.occurrences(&watch.job.key()).len();
        let before = watch.job.progress.clone();
        let (expected, due) =
            (before.next.map_or(self.now, |next| next.floor()), before.due.unwrap_or(self.now));
        match job::due(&watch.job, self.now, live) {
            Due::Fire(firing) => {
                let occurrence = firing.progress.newest.unwrap_or_default();
                let fired = SimulatedFiring {
                    number: firing.progress.fired,
                    expected: occurrence.floor(),
                    late: self.now.since(due),
                    clocks: watch.planned.clocks(occurrence),
                };
                watch.job.progress = firing.progress.clone();
                let events = self.apply(&Input::Fire(firing));
                let run = events.iter().find_map(|event| match event {
                    Event::Fired(fired) => Some(fired.no),
                    _ => None,
                });
                self.log(run, LogEvent::Fired(fired));
                events
            }
            Due::Progress(progress) => {
                let (overlap, missed) = (progress.skipped > before.skipped, progress.missed > before.missed);
                watch.job.progress = progress;
                if overlap || missed {
                    let why = if missed { SkipReason::Missed } else { SkipReason::Overlap };
                    self.log(None, LogEvent::LeftOut { expected, why });
                }
                Vec::new()
            }
            Due::Forget => {
                watch.job.progress.due = None;
                Vec::new()
            }
        }
    }

    fn count_ended(&mut self, place: usize) {
        let run = &self.ended[place];
        let Some(watch) = &mut self.job else { return };
        let live = self.state.occurrences(&run.request.key).len();
        watch.job.progress = job::ended(&watch.job, run, self.now, live);
        let (no, failed) = (run.no, watch.job.progress.last_failed);
        self.log(Some(no), LogEvent::OccurrenceEnded { failed });
    }

    /// Records what has happened, and sends pending calls.
    fn act(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Accepted(accepted) => self.log(Some(accepted.no), LogEvent::Accepted),
                Event::Run { no, fact: Fact::Started { work, attempt }, .. } => {
                    self.start(no, Try { work, attempt });
                }
                Event::Run { no, fact, .. } if self.job.is_none() => self.log_fact(no, fact),
                _ => {}
            }
        }
    }

    fn log_fact(&mut self, no: RunNo, fact: Fact) {
        let run = self.state.run(no).or_else(|| self.ended.iter().find(|run| run.no == no));
        let run = run.expect("a run that something happens to is live or has just ended");
        let what = match fact {
            Fact::Overdue { step } => {
                LogEvent::Overdue { step: run.plan().steps[usize::from(step.0)].name.to_string() }
            }
            Fact::Undoing { cause } => LogEvent::Undoing { reason: run.describe(&cause) },
            Fact::Parked { reason } => LogEvent::Parked { reason },
            Fact::Completed => LogEvent::Completed,
            Fact::Undone => LogEvent::Undone,
            Fact::Begun | Fact::Started { .. } | Fact::Ended { .. } => return,
            Fact::CancelAsked { .. } | Fact::Decided { .. } | Fact::GivenUp => return,
        };
        self.log(Some(no), what);
    }

    fn start(&mut self, no: RunNo, attempt: Try) {
        // A later event of the same turn may have settled the attempt already.
        let Some(run) = self.state.run(no).filter(|run| run.in_flight().any(|now| now == attempt)) else {
            return;
        };
        let (call, answer, outcome, end) = match self.subject.call(run, attempt.work) {
            Err(outcome) => (None, String::new(), outcome, self.now),
            Ok(call) => {
                let given = self.script.answer(&call, self.now);
                let end = self.now + given.after;
                let mut outcome = self.subject.outcome(run, &call, &given, end);
                if !given.scripted && matches!(outcome, Outcome::Refused { .. }) {
                    self.assumed.insert(call.step.clone());
                    outcome = assumed_done();
                }
                (Some(call), short(&given), outcome, end)
            }
        };
        self.attempts += 1;
        let entry = self.entries.len();
        let Try { work, attempt: number } = attempt;
        let tried = SimulatedAttempt { work, attempt: number, call, answer, end: None };
        self.log(Some(no), LogEvent::Attempt(Box::new(tried)));
        self.calls.insert((end, self.attempts), Pending { run: no, attempt, outcome, entry });
    }

    fn note_end(&mut self, entry: usize, outcome: Outcome, events: &[Event]) {
        let then = events.iter().find_map(|event| match event {
            Event::Run { fact: Fact::Ended { then, .. }, .. } => Some(*then),
            _ => None,
        });
        if let (LogEvent::Attempt(attempt), Some(then)) = (&mut self.entries[entry].what, then) {
            attempt.end = Some(AttemptEnd { at: self.now, outcome, then });
        }
    }

    fn log(&mut self, run: Option<RunNo>, what: LogEvent) {
        self.entries.push(LogEntry { at: self.now, run, what });
    }
}

/// What a service answered, on one line.
fn short(given: &ScriptReply) -> String {
    match &given.result {
        Ok(ServiceResponse { status, body, .. }) if body.is_empty() => status.to_string(),
        Ok(ServiceResponse { status, body, .. }) => format!("{status} {}", String::from_utf8_lossy(body)),
        Err(Fault::Timeout { .. }) => "timeout".to_owned(),
        Err(Fault::Connect { .. }) => "refused connection".to_owned(),
        Err(Fault::Lost { .. }) => "lost connection".to_owned(),
        Err(fault) => fault.to_string(),
    }
}
