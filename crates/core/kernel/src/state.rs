//! The state of a partition: its live runs, the turns of its keys, and when each run wants attention.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{Key, Plan, RunId, Seq, Timestamp, WorkflowName};

use crate::{Accepted, Event, Input, Phase, Rejection, Request, Run, RunNo, decide, job, settle};

/// Runs that one tick looks at; some 5 events of 100 bytes each come of one.
const TICK_RUNS_MAX: usize = 500;

/// Where the plans of workflow versions are found.
pub trait Plans {
    fn plan(&self, workflow: &WorkflowName, version: u32) -> Option<Arc<Plan>>;
}

impl Plans for BTreeMap<(WorkflowName, u32), Arc<Plan>> {
    fn plan(&self, workflow: &WorkflowName, version: u32) -> Option<Arc<Plan>> {
        self.get(&(workflow.clone(), version)).cloned()
    }
}

/// An event or a snapshot names a workflow version that nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("version {version} of workflow {workflow} is not known")]
pub struct UnknownPlan {
    pub workflow: WorkflowName,
    pub version: u32,
}

/// All that a partition holds in memory. The same events always make the same state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    next_no: RunNo,
    inbox_through: Seq,
    runs: BTreeMap<RunNo, Run>,
    /// Cancels whose requests are still in the inbox, with who asked.
    cancels: BTreeMap<RunId, String>,
    #[serde(skip)]
    index: Index,
}

/// What is derived from the runs, to find them quickly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Index {
    by_id: BTreeMap<RunId, RunNo>,
    /// Serial runs that have not ended, oldest first. The first has the turn.
    turns: BTreeMap<Key, VecDeque<RunNo>>,
    wakes: BTreeSet<(Timestamp, RunNo)>,
    /// The occurrences of each job that are under way.
    jobs: BTreeMap<Key, Vec<RunNo>>,
    calls: usize,
    parked: usize,
}

impl State {
    /// Decides, evolves and settles: the events that came of an input, in order, and the runs that left.
    pub fn apply(
        &mut self,
        plans: &impl Plans,
        now: Timestamp,
        input: &Input,
        events: &mut Vec<Event>,
        retired: &mut Vec<Run>,
    ) -> Result<(), Rejection> {
        let mut open = match input {
            Input::Tick => self.due(now),
            _ => VecDeque::new(),
        };
        for event in decide::decide(self, now, input)? {
            open.extend(touched(&event));
            self.take(plans, event, events, retired, &mut open);
        }
        while let Some(no) = open.pop_front() {
            while let Some(fact) =
                self.runs.get(&no).and_then(|run| settle::next(run, now, self.has_turn(run)))
            {
                self.take(plans, Event::Run { no, at: now, fact }, events, retired, &mut open);
            }
        }
        Ok(())
    }

    /// Runs that want attention now; the rest of very many is left to the next tick, so that what comes of one
    /// fits into a frame.
    fn due(&self, now: Timestamp) -> VecDeque<RunNo> {
        let due = self.index.wakes.iter().take_while(|(at, _)| *at <= now);
        due.take(TICK_RUNS_MAX).map(|(_, no)| *no).collect()
    }

    fn take(
        &mut self,
        plans: &impl Plans,
        event: Event,
        events: &mut Vec<Event>,
        retired: &mut Vec<Run>,
        open: &mut VecDeque<RunNo>,
    ) {
        let (next_turn, left) =
            self.evolve_with_turns(plans, &event).expect("decide knows the plan it decided by");
        open.extend(next_turn);
        retired.extend(left);
        events.push(event);
    }

    /// What the state becomes by an event. A run that has nothing left to do leaves and is handed back.
    pub fn evolve(&mut self, plans: &impl Plans, event: &Event) -> Result<Option<Run>, UnknownPlan> {
        self.evolve_with_turns(plans, event).map(|(_, left)| left)
    }

    fn evolve_with_turns(
        &mut self,
        plans: &impl Plans,
        event: &Event,
    ) -> Result<(Option<RunNo>, Option<Run>), UnknownPlan> {
        match event {
            Event::Accepted(accepted) => {
                self.evolve_accepted(plans, accepted)?;
                Ok((None, None))
            }
            Event::Fired(fired) => {
                let plan = plan_of(plans, &fired.request)?;
                self.begin(Run::new(fired.no, Seq::ZERO, &fired.request, plan));
                Ok((None, None))
            }
            // Jobs and collections are in the view, queues beside this state.
            Event::Job(_) | Event::Queue(_) => Ok((None, None)),
            Event::Dropped { inbox, id, .. } => {
                self.inbox_through = *inbox;
                self.cancels.remove(id);
                Ok((None, None))
            }
            Event::CancelNoted { id, by, .. } => {
                self.cancels.insert(id.clone(), by.clone());
                Ok((None, None))
            }
            Event::Run { no, at, fact } => {
                let run = self.runs.get_mut(no).expect("a fact is about a live run");
                self.index.forget(run);
                run.evolve(*at, fact);
                self.index.note(run);
                let next_turn = if run.has_ended() { self.index.pass_turn(run) } else { None };
                if !run.is_retired() {
                    return Ok((next_turn, None));
                }
                self.index.leave(run);
                Ok((next_turn, self.runs.remove(no)))
            }
        }
    }

