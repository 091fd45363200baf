//! The machine of one step: what each fact makes of it. Every state has its own reject arm.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use types::{Outcome, Timestamp, Work};

use crate::{Fact, Then};

/// One step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub state: StepState,
    /// Whether any attempt ever began. It stays true: an undo must cover it.
    pub attempted: bool,
    /// When the first attempt of the present kind of work began.
    pub first_at: Option<Timestamp>,
    /// What later steps can use, as JSON.
    pub output: Option<Bytes>,
    /// The action (JSON) that a person named in place of the step's own.
    pub instead: Option<String>,
}

/// Where a step stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepState {
    Waiting,
    /// A call is owed or under way.
    Running(Try),
    /// The next attempt begins at a time.
    Retrying {
        next: Try,
        at: Timestamp,
    },
    Done(DoneBy),
    Failed(Failure),
    Undoing(Try),
    UndoRetrying {
        next: Try,
        at: Timestamp,
    },
    Undone(UndoneBy),
    UndoFailed {
        reason: String,
    },
}

/// An attempt of a piece of work; the first has number 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    pub work: Work,
    pub attempt: u32,
}

/// How a step came to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoneBy {
    Call,
    Alternative,
    /// By the action that a person named.
    Instead,
    Hand,
    Skipped,
}

/// How a step came to be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum UndoneBy {
    Call,
    Instead,
    Hand,
    Skipped,
}

/// How a step failed. In every case an attempt may still be on its way to the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The service said no.
    Refused { reason: String },
    /// Retries are used up; the last attempt was answered.
    Exhausted { reason: String },
    /// Retries are used up; whether the last attempt was applied is not known.
    Unknown { reason: String },
    /// It was not done by its time.
    Overdue,
    /// The run stopped going forward before it was tried again.
    Stopped,
}

impl Failure {
    /// The failure in words.
    pub fn reason(&self) -> &str {
        match self {
            Failure::Refused { reason } | Failure::Exhausted { reason } | Failure::Unknown { reason } => {
                reason
            }
            Failure::Overdue => "not done by its time",
            Failure::Stopped => "stopped before it was tried again",
        }
    }
}

impl Step {
    pub(crate) fn new() -> Step {
        Step { state: StepState::Waiting, attempted: false, first_at: None, output: None, instead: None }
    }

    /// The attempt whose call is owed or under way.
    pub fn in_flight(&self) -> Option<Try> {
        match self.state {
            StepState::Running(attempt) | StepState::Undoing(attempt) => Some(attempt),
            _ => None,
        }
    }

    /// When the step wants to be looked at again.
    pub(crate) fn wake_at(&self) -> Option<Timestamp> {
        match self.state {
            StepState::Retrying { at, .. } | StepState::UndoRetrying { at, .. } => Some(at),
            _ => None,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, StepState::Done(_))
    }

    /// Sets the step back to before its first call. That it was attempted stays true.
    pub(crate) fn wait_again(&mut self) {
        *self = Step { attempted: self.attempted, ..Step::new() };
    }

    /// Sets the step to begin a kind of work at a time.
    pub(crate) fn plan_first(&mut self, work: Work, at: Timestamp) {
        let next = Try { work, attempt: 1 };
        self.first_at = None;
        self.state = match work {
            Work::Undo(_) | Work::UndoInstead(_) => StepState::UndoRetrying { next, at },
            Work::Do(_) | Work::Alternative(_) | Work::DoInstead(_) => StepState::Retrying { next, at },
            Work::Notice(_) => unreachable!("a notice belongs to a run, not to a step"),
        };
    }

