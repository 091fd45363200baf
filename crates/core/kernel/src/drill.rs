//! Drills: a plan is taken through the faults that break sagas, against services that keep a ledger.
//!
//! The services honour keys and undo tombstones, as Sortie asks of them. What a drill finds is therefore a
//! fault of the rules: an effect made twice, left over, or missing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use types::{BodyHash, Key, Outcome, Plan, RunId, RunStatus, StepIndex, Timestamp, Work, WorkflowName};

use crate::{Command, DoneBy, Event, Fact, Input, PendingCall, Rejection, Request, Run, State, StepState};

/// How a service treats one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    Apply,
    /// Says no and does nothing.
    Refuse,
    /// A fault that may pass; nothing is done.
    Fault,
    /// Done, but the answer is lost.
    LoseAnswer,
    /// Lost on the way; nothing is done.
    LoseRequest,
    /// The caller gives up; the request arrives later, when `arrive_late` is called.
    Delay,
}

impl Treatment {
    pub const ALL: [Treatment; 6] = [
        Treatment::Apply,
        Treatment::Refuse,
        Treatment::Fault,
        Treatment::LoseAnswer,
        Treatment::LoseRequest,
        Treatment::Delay,
    ];
}

/// What a service knows of one step of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    pub effects: u32,
    pub in_effect: bool,
    pub tombstone: bool,
}

/// A partition, its journal, the clock and the services, all in memory.
pub struct World {
    plans: BTreeMap<(WorkflowName, u32), Arc<Plan>>,
    workflow: WorkflowName,
    state: State,
    journal: Vec<Event>,
    pub now: Timestamp,
    pub ledger: BTreeMap<(RunId, StepIndex), Entry>,
    pub ended: BTreeMap<RunId, Run>,
    delayed: Vec<(RunId, StepIndex, Work)>,
    in_flight: Vec<PendingCall>,
}

/// One broken promise, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation(pub String);

