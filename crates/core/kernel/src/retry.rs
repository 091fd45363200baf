//! After an attempt: whether another one follows, and when.

use types::{Outcome, Retry, RunId, Span, StepIndex, Timestamp, Work};

use crate::{Phase, Run, Then};

/// What follows from the end of an attempt.
pub(crate) fn after_attempt(run: &Run, now: Timestamp, work: Work, attempt: u32, outcome: &Outcome) -> Then {
    let retry_after = match outcome {
        Outcome::Done { .. } => return Then::Done,
        // A refusal is an answer: asking again would not change it.
        Outcome::Refused { .. } => return Then::Failed,
        Outcome::Transient { retry_after, .. } => retry_after.unwrap_or(Span::ZERO),
        Outcome::Unknown { .. } => Span::ZERO,
    };
    let turned_back = matches!(run.phase, Phase::Undoing { .. });
    let forward = matches!(work, Work::Do(_) | Work::Alternative(_) | Work::DoInstead(_));
    if turned_back && forward {
        return Then::Failed;
    }
    let (retry, first_at, complete_by) = policy(run, work);
    let spent = now.since(first_at.unwrap_or(now));
    if let Some(delay) = retry.delay_after(attempt, spent, jitter_seed(&run.request.id, work, attempt)) {
        let at = now + delay.max(retry_after);
        let in_time = complete_by.zip(first_at).is_none_or(|(span, first_at)| at < first_at + span);
        if in_time {
            return Then::Retry { at };
        }
    }
    let has_alternative = |step: StepIndex| run.plan.steps[usize::from(step.0)].alternative.is_some();
    match work {
        Work::Do(step) if has_alternative(step) => Then::Alternative,
        _ => Then::Failed,
    }
}

/// The retry policy of a piece of work, when its first attempt began, and its time limit.
fn policy(run: &Run, work: Work) -> (Retry, Option<Timestamp>, Option<Span>) {
    let Some(index) = work.step() else {
        let pending = run.notices.iter().find(|pending| Work::Notice(pending.notice) == work);
        return (run.plan.notice_retry, pending.map(|pending| pending.first_at), None);
    };
    let plan = &run.plan.steps[usize::from(index.0)];
    let first_at = run.step(index).first_at;
    match work {
        Work::Do(_) | Work::DoInstead(_) => (plan.retry, first_at, plan.complete_by),
        Work::Alternative(_) => (plan.alternative.unwrap_or(plan.retry), first_at, plan.complete_by),
        Work::Undo(_) | Work::UndoInstead(_) => (plan.undo.unwrap_or(Retry::UNDO), first_at, None),
        Work::Notice(_) => unreachable!("a notice has no step"),
    }
}

/// The same run, work and attempt always draw the same delay, on every machine and after every restart.
fn jitter_seed(id: &RunId, work: Work, attempt: u32) -> u64 {
    let (kind, index) = match work {
        Work::Do(step) => (0u64, step.0),
        Work::Alternative(step) => (1, step.0),
        Work::Undo(step) => (2, step.0),
        Work::DoInstead(step) => (3, step.0),
        Work::UndoInstead(step) => (4, step.0),
        Work::Notice(notice) => (5, notice as u16),
    };
    let mut seed = (kind << 48) | (u64::from(index) << 32) | u64::from(attempt);
    for byte in id.as_str().bytes() {
        seed = (seed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17);
    }
    seed
}