    /// What the step becomes by a fact about it.
    ///
    /// # Panics
    /// When the fact cannot follow in this state: `decide` never makes such a fact, so the journal is wrong.
    pub(crate) fn evolve(&mut self, at: Timestamp, fact: &Fact) {
        let (next, output) = match (&self.state, fact) {
            (StepState::Waiting, Fact::Started { work: work @ Work::Do(_), attempt }) => {
                (StepState::Running(Try { work: *work, attempt: *attempt }), None)
            }
            (StepState::Waiting, Fact::Started { work: work @ Work::Undo(_), attempt }) if self.attempted => {
                (StepState::Undoing(Try { work: *work, attempt: *attempt }), None)
            }
            (StepState::Waiting, _) => reject(&self.state, fact),

            (StepState::Retrying { next, .. }, Fact::Started { work, attempt })
                if (next.work, next.attempt) == (*work, *attempt) =>
            {
                (StepState::Running(*next), None)
            }
            (StepState::Retrying { .. }, Fact::Overdue { .. }) => (StepState::Failed(Failure::Overdue), None),
            (StepState::Retrying { .. }, Fact::Undoing { .. }) => (StepState::Failed(Failure::Stopped), None),
            (StepState::Retrying { .. }, _) => reject(&self.state, fact),

            (StepState::Running(now), Fact::Ended { work, attempt, outcome, then })
                if (now.work, now.attempt) == (*work, *attempt) =>
            {
                after_call(*now, at, outcome, *then)
            }
            (StepState::Running(_), Fact::Undoing { .. }) => return,
            (StepState::Running(_), _) => reject(&self.state, fact),

            (
                StepState::Done(_) | StepState::Failed(_),
                Fact::Started { work: work @ Work::Undo(_), attempt },
            ) => (StepState::Undoing(Try { work: *work, attempt: *attempt }), None),
            (StepState::Done(_), _) => reject(&self.state, fact),
            (StepState::Failed(_), _) => reject(&self.state, fact),

            (StepState::UndoRetrying { next, .. }, Fact::Started { work, attempt })
                if (next.work, next.attempt) == (*work, *attempt) =>
            {
                (StepState::Undoing(*next), None)
            }
            (StepState::UndoRetrying { .. }, _) => reject(&self.state, fact),

            (StepState::Undoing(now), Fact::Ended { work, attempt, outcome, then })
                if (now.work, now.attempt) == (*work, *attempt) =>
            {
                (after_undo(*now, outcome, *then), None)
            }
            (StepState::Undoing(_), _) => reject(&self.state, fact),

            (StepState::Undone(_), _) => reject(&self.state, fact),
            (StepState::UndoFailed { .. }, _) => reject(&self.state, fact),
        };
        self.note_start(at, &next);
        self.output = output.or(self.output.take());
        self.state = next;
    }

    fn note_start(&mut self, at: Timestamp, next: &StepState) {
        match next {
            StepState::Running(_) => {
                self.attempted = true;
                // The time limit of a step spans its call and its alternative.
                self.first_at = self.first_at.or(Some(at));
            }
            StepState::Undoing(now) if now.attempt == 1 => self.first_at = Some(at),
            _ => {}
        }
    }
}

fn after_call(now: Try, at: Timestamp, outcome: &Outcome, then: Then) -> (StepState, Option<Bytes>) {
    match then {
        Then::Done => {
            let by = match now.work {
                Work::Alternative(_) => DoneBy::Alternative,
                Work::DoInstead(_) => DoneBy::Instead,
                _ => DoneBy::Call,
            };
            let output = match outcome {
                Outcome::Done { output, .. } => Some(output.clone()),
                _ => None,
            };
            (StepState::Done(by), output)
        }
        Then::Retry { at } => {
            (StepState::Retrying { next: Try { attempt: now.attempt + 1, ..now }, at }, None)
        }
        Then::Alternative => {
            let step = now.work.step().expect("a step's work names its step");
            let next = Try { work: Work::Alternative(step), attempt: 1 };
            (StepState::Retrying { next, at }, None)
        }
        Then::Failed => (StepState::Failed(failure(outcome)), None),
    }
}

fn after_undo(now: Try, outcome: &Outcome, then: Then) -> StepState {
    match then {
        Then::Done => StepState::Undone(match now.work {
            Work::UndoInstead(_) => UndoneBy::Instead,
            _ => UndoneBy::Call,
        }),
        Then::Retry { at } => StepState::UndoRetrying { next: Try { attempt: now.attempt + 1, ..now }, at },
        Then::Failed | Then::Alternative => {
            StepState::UndoFailed { reason: failure(outcome).reason().to_owned() }
        }
    }
}

fn failure(outcome: &Outcome) -> Failure {
    match outcome {
        Outcome::Refused { reason, .. } => Failure::Refused { reason: reason.clone() },
        Outcome::Transient { reason, .. } => Failure::Exhausted { reason: reason.clone() },
        Outcome::Unknown { reason } => Failure::Unknown { reason: reason.clone() },
        Outcome::Done { .. } => unreachable!("a done attempt never fails its step"),
    }
}

fn reject(state: &StepState, fact: &Fact) -> ! {
    panic!("a step that is {state:?} cannot become anything by {fact:?}")
}