impl World {
    pub fn new(plan: Plan) -> World {
        let workflow = WorkflowName::new("drill").expect("a valid name");
        World {
            plans: BTreeMap::from([((workflow.clone(), 1), Arc::new(plan))]),
            workflow,
            state: State::default(),
            journal: Vec::new(),
            now: Timestamp(1_000_000),
            ledger: BTreeMap::new(),
            ended: BTreeMap::new(),
            delayed: Vec::new(),
            in_flight: Vec::new(),
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn journal(&self) -> &[Event] {
        &self.journal
    }

    /// The calls that the services have not yet treated.
    pub fn in_flight(&self) -> &[PendingCall] {
        &self.in_flight
    }

    /// Hands in a request.
    pub fn post(&mut self, id: &RunId, key: &Key) {
        let body_hash = BodyHash([7; 16]);
        let seen = self.ended.get(id).map(|run| run.request.body_hash);
        let inbox = self.state.inbox_through().next();
        let request = Request {
            accepted_at: self.now,
            id: id.clone(),
            workflow: self.workflow.clone(),
            version: 1,
            key: key.clone(),
            body: Bytes::from_static(b"{}"),
            body_hash,
            trace: None,
        };
        self.input(Input::Request { inbox, request, seen }).expect("a request is never rejected");
    }

    /// Gives the partition an input and starts the calls that it then owes.
    pub fn input(&mut self, input: Input) -> Result<(), Rejection> {
        let mut events = Vec::new();
        let mut retired = Vec::new();
        self.state.apply(&self.plans, self.now, &input, &mut events, &mut retired)?;
        for event in &events {
            if let Event::Run { no, fact: Fact::Started { work, attempt }, .. } = event {
                let attempt = crate::Try { work: *work, attempt: *attempt };
                self.in_flight.push(PendingCall { run: *no, attempt });
            }
        }
        self.journal.extend(events);
        self.ended.extend(retired.into_iter().map(|run| (run.request.id.clone(), run)));
        Ok(())
    }

    /// A service treats the call at a place in `in_flight`; the partition learns the outcome.
    pub fn treat(&mut self, place: usize, treatment: Treatment) {
        let owed = self.in_flight.remove(place);
        let Some(run) = self.state.run(owed.run) else { return };
        let id = run.request.id.clone();
        let outcome = match owed.attempt.work.step() {
            None => done(),
            Some(step) => self.serve(&id, step, owed.attempt.work, treatment),
        };
        self.learn(owed, outcome);
    }

    /// The partition learns an outcome; a late or repeated one must change nothing.
    pub fn learn(&mut self, owed: PendingCall, outcome: Outcome) {
        let PendingCall { run, attempt } = owed;
        let input = Input::Outcome { run, work: attempt.work, attempt: attempt.attempt, outcome };
        match self.input(input) {
            Ok(()) | Err(Rejection::Stale) => {}
            Err(rejection) => panic!("an outcome was rejected: {rejection}"),
        }
    }

    fn serve(&mut self, id: &RunId, step: StepIndex, work: Work, treatment: Treatment) -> Outcome {
        let lost = || Outcome::Unknown { reason: "no answer".to_owned() };
        match treatment {
            Treatment::Apply => self.reach(id, step, work),
            Treatment::Refuse => Outcome::Refused { status: Some(409), reason: "no".to_owned() },
            Treatment::Fault => {
                Outcome::Transient { status: Some(503), reason: "down".to_owned(), retry_after: None }
            }
            Treatment::LoseAnswer => {
                self.reach(id, step, work);
                lost()
            }
            Treatment::LoseRequest => lost(),
            Treatment::Delay => {
                self.delayed.push((id.clone(), step, work));
                lost()
            }
        }
    }

    /// A call reaches its service.
    fn reach(&mut self, id: &RunId, step: StepIndex, work: Work) -> Outcome {
        let entry = self.ledger.entry((id.clone(), step)).or_default();
        match work {
            Work::Undo(_) | Work::UndoInstead(_) => {
                entry.tombstone = true;
                entry.in_effect = false;
                done()
            }
            Work::Do(_) | Work::Alternative(_) | Work::DoInstead(_) => {
                if entry.tombstone {
                    return Outcome::Refused { status: Some(410), reason: "undone".to_owned() };
                }
                if !entry.in_effect {
                    entry.in_effect = true;
                    entry.effects += 1;
                }
                done()
            }
            Work::Notice(_) => done(),
        }
    }

    /// Every delayed call reaches its service now.
    pub fn arrive_late(&mut self) {
        for (id, step, work) in std::mem::take(&mut self.delayed) {
            self.reach(&id, step, work);
        }
    }

    /// The clock goes on to the next time at which a run wants attention.
    pub fn wait(&mut self) -> bool {
        let Some(at) = self.state.wake_at() else { return false };
        self.now = self.now.max(at);
        self.input(Input::Tick).expect("a tick is never rejected");
        true
    }

    /// The process stops and starts again from its journal; calls under way lose their answers.
    pub fn crash(&mut self, treatment: Treatment) {
        while !self.in_flight.is_empty() {
            let owed = self.in_flight.remove(0);
            let (Some(step), Some(run)) = (owed.attempt.work.step(), self.state.run(owed.run)) else {
                continue;
            };
            let id = run.request.id.clone();
            self.serve(&id, step, owed.attempt.work, treatment);
        }
        self.state = self.replayed();
        self.in_flight = self.state.pending_calls().collect();
        let orphans: Vec<_> = self.state.orphans().collect();
        for orphan in orphans {
            self.learn(orphan, Outcome::Unknown { reason: "the process stopped".to_owned() });
        }
    }

    /// The state that the journal makes.
    pub fn replayed(&self) -> State {
        let mut state = State::default();
        for event in &self.journal {
            state.evolve(&self.plans, event).expect("the plan is known");
        }
        state
    }

    pub fn restored(&self, state: State) -> State {
        state.restore(&self.plans).expect("the plan is known")
    }

    /// Lets everything go on with services that work, until nothing moves.
    pub fn finish(&mut self) {
        for _ in 0..100_000 {
            if !self.in_flight.is_empty() {
                self.treat(0, Treatment::Apply);
            } else if !self.wait() {
                self.arrive_late();
                return;
            }
        }
        panic!("the world does not come to rest: {:?}", self.state);
    }

    /// Holds every run, wherever it stands, against the promises.
    pub fn audit(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut accuse = |text: String| violations.push(Violation(text));
        for ((id, step), entry) in &self.ledger {
            if entry.effects > 1 {
                accuse(format!("I4: {id} step {} has {} effects", step.0, entry.effects));
            }
        }
        for run in self.ended.values().chain(self.state.runs()) {
            for (index, plan, step) in run.each_step() {
                let in_effect =
                    self.ledger.get(&(run.request.id.clone(), index)).is_some_and(|entry| entry.in_effect);
                match run.status() {
                    RunStatus::Completed if !in_effect && !done_by_person(step) => {
                        accuse(format!("I5: {} completed without step {}", run.request.id, plan.name))
                    }
                    RunStatus::Undone if in_effect && plan.undo.is_some() => {
                        accuse(format!("I6: {} undone with step {} in effect", run.request.id, plan.name))
                    }
                    RunStatus::Parked if run.open_steps().is_empty() || run.reason().is_none() => {
                        accuse(format!("I7: {} is parked without anything to decide", run.request.id))
                    }
                    _ => {}
                }
            }
        }
        violations.extend(starts_after_end(&self.journal));
        if self.state != self.replayed() {
            violations.push(Violation("replay makes another state".to_owned()));
        }
        violations
    }
}

fn done() -> Outcome {
    Outcome::Done { status: 200, output: Bytes::from_static(b"null") }
}

fn done_by_person(step: &crate::Step) -> bool {
    matches!(step.state, StepState::Done(DoneBy::Skipped | DoneBy::Hand))
}

/// I8: after the end of a run none of its steps begins anything.
fn starts_after_end(journal: &[Event]) -> Vec<Violation> {
    let mut over = BTreeSet::new();
    let mut violations = Vec::new();
    for event in journal {
        let Event::Run { no, fact, .. } = event else { continue };
        match fact {
            Fact::Completed | Fact::Undone | Fact::GivenUp if !over.insert(*no) => {
                violations.push(Violation(format!("I3: run {} ended twice", no.0)));
            }
            Fact::Started { work, .. } if work.step().is_some() && over.contains(no) => {
                violations.push(Violation(format!("I8: run {} starts {work:?} after its end", no.0)));
            }
            _ => {}
        }
    }
    violations
}

/// Takes a plan through: no fault, every treatment at every step (once and for good), each with every undo
/// faulty once, every outcome told twice, a crash at every point, late arrivals after the undo.
pub fn drill_saga(plan: &Plan) -> Vec<Violation> {
    let mut violations = Vec::new();
    let steps = plan.steps.len();
    for victim in 0..steps {
        for treatment in Treatment::ALL {
            for lasting in [false, true] {
                for undo_fault in
                    [Treatment::Apply, Treatment::Fault, Treatment::LoseAnswer, Treatment::Delay]
                {
                    let case = Case { victim: StepIndex(victim as u16), treatment, lasting, undo_fault };
                    // Far beyond the calls that any plan of 64 steps makes before it comes to rest.
                    for crash_at in [None].into_iter().chain((0..steps * 3).map(Some)) {
                        violations.extend(drill_case(plan, case, crash_at));
                    }
                }
            }
        }
    }
    violations
}

#[derive(Debug, Clone, Copy)]
struct Case {
    victim: StepIndex,
    treatment: Treatment,
    /// Whether the fault stays or passes after the first attempt.
    lasting: bool,
    undo_fault: Treatment,
}

fn drill_case(plan: &Plan, case: Case, crash_at: Option<usize>) -> Vec<Violation> {
    let mut world = World::new(plan.clone());
    let id = RunId::new("drill-1").expect("a valid id");
    world.post(&id, &id.clone().into());
    let mut treated = 0;
    let mut undos_seen = BTreeSet::new();
    loop {
        if crash_at == Some(treated) {
            world.crash(case.treatment);
        }
        if let Some(owed) = world.in_flight().first().copied() {
            let treatment = choose(case, owed, &mut undos_seen);
            world.treat(0, treatment);
            // Told twice: the second time must change nothing.
            world.learn(owed, done());
        } else if !world.wait() {
            break;
        }
        treated += 1;
        assert!(treated < 100_000, "the drill does not come to rest: {case:?}");
    }
    world.arrive_late();
    let context = format!("{case:?} crash at {crash_at:?}");
    let mut violations: Vec<_> =
        world.audit().into_iter().map(|found| Violation(format!("{}: {context}", found.0))).collect();
    let run = world.ended.get(&id).or(world.state.find(&id));
    let rests = run.is_some_and(|run| run.status().is_final() || run.status() == RunStatus::Parked);
    if !rests {
        violations.push(Violation(format!("L1: the run does not end: {context}")));
    }
    violations
}

fn choose(case: Case, owed: PendingCall, undos_seen: &mut BTreeSet<StepIndex>) -> Treatment {
    let first = owed.attempt.attempt == 1;
    match owed.attempt.work {
        Work::Do(step) if step == case.victim && (case.lasting || first) => case.treatment,
        Work::Undo(step) if undos_seen.insert(step) => case.undo_fault,
        _ => Treatment::Apply,
    }
}

/// A cancel as a client would send it.
pub fn cancel(id: &RunId) -> Input {
    Input::Command { id: id.clone(), by: "client".to_owned(), command: Command::Cancel { pending: false } }
}
