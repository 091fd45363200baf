//! Which facts follow directly from an input. What follows further is found by `settle`.

use types::{BodyHash, Outcome, Retry, RunId, Seq, Span, StepIndex, Timestamp, Work};

use crate::command::{Command, Decision, Input, Rejection, Request};
use crate::job::Firing;
use crate::{Accepted, Cause, Direction, DropReason, Event, Fact, Fired, Phase, Run, RunNo, State, Then};

/// The events that an input leads to, before anything that follows from them.
pub(crate) fn decide(state: &State, now: Timestamp, input: &Input) -> Result<Vec<Event>, Rejection> {
    match input {
        Input::Request { inbox, request, seen } => Ok(decide_request(state, now, *inbox, request, *seen)),
        Input::Outcome { run, work, attempt, outcome } => {
            decide_outcome(state, now, *run, *work, *attempt, outcome)
        }
        Input::Fire(firing) => Ok(vec![fired(state, now, firing)]),
        Input::Tick => Ok(Vec::new()),
        Input::Command { id, by, command: Command::Cancel { pending } } => {
            decide_cancel(state, now, id, by, *pending)
        }
        Input::Command { id, by, command: Command::Decide { decision, note } } => {
            decide_decision(state, now, id, by, decision, note)
        }
    }
}

fn decide_request(
    state: &State,
    now: Timestamp,
    inbox: Seq,
    request: &Request,
    seen: Option<BodyHash>,
) -> Vec<Event> {
    assert!(inbox > state.inbox_through(), "requests are taken in order, each once");
    let live = state.find(&request.id).map(|run| run.request.body_hash);
    if let Some(hash) = live.or(seen) {
        let reason = if hash == request.body_hash { DropReason::Duplicate } else { DropReason::Conflict };
        return vec![Event::Dropped { inbox, id: request.id.clone(), at: now, reason }];
    }
    let no = state.next_no();
    let accepted = Accepted { no, inbox, at: now, request: request.clone() };
    let mut events = vec![Event::Accepted(Box::new(accepted))];
    if let Some(by) = state.cancel_noted(&request.id) {
        events.extend(cancel_events(no, now, by));
    }
    events
}

fn fired(state: &State, now: Timestamp, firing: &Firing) -> Event {
    let Firing { job, progress, request } = firing.clone();
    Event::Fired(Box::new(Fired { no: state.next_no(), at: now, job, progress, request }))
}

fn decide_outcome(
    state: &State,
    now: Timestamp,
    no: RunNo,
    work: Work,
    attempt: u32,
    outcome: &Outcome,
) -> Result<Vec<Event>, Rejection> {
    let run = state.run(no).ok_or(Rejection::Stale)?;
    if !run.in_flight().any(|now| (now.work, now.attempt) == (work, attempt)) {
        return Err(Rejection::Stale);
    }
    let then = what_then(run, now, work, attempt, outcome);
    let fact = Fact::Ended { work, attempt, outcome: outcome.clone(), then };
    Ok(vec![Event::Run { no, at: now, fact }])
}

fn what_then(run: &Run, now: Timestamp, work: Work, attempt: u32, outcome: &Outcome) -> Then {
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

fn decide_cancel(
    state: &State,
    now: Timestamp,
    id: &RunId,
    by: &str,
    pending: bool,
) -> Result<Vec<Event>, Rejection> {
    let Some(run) = state.find(id) else {
        if !pending {
            return Err(Rejection::NotFound);
        }
        if state.cancel_noted(id).is_some() {
            return Ok(Vec::new());
        }
        return Ok(vec![Event::CancelNoted { id: id.clone(), at: now, by: by.to_owned() }]);
    };
    match &run.phase {
        Phase::Queued => Ok(cancel_events(run.no, now, by)),
        Phase::Forward if run.pivot().is_some_and(|(_, _, step)| step.attempted) => {
            Err(Rejection::AfterPivot)
        }
        Phase::Forward => Ok(cancel_events(run.no, now, by)),
        Phase::Undoing { .. } => Ok(Vec::new()),
        Phase::Parked { direction: Direction::Back { .. }, .. } => Err(Rejection::IsParked),
        Phase::Parked { direction: Direction::Forward, .. } => Err(Rejection::AfterPivot),
        Phase::Ended { .. } => Err(Rejection::Ended(run.status())),
    }
}

fn cancel_events(no: RunNo, now: Timestamp, by: &str) -> Vec<Event> {
    let asked = Fact::CancelAsked { by: by.to_owned() };
    let undoing = Fact::Undoing { cause: Cause::Cancelled { by: by.to_owned() } };
    [asked, undoing].into_iter().map(|fact| Event::Run { no, at: now, fact }).collect()
}

fn decide_decision(
    state: &State,
    now: Timestamp,
    id: &RunId,
    by: &str,
    decision: &Decision,
    note: &str,
) -> Result<Vec<Event>, Rejection> {
    let run = state.find(id).ok_or(Rejection::NotFound)?;
    run.check_decision(decision)?;
    let decided = Fact::Decided { decision: decision.clone(), by: by.to_owned(), note: note.to_owned() };
    let mut events = vec![Event::Run { no: run.no, at: now, fact: decided }];
    if *decision == Decision::GiveUp {
        events.push(Event::Run { no: run.no, at: now, fact: Fact::GivenUp });
    }
    Ok(events)
}
