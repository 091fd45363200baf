//! Which facts follow directly from an input. What follows further is found by `settle`.

use types::{BodyHash, Outcome, RunId, Seq, Timestamp, Work};

use crate::command::{Command, Decision, Input, Rejection, Request};
use crate::job::Firing;
use crate::{Accepted, Cause, Direction, DropReason, Event, Fact, Fired, Phase, RunNo, State, retry};

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
    let then = retry::after_attempt(run, now, work, attempt, outcome);
    let fact = Fact::Ended { work, attempt, outcome: outcome.clone(), then };
    Ok(vec![Event::Run { no, at: now, fact }])
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
