//! One run: its request, its steps, where it stands, and what each fact makes of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::plan::Notice;
use types::{Outcome, Plan, PlanStep, RunStatus, Seq, StepIndex, Timestamp, Work};

use crate::step::{Step, Try};
use crate::{Cause, Fact, Moment, Request, RunNo, Then};

/// A run that has not left the partition's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub no: RunNo,
    /// Where the request stood in the inbox; nowhere for an occurrence of a job.
    pub inbox: Seq,
    pub request: Request,
    pub phase: Phase,
    pub steps: Vec<Step>,
    /// Endings whose notice is still pending.
    pub notices: Vec<PendingNotice>,
    /// How often the run was parked; part of the key of a parked notice.
    pub parked_count: u32,
    pub timeline: Vec<Moment>,
    #[serde(skip, default = "no_plan")]
    pub(crate) plan: Arc<Plan>,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Waits for an earlier run with its key.
    Queued,
    Forward,
    Undoing {
        cause: Cause,
    },
    /// Waits for a person; a decision lets it go on in its direction.
    Parked {
        direction: Direction,
        reason: String,
    },
    Ended {
        ending: Ending,
        cause: Option<Cause>,
    },
}

/// Which way a parked run was going.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    Forward,
    Back { cause: Cause },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    Completed,
    Undone,
    GivenUp,
}

/// A notice that is pending or in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingNotice {
    pub notice: Notice,
    pub attempt: u32,
    pub first_at: Timestamp,
    /// When the next attempt begins; none while one is under way.
    pub due_at: Option<Timestamp>,
}

fn no_plan() -> Arc<Plan> {
    Arc::new(Plan {
        steps: Vec::new(),
        deadline: None,
        serial: false,
        notices: types::plan::NoticeEvents::default(),
        notice_retry: types::Retry::None,
    })
}

impl Run {
    pub(crate) fn new(no: RunNo, inbox: Seq, request: &Request, plan: Arc<Plan>) -> Run {
        Run {
            no,
            inbox,
            request: request.clone(),
            phase: Phase::Forward,
            steps: plan.steps.iter().map(|_| Step::new()).collect(),
            notices: Vec::new(),
            parked_count: 0,
            timeline: Vec::new(),
            plan,
        }
    }

    /// Whether the run is an occurrence of a job.
    pub fn is_occurrence(&self) -> bool {
        self.request.workflow.as_str() == crate::job::WORKFLOW
    }