    fn evolve_accepted(&mut self, plans: &impl Plans, accepted: &Accepted) -> Result<(), UnknownPlan> {
        let plan = plan_of(plans, &accepted.request)?;
        self.inbox_through = accepted.inbox;
        self.cancels.remove(&accepted.request.id);
        self.begin(Run::new(accepted.no, accepted.inbox, &accepted.request, plan));
        Ok(())
    }

    /// A run becomes live; if its key's runs go one after another, it may have to wait for its turn.
    fn begin(&mut self, mut run: Run) {
        let taken = self.index.turns.contains_key(&run.request.key);
        if run.plan.serial && taken {
            run.phase = Phase::Queued;
        }
        self.next_no = RunNo(run.no.0 + 1);
        self.index.enter(&run);
        self.index.note(&run);
        self.runs.insert(run.no, run);
    }

    /// Puts back what a snapshot leaves out: plans and indexes.
    pub fn restore(mut self, plans: &impl Plans) -> Result<State, UnknownPlan> {
        self.index = Index::default();
        for run in self.runs.values_mut() {
            run.plan = plan_of(plans, &run.request)?;
            self.index.enter(run);
            self.index.note(run);
        }
        Ok(self)
    }

    /// The checkpoint of the inbox: every request up to here has become a run or was dropped.
    pub fn inbox_through(&self) -> Seq {
        self.inbox_through
    }

    pub fn run(&self, no: RunNo) -> Option<&Run> {
        self.runs.get(&no)
    }

    pub fn find(&self, id: &RunId) -> Option<&Run> {
        self.index.by_id.get(id).and_then(|no| self.runs.get(no))
    }

    /// The live runs, oldest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &Run> {
        self.runs.values()
    }

    pub fn live_count(&self) -> usize {
        self.runs.len()
    }

    pub fn parked_count(&self) -> usize {
        self.index.parked
    }

    /// The occurrences of a job that are under way, oldest first.
    pub fn occurrences(&self, job: &Key) -> impl ExactSizeIterator<Item = &Run> {
        let live = self.index.jobs.get(job).map_or(&[][..], Vec::as_slice);
        live.iter().map(|no| &self.runs[no])
    }

    /// How many calls are owed or under way.
    pub fn calls_count(&self) -> usize {
        self.index.calls
    }

    /// When the next run wants attention, if nothing comes in.
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.index.wakes.first().map(|(at, _)| *at)
    }

    pub(crate) fn next_no(&self) -> RunNo {
        self.next_no
    }

    /// Who asked to cancel a request that is still in the inbox.
    pub fn cancel_noted(&self, id: &RunId) -> Option<&str> {
        self.cancels.get(id).map(String::as_str)
    }

    fn has_turn(&self, run: &Run) -> bool {
        self.index.turns.get(&run.request.key).is_none_or(|queue| queue.front() == Some(&run.no))
    }
}

impl Index {
    /// A run becomes live.
    fn enter(&mut self, run: &Run) {
        self.by_id.insert(run.request.id.clone(), run.no);
        if run.plan.serial && !run.has_ended() {
            self.turns.entry(run.request.key.clone()).or_default().push_back(run.no);
        }
        if run.is_occurrence() {
            self.jobs.entry(run.request.key.clone()).or_default().push(run.no);
        }
    }

    /// A run leaves.
    fn leave(&mut self, run: &Run) {
        self.by_id.remove(&run.request.id);
        if run.is_occurrence() {
            let live = self.jobs.get_mut(&run.request.key).expect("counted when it entered");
            live.retain(|no| *no != run.no);
            if live.is_empty() {
                self.jobs.remove(&run.request.key);
            }
        }
    }

    /// Counts what the run stands for now.
    fn note(&mut self, run: &Run) {
        self.calls += run.in_flight().count();
        self.parked += usize::from(matches!(run.phase, Phase::Parked { .. }));
        if let Some(at) = run.wake_at() {
            self.wakes.insert((at, run.no));
        }
    }

    /// Takes back what `note` counted, before the run changes.
    fn forget(&mut self, run: &Run) {
        self.calls -= run.in_flight().count();
        self.parked -= usize::from(matches!(run.phase, Phase::Parked { .. }));
        if let Some(at) = run.wake_at() {
            self.wakes.remove(&(at, run.no));
        }
    }

    /// Takes an ended run out of its key's queue; answers with the run whose turn it is now.
    fn pass_turn(&mut self, run: &Run) -> Option<RunNo> {
        let queue = self.turns.get_mut(&run.request.key).filter(|_| run.plan.serial)?;
        queue.retain(|no| *no != run.no);
        let next = queue.front().copied();
        if next.is_none() {
            self.turns.remove(&run.request.key);
        }
        next
    }
}

fn touched(event: &Event) -> Option<RunNo> {
    match event {
        Event::Accepted(accepted) => Some(accepted.no),
        Event::Run { no, .. } => Some(*no),
        Event::Fired(fired) => Some(fired.no),
        Event::Dropped { .. } | Event::CancelNoted { .. } | Event::Job(_) | Event::Queue(_) => None,
    }
}

fn plan_of(plans: &impl Plans, request: &Request) -> Result<Arc<Plan>, UnknownPlan> {
    let occurrence = || job::plan_of(request).map(Arc::new);
    let plan = occurrence().or_else(|| plans.plan(&request.workflow, request.version));
    plan.ok_or_else(|| UnknownPlan { workflow: request.workflow.clone(), version: request.version })
}
