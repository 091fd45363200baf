//! Parked runs: which steps wait for a person, what may be decided, and what a decision makes of the run.

use types::{StepIndex, Timestamp, Work};

use crate::step::{DoneBy, UndoneBy};
use crate::undo::dependents;
use crate::{Cause, Decision, Direction, Phase, Rejection, Run, StepState};

impl Run {
    /// The steps that wait for a decision: failed ones on the way forward, failed undos on the way back.
    pub fn open_steps(&self) -> Vec<StepIndex> {
        let open = self.each_step().filter(|(_, _, step)| match (&self.phase, &step.state) {
            (Phase::Parked { direction: Direction::Forward, .. }, state) => {
                matches!(state, StepState::Failed(_))
            }
            (Phase::Parked { direction: Direction::Back { .. }, .. }, state) => {
                matches!(state, StepState::UndoFailed { .. })
            }
            _ => false,
        });
        open.map(|(index, _, _)| index).collect()
    }

    /// Whether a decision fits this run as it stands.
    pub(crate) fn check_decision(&self, decision: &Decision) -> Result<(), Rejection> {
        let Phase::Parked { direction, .. } = &self.phase else {
            return Err(Rejection::NotParked(self.status()));
        };
        let known = |step: &StepIndex| {
            (usize::from(step.0) < self.steps.len()).then_some(()).ok_or(Rejection::NoSuchStep)
        };
        match decision {
            Decision::Retry { step: None } | Decision::GiveUp => Ok(()),
            Decision::RetryFrom { step } => {
                known(step)?;
                match direction {
                    Direction::Forward => Ok(()),
                    Direction::Back { .. } => Err(Rejection::OnlyBack),
                }
            }
            Decision::Retry { step: Some(step) }
            | Decision::Skip { step }
            | Decision::ByHand { step, .. }
            | Decision::Instead { step, .. } => {
                known(step)?;
                let open = self.open_steps();
                if open.contains(step) {
                    return Ok(());
                }
                let names: Vec<_> = open.iter().map(|step| self.step_name(*step)).collect();
                Err(Rejection::NotOpen { open: names.join(", ") })
            }
        }
    }

    /// What a decision makes of the run. It goes on in its direction; what still cannot go on parks it again.
    pub(crate) fn follow_decision(&mut self, at: Timestamp, decision: &Decision) {
        let open = self.open_steps();
        let Phase::Parked { direction, .. } = &self.phase else {
            unreachable!("only a parked run is decided on");
        };
        let direction = direction.clone();
        match decision {
            Decision::Retry { step: None } => {
                for step in open {
                    self.plan_again(at, step, &direction);
                }
            }
            Decision::Retry { step: Some(step) } => self.plan_again(at, *step, &direction),
            Decision::RetryFrom { step } => self.go_back_to(at, *step),
            Decision::Skip { step } => self.close_step(*step, &direction, DoneBy::Skipped, UndoneBy::Skipped),
            Decision::ByHand { step, output } => {
                self.close_step(*step, &direction, DoneBy::Hand, UndoneBy::Hand);
                // What a step gave stays when its undo was done by hand.
                if let (Some(output), Direction::Forward) = (output, &direction) {
                    self.step_mut(*step).output = Some(output.clone());
                }
            }
            Decision::Instead { step, action } => self.plan_instead(at, *step, action, &direction),
            // The end is a fact of its own, which follows at once.
            Decision::GiveUp => return,
        }
        self.phase = match direction {
            Direction::Forward => Phase::Forward,
            Direction::Back { cause } => Phase::Undoing { cause },
        };
    }

    fn plan_again(&mut self, at: Timestamp, step: StepIndex, direction: &Direction) {
        let work = match direction {
            Direction::Forward => Work::Do(step),
            Direction::Back { .. } => Work::Undo(step),
        };
        self.step_mut(step).plan_first(work, at);
    }

    fn plan_instead(&mut self, at: Timestamp, step: StepIndex, action: &str, direction: &Direction) {
        let work = match direction {
            Direction::Forward => Work::DoInstead(step),
            Direction::Back { .. } => Work::UndoInstead(step),
        };
        let open = self.step_mut(step);
        open.instead = Some(action.to_owned());
        open.plan_first(work, at);
    }

    fn close_step(&mut self, step: StepIndex, direction: &Direction, done: DoneBy, undone: UndoneBy) {
        self.step_mut(step).state = match direction {
            Direction::Forward => StepState::Done(done),
            Direction::Back { .. } => StepState::Undone(undone),
        };
    }

    fn go_back_to(&mut self, at: Timestamp, step: StepIndex) {
        let later = dependents(&self.plan, step);
        for index in later {
            self.step_mut(index).wait_again();
        }
        self.step_mut(step).plan_first(Work::Do(step), at);
    }

    /// What is open, in words, for the person who will decide.
    pub(crate) fn parked_reason(&self) -> String {
        let mut parts = Vec::new();
        for (_, plan, step) in self.each_step() {
            match (&self.phase, &step.state) {
                (Phase::Forward, StepState::Failed(failure)) => {
                    parts.push(format!("step {} failed: {}", plan.name, failure.reason()))
                }
                (Phase::Undoing { .. }, StepState::UndoFailed { reason }) => {
                    parts.push(format!("undo of step {} failed: {reason}", plan.name))
                }
                _ => {}
            }
        }
        parts.join("; ")
    }

    /// The cause of turning back, when a step has failed.
    pub(crate) fn cause_of(&self, step: StepIndex) -> Cause {
        match &self.step(step).state {
            StepState::Failed(crate::Failure::Refused { reason }) => {
                Cause::Refused { step, reason: reason.clone() }
            }
            StepState::Failed(failure) => Cause::Failed { step, reason: failure.reason().to_owned() },
            state => unreachable!("step {step:?} is {state:?}, not failed"),
        }
    }
}
