//! What follows from where a run stands, without any input: the next step, the next undo, the end.

use types::{StepIndex, Timestamp, Work};

use crate::{Cause, Fact, Phase, Run, Step, StepState};

/// The next fact that follows by itself, if any. Called until nothing more follows.
///
/// `has_turn` says whether no earlier run with the same key is still under way.
pub(crate) fn next(run: &Run, now: Timestamp, has_turn: bool) -> Option<Fact> {
    if let Some(fact) = next_notice(run, now) {
        return Some(fact);
    }
    match &run.phase {
        Phase::Queued | Phase::Forward if run.deadline_at().is_some_and(|at| at <= now) => {
            Some(Fact::Undoing { cause: Cause::Deadline })
        }
        Phase::Queued => has_turn.then_some(Fact::Begun),
        Phase::Forward => next_forward(run, now),
        Phase::Undoing { .. } => next_back(run, now),
        Phase::Parked { .. } | Phase::Ended { .. } => None,
    }
}

fn next_notice(run: &Run, now: Timestamp) -> Option<Fact> {
    let due = run.notices.iter().find(|pending| pending.due_at.is_some_and(|at| at <= now))?;
    Some(Fact::Started { work: Work::Notice(due.notice), attempt: due.attempt })
}

fn next_forward(run: &Run, now: Timestamp) -> Option<Fact> {
    let failed = run.each_step().find(|(_, _, step)| matches!(step.state, StepState::Failed(_)));
    if let Some((index, _, _)) = failed {
        return next_after_failure(run, now, index);
    }
    if let Some(fact) = next_overdue(run, now).or_else(|| next_retry(run, now)) {
        return Some(fact);
    }
    let ready = run.each_step().find(|(_, plan, step)| {
        step.state == StepState::Waiting && plan.after.iter().all(|before| run.step(*before).is_done())
    });
    if let Some((index, _, _)) = ready {
        return Some(Fact::Started { work: Work::Do(index), attempt: 1 });
    }
    run.steps.iter().all(Step::is_done).then_some(Fact::Completed)
}

/// Once a step has failed no other step begins. While the pivot can still be done, and after it is, what has
/// begun goes on; without a pivot in the way the run turns back at once.
fn next_after_failure(run: &Run, now: Timestamp, failed: StepIndex) -> Option<Fact> {
    let turn_back = || Some(Fact::Undoing { cause: run.cause_of(failed) });
    let Some((index, plan, pivot)) = run.pivot() else {
        return turn_back();
    };
    match &pivot.state {
        StepState::Running(_) | StepState::Retrying { .. } => {
            next_overdue(run, now).or_else(|| next_retry(run, now))
        }
        StepState::Done(_) => finish_then_park(run, now),
        // It was done before a person went back to an earlier step: the run still only goes forward.
        StepState::Waiting | StepState::Failed(_) if run.was_done(index) => finish_then_park(run, now),
        // A pivot without an undo that may have been done cannot be taken back: a person must look.
        StepState::Failed(_) if plan.undo.is_none() && run.may_have_been_done(index) => {
            finish_then_park(run, now)
        }
        StepState::Waiting | StepState::Failed(_) => turn_back(),
        StepState::Undoing(_)
        | StepState::UndoRetrying { .. }
        | StepState::Undone(_)
        | StepState::UndoFailed { .. } => {
            unreachable!("a run that goes forward has no undo under way: {:?}", pivot.state)
        }
    }
}

fn finish_then_park(run: &Run, now: Timestamp) -> Option<Fact> {
    if let Some(fact) = next_overdue(run, now).or_else(|| next_retry(run, now)) {
        return Some(fact);
    }
    let begun = |step: &Step| matches!(step.state, StepState::Running(_) | StepState::Retrying { .. });
    let quiet = !run.steps.iter().any(begun);
    quiet.then(|| Fact::Parked { reason: run.parked_reason() })
}

fn next_overdue(run: &Run, now: Timestamp) -> Option<Fact> {
    let overdue =
        run.each_step().find(|(_, plan, step)| run.overdue_at(plan, step).is_some_and(|at| at <= now));
    overdue.map(|(step, _, _)| Fact::Overdue { step })
}

fn next_retry(run: &Run, now: Timestamp) -> Option<Fact> {
    run.steps.iter().find_map(|step| match &step.state {
        StepState::Retrying { next, at } | StepState::UndoRetrying { next, at } if *at <= now => {
            Some(Fact::Started { work: next.work, attempt: next.attempt })
        }
        _ => None,
    })
}

/// On the way back. Calls that are under way are waited for, so that an undo does not overtake its call.
fn next_back(run: &Run, now: Timestamp) -> Option<Fact> {
    if let Some(fact) = next_retry(run, now) {
        return Some(fact);
    }
    let ready = run.each_step().find(|(index, _, _)| run.needs_undo(*index) && run.may_undo(*index));
    if let Some((index, _, _)) = ready {
        return Some(Fact::Started { work: Work::Undo(index), attempt: 1 });
    }
    let moving = run.steps.iter().any(|step| {
        matches!(step.state, StepState::Running(_) | StepState::Undoing(_) | StepState::UndoRetrying { .. })
    });
    if moving {
        return None;
    }
    let stuck = run.steps.iter().any(|step| matches!(step.state, StepState::UndoFailed { .. }));
    Some(if stuck { Fact::Parked { reason: run.parked_reason() } } else { Fact::Undone })
}