    /// The plan of the workflow version that the run keeps.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn status(&self) -> RunStatus {
        match &self.phase {
            Phase::Queued => RunStatus::Queued,
            Phase::Forward => RunStatus::Running,
            Phase::Undoing { .. } => RunStatus::Undoing,
            Phase::Parked { .. } => RunStatus::Parked,
            Phase::Ended { ending: Ending::Completed, .. } => RunStatus::Completed,
            Phase::Ended { ending: Ending::Undone, .. } => RunStatus::Undone,
            Phase::Ended { ending: Ending::GivenUp, .. } => RunStatus::GivenUp,
        }
    }

    /// Why the run is not simply going forward, in words.
    pub fn reason(&self) -> Option<String> {
        match &self.phase {
            Phase::Queued | Phase::Forward => None,
            Phase::Undoing { cause } => Some(self.describe(cause)),
            Phase::Parked { reason, .. } => Some(reason.clone()),
            Phase::Ended { cause, .. } => cause.as_ref().map(|cause| self.describe(cause)),
        }
    }

    /// When the run ended, if it has.
    pub fn ended_at(&self) -> Option<Timestamp> {
        let ends = |fact: &Fact| matches!(fact, Fact::Completed | Fact::Undone | Fact::GivenUp);
        self.timeline.iter().rev().find(|moment| ends(&moment.fact)).map(|moment| moment.at)
    }

    /// Why the run turned back, in words.
    pub fn describe(&self, cause: &Cause) -> String {
        match cause {
            Cause::Refused { step, reason } => {
                format!("step {} was refused: {reason}", self.step_name(*step))
            }
            Cause::Failed { step, reason } => format!("step {} failed: {reason}", self.step_name(*step)),
            Cause::Cancelled { by } => format!("cancelled by {by}"),
            Cause::Deadline => "the run did not end before its deadline".to_owned(),
        }
    }

    pub(crate) fn step_name(&self, step: StepIndex) -> &str {
        self.plan.steps[usize::from(step.0)].name.as_str()
    }

    pub(crate) fn step(&self, step: StepIndex) -> &Step {
        &self.steps[usize::from(step.0)]
    }

    pub(crate) fn step_mut(&mut self, step: StepIndex) -> &mut Step {
        &mut self.steps[usize::from(step.0)]
    }

    /// Every step with its number and its plan.
    pub fn each_step(&self) -> impl Iterator<Item = (StepIndex, &PlanStep, &Step)> {
        let numbered = self.plan.steps.iter().zip(&self.steps).enumerate();
        numbered.map(|(index, (plan, step))| (StepIndex(index as u16), plan, step))
    }

    pub(crate) fn pivot(&self) -> Option<(StepIndex, &PlanStep, &Step)> {
        self.each_step().find(|(_, plan, _)| plan.pivot)
    }

    /// Whether an attempt of the step was ever answered with yes.
    pub(crate) fn was_done(&self, index: StepIndex) -> bool {
        self.outcomes(index).any(|outcome| matches!(outcome, Outcome::Done { .. }))
    }

    /// Whether an attempt of the step may have been applied: any answer but a no leaves it open.
    pub(crate) fn may_have_been_done(&self, index: StepIndex) -> bool {
        self.outcomes(index).any(|outcome| !matches!(outcome, Outcome::Refused { .. }))
    }

    fn outcomes(&self, index: StepIndex) -> impl Iterator<Item = &Outcome> {
        self.timeline.iter().filter_map(move |moment| match &moment.fact {
            Fact::Ended { work, outcome, .. } if work.step() == Some(index) => Some(outcome),
            _ => None,
        })
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }

    /// Whether nothing of the run is left to do: it can leave memory.
    pub(crate) fn is_retired(&self) -> bool {
        self.has_ended() && self.notices.is_empty()
    }

    /// Every attempt whose call is owed or under way.
    pub fn in_flight(&self) -> impl Iterator<Item = Try> {
        let notices = self.notices.iter().filter(|pending| pending.due_at.is_none());
        let notices =
            notices.map(|pending| Try { work: Work::Notice(pending.notice), attempt: pending.attempt });
        self.steps.iter().filter_map(Step::in_flight).chain(notices)
    }

    /// When the run wants to be looked at again, if nothing else happens.
    pub(crate) fn wake_at(&self) -> Option<Timestamp> {
        let steps = match self.phase {
            Phase::Forward | Phase::Undoing { .. } => self.steps.iter().filter_map(Step::wake_at).min(),
            Phase::Queued | Phase::Parked { .. } | Phase::Ended { .. } => None,
        };
        let overdue = self.each_step().filter_map(|(_, plan, step)| self.overdue_at(plan, step)).min();
        let notices = self.notices.iter().filter_map(|pending| pending.due_at).min();
        [steps, overdue, notices, self.deadline_at()].into_iter().flatten().min()
    }

    /// When the deadline ends the run. It counts until the pivot is attempted: from then on the run only goes
    /// forward, and what fails there is parked, not undone.
    pub(crate) fn deadline_at(&self) -> Option<Timestamp> {
        let counts = match self.phase {
            Phase::Queued | Phase::Forward => !self.pivot().is_some_and(|(_, _, step)| step.attempted),
            Phase::Undoing { .. } | Phase::Parked { .. } | Phase::Ended { .. } => false,
        };
        self.plan.deadline.filter(|_| counts).map(|deadline| self.request.accepted_at + deadline)
    }

    /// When a step that waits for its next attempt has used up its time.
    pub(crate) fn overdue_at(&self, plan: &PlanStep, step: &Step) -> Option<Timestamp> {
        let waits = matches!(step.state, crate::StepState::Retrying { .. });
        let counts = waits && self.phase == Phase::Forward;
        Some(step.first_at? + plan.complete_by.filter(|_| counts)?)
    }

    /// What the run becomes by a fact.
    pub(crate) fn evolve(&mut self, at: Timestamp, fact: &Fact) {
        match (&self.phase, fact) {
            (_, Fact::Started { work: Work::Notice(notice), .. }) => self.start_notice(*notice),
            (_, Fact::Ended { work: Work::Notice(notice), then, .. }) => self.end_notice(at, *notice, *then),

            (Phase::Queued, Fact::Begun) => self.phase = Phase::Forward,
            (Phase::Queued | Phase::Forward, Fact::CancelAsked { .. }) => {}
            (Phase::Queued | Phase::Forward, Fact::Undoing { cause }) => {
                self.turn_back(at, fact, cause.clone())
            }
            (Phase::Queued, _) => self.reject(fact),

            (Phase::Forward, Fact::Started { .. } | Fact::Ended { .. } | Fact::Overdue { .. }) => {
                self.evolve_step(at, fact)
            }
            (Phase::Forward, Fact::Parked { reason }) => self.park(at, reason, Direction::Forward),
            (Phase::Forward, Fact::Completed) => self.end(at, Ending::Completed, None),
            (Phase::Forward, _) => self.reject(fact),

            (Phase::Undoing { .. }, Fact::Started { .. } | Fact::Ended { .. }) => self.evolve_step(at, fact),
            (Phase::Undoing { cause }, Fact::Parked { reason }) => {
                self.park(at, reason, Direction::Back { cause: cause.clone() })
            }
            (Phase::Undoing { cause }, Fact::Undone) => self.end(at, Ending::Undone, Some(cause.clone())),
            (Phase::Undoing { .. }, _) => self.reject(fact),

            (Phase::Parked { .. }, Fact::Decided { decision, .. }) => self.follow_decision(at, decision),
            (Phase::Parked { direction, .. }, Fact::GivenUp) => {
                let cause = match direction {
                    Direction::Forward => None,
                    Direction::Back { cause } => Some(cause.clone()),
                };
                self.end(at, Ending::GivenUp, cause)
            }
            (Phase::Parked { .. }, _) => self.reject(fact),

            (Phase::Ended { .. }, _) => self.reject(fact),
        }
        self.timeline.push(Moment { at, fact: fact.clone() });
    }

    fn evolve_step(&mut self, at: Timestamp, fact: &Fact) {
        let step = match fact {
            Fact::Started { work, .. } | Fact::Ended { work, .. } => work.step(),
            Fact::Overdue { step } => Some(*step),
            _ => None,
        };
        self.step_mut(step.expect("a fact about a step names it")).evolve(at, fact);
    }

    fn turn_back(&mut self, at: Timestamp, fact: &Fact, cause: Cause) {
        for step in &mut self.steps {
            if matches!(step.state, crate::StepState::Retrying { .. } | crate::StepState::Running(_)) {
                step.evolve(at, fact);
            }
        }
        self.phase = Phase::Undoing { cause };
    }

    fn park(&mut self, at: Timestamp, reason: &str, direction: Direction) {
        self.phase = Phase::Parked { direction, reason: reason.to_owned() };
        self.parked_count += 1;
        if self.plan.notices.parked {
            self.add_notice(at, Notice::Parked);
        }
    }

    fn end(&mut self, at: Timestamp, ending: Ending, cause: Option<Cause>) {
        self.phase = Phase::Ended { ending, cause };
        match ending {
            Ending::Completed if self.plan.notices.completed => self.add_notice(at, Notice::Completed),
            Ending::Undone if self.plan.notices.undone => self.add_notice(at, Notice::Undone),
            Ending::Completed | Ending::Undone | Ending::GivenUp => {}
        }
    }

    fn add_notice(&mut self, at: Timestamp, notice: Notice) {
        // A parked notice that is still pending reports the newest parking as well.
        if self.notices.iter().all(|pending| pending.notice != notice) {
            self.notices.push(PendingNotice { notice, attempt: 1, first_at: at, due_at: Some(at) });
        }
    }

    fn start_notice(&mut self, notice: Notice) {
        let pending = self.notices.iter_mut().find(|pending| pending.notice == notice);
        pending.expect("a notice is pending before it starts").due_at = None;
    }

    fn end_notice(&mut self, at: Timestamp, notice: Notice, then: Then) {
        let then = match then {
            // Parked once more while the notice of the time before was on its way: that one is still pending.
            Then::Done | Then::Failed if notice == Notice::Parked && self.parked_since_notice() => {
                self.notices.retain(|pending| pending.notice != notice);
                return self.add_notice(at, notice);
            }
            then => then,
        };
        match then {
            Then::Retry { at } => {
                let pending = self.notices.iter_mut().find(|pending| pending.notice == notice);
                let pending = pending.expect("a notice is pending until it is delivered");
                pending.attempt += 1;
                pending.due_at = Some(at);
            }
            Then::Done | Then::Failed | Then::Alternative => {
                self.notices.retain(|pending| pending.notice != notice)
            }
        }
    }

    fn parked_since_notice(&self) -> bool {
        let told = |fact: &Fact| matches!(fact, Fact::Started { work: Work::Notice(Notice::Parked), .. });
        let since = self.timeline.iter().rev().take_while(|moment| !told(&moment.fact));
        since.into_iter().any(|moment| matches!(moment.fact, Fact::Parked { .. }))
    }

    fn reject(&self, fact: &Fact) -> ! {
        panic!("run {} that is {:?} cannot become anything by {fact:?}", self.request.id, self.phase)
    }
}
