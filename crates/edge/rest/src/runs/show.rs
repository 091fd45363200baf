//! Runs as people and clients see them.

use api_types::{MomentView, RunDetail, RunSummary, StepView, Time};
use kernel::job::Occurrence;
use kernel::{Cause, DoneBy, Fact, Failure, Moment, Request, Run, Step, StepState, Then, UndoneBy};
use schedule::Date;
use serde_json::value::RawValue;
use types::{Outcome, PartitionId, RunId, RunStatus, StepIndex, StepName, Timestamp, Work};
use view::RunSummary as EndedSummary;

pub(crate) fn summary(run: &Run) -> RunSummary {
    RunSummary {
        id: run.request.id.to_string(),
        workflow: run.request.workflow.to_string(),
        version: run.request.version,
        status: run.status(),
        key: run.request.key.to_string(),
        accepted_at: Time(run.request.accepted_at),
        ended_at: run.ended_at().map(Time),
        reason: None,
    }
}

pub(crate) fn ended_summary(run: EndedSummary) -> RunSummary {
    RunSummary {
        id: run.id.to_string(),
        workflow: run.workflow.to_string(),
        version: run.version,
        status: run.status,
        key: run.key.to_string(),
        accepted_at: Time(run.accepted_at),
        ended_at: Some(Time(run.ended_at)),
        reason: run.reason,
    }
}

/// A request that is durable and not yet taken from the inbox.
pub(crate) fn waiting(id: &RunId, partition: PartitionId, request: Option<&Request>) -> serde_json::Value {
    let mut shown = serde_json::json!({ "id": id, "status": RunStatus::Accepted, "partition": partition.0 });
    if let Some(request) = request {
        shown["workflow"] = request.workflow.as_str().into();
        shown["version"] = request.version.into();
        shown["key"] = request.key.as_str().into();
        shown["accepted_at"] = Time(request.accepted_at).to_string().into();
    }
    shown
}

/// A run with its steps and timeline. `reason` is given because an archived run no longer has its plan.
pub(crate) fn detail(
    run: &Run,
    names: &[StepName],
    partition: PartitionId,
    reason: Option<String>,
) -> RunDetail {
    let steps = run.steps.iter().enumerate();
    let open = run.steps.iter().zip(names).filter(|(step, _)| is_open(run, step));
    RunDetail {
        summary: RunSummary { reason, ..summary(run) },
        partition: partition.0,
        request: request(run),
        steps: steps.map(|(index, step)| step_view(run, step, &names[index], index)).collect(),
        open_steps: open.map(|(_, name)| name.to_string()).collect(),
        timeline: timeline(run, names),
    }
}

/// What was asked for. An occurrence keeps its job with sealed secrets, which are nobody's to see.
fn request(run: &Run) -> Option<Box<RawValue>> {
    let Some(occurrence) = Occurrence::of_request(&run.request) else { return raw(&run.request.body) };
    let shown = serde_json::json!({
        "collection": occurrence.collection,
        "job": occurrence.job,
        "expected": Date(occurrence.expected).to_string(),
        "occurrence": occurrence.number,
        "byHand": occurrence.by_hand,
    });
    RawValue::from_string(shown.to_string()).ok()
}

fn is_open(run: &Run, step: &Step) -> bool {
    run.status() == RunStatus::Parked
        && matches!(step.state, StepState::Failed(_) | StepState::UndoFailed { .. })
        && !matches!(step.state, StepState::Failed(_) if is_parked_on_the_way_back(run))
}

fn is_parked_on_the_way_back(run: &Run) -> bool {
    matches!(&run.phase, kernel::Phase::Parked { direction: kernel::Direction::Back { .. }, .. })
}

fn step_view(run: &Run, step: &Step, name: &StepName, index: usize) -> StepView {
    let mine = |work: &Work| work.step() == Some(StepIndex(index as u16));
    let attempts = run.timeline.iter().filter(|moment| match &moment.fact {
        Fact::Started { work, .. } => mine(work),
        _ => false,
    });
    let (state, by, reason, next_attempt_at) = state_words(&step.state);
    StepView {
        name: name.to_string(),
        state: state.to_owned(),
        by: by.map(str::to_owned),
        attempts: attempts.count() as u32,
        next_attempt_at: next_attempt_at.map(Time),
        reason: reason.map(str::to_owned),
        output: step.output.as_ref().and_then(raw),
    }
}

type StateWords<'a> = (&'static str, Option<&'static str>, Option<&'a str>, Option<Timestamp>);

fn state_words(state: &StepState) -> StateWords<'_> {
    match state {
        StepState::Waiting => ("waiting", None, None, None),
        StepState::Running(_) => ("running", None, None, None),
        StepState::Retrying { at, .. } => ("retrying", None, None, Some(*at)),
        StepState::Done(by) => ("done", Some(done_by(*by)), None, None),
        StepState::Failed(failure) => (failure_word(failure), None, Some(failure.reason()), None),
        StepState::Undoing(_) => ("undoing", None, None, None),
        StepState::UndoRetrying { at, .. } => ("undoing", None, None, Some(*at)),
        StepState::Undone(by) => ("undone", Some(undone_by(*by)), None, None),
        StepState::UndoFailed { reason } => ("undo_failed", None, Some(reason), None),
    }
}

fn done_by(by: DoneBy) -> &'static str {
    match by {
        DoneBy::Call => "call",
        DoneBy::Alternative => "alternative",
        DoneBy::Instead => "instead",
        DoneBy::Hand => "hand",
        DoneBy::Skipped => "skipped",
    }
}

fn undone_by(by: UndoneBy) -> &'static str {
    match by {
        UndoneBy::Call => "call",
        UndoneBy::Instead => "instead",
        UndoneBy::Hand => "hand",
        UndoneBy::Skipped => "skipped",
    }
}

fn failure_word(failure: &Failure) -> &'static str {
    match failure {
        Failure::Refused { .. } => "refused",
        Failure::Exhausted { .. } | Failure::Overdue => "failed",
        Failure::Unknown { .. } | Failure::Stopped => "unknown",
    }
}

fn timeline(run: &Run, names: &[StepName]) -> Vec<MomentView> {
    let accepted = moment("accepted", run.request.accepted_at);
    std::iter::once(accepted).chain(run.timeline.iter().map(|moment| moment_view(moment, names))).collect()
}

fn moment(what: &str, at: Timestamp) -> MomentView {
    MomentView {
        at: Time(at),
        what: what.to_owned(),
        step: None,
        work: None,
        attempt: None,
        outcome: None,
        status: None,
        retry_at: None,
        detail: None,
        by: None,
        note: None,
    }
}

fn moment_view(moment_: &Moment, names: &[StepName]) -> MomentView {
    let at = moment_.at;
    match &moment_.fact {
        Fact::Begun => moment("begun", at),
        Fact::Started { work, attempt } => {
            MomentView { attempt: Some(*attempt), ..work_moment("started", at, *work, names) }
        }
        Fact::Ended { work, attempt, outcome, then } => {
            let (word, status, detail) = outcome_words(outcome);
            let retry_at = match then {
                Then::Retry { at } => Some(Time(*at)),
                Then::Done | Then::Alternative | Then::Failed => None,
            };
            MomentView {
                attempt: Some(*attempt),
                outcome: Some(word.to_owned()),
                status,
                retry_at,
                detail,
                ..work_moment("ended", at, *work, names)
            }
        }
        Fact::Overdue { step } => MomentView { step: Some(name_of(*step, names)), ..moment("overdue", at) },
        Fact::CancelAsked { by } => MomentView { by: Some(by.clone()), ..moment("cancel_asked", at) },
        Fact::Undoing { cause } => cause_moment(at, cause, names),
        Fact::Parked { reason } => MomentView { detail: Some(reason.clone()), ..moment("parked", at) },
        Fact::Decided { decision, by, note } => MomentView {
            step: decision.step().map(|step| name_of(step, names)),
            detail: Some(decision.kind().name().to_owned()),
            by: Some(by.clone()),
            note: Some(note.clone()).filter(|note| !note.is_empty()),
            ..moment("decided", at)
        },
        Fact::Completed => moment("completed", at),
        Fact::Undone => moment("undone", at),
        Fact::GivenUp => moment("given_up", at),
    }
}

fn work_moment(what: &str, at: Timestamp, work: Work, names: &[StepName]) -> MomentView {
    MomentView {
        step: work.step().map(|step| name_of(step, names)),
        work: Some(work.name().to_owned()),
        ..moment(what, at)
    }
}

fn cause_moment(at: Timestamp, cause: &Cause, names: &[StepName]) -> MomentView {
    let plain = moment("undoing", at);
    match cause {
        Cause::Refused { step, reason } => MomentView {
            step: Some(name_of(*step, names)),
            detail: Some(format!("refused: {reason}")),
            ..plain
        },
        Cause::Failed { step, reason } => MomentView {
            step: Some(name_of(*step, names)),
            detail: Some(format!("failed: {reason}")),
            ..plain
        },
        Cause::Cancelled { by } => {
            MomentView { by: Some(by.clone()), detail: Some("cancelled".to_owned()), ..plain }
        }
        Cause::Deadline => MomentView { detail: Some("the deadline has passed".to_owned()), ..plain },
    }
}

fn outcome_words(outcome: &Outcome) -> (&'static str, Option<u16>, Option<String>) {
    let (status, detail) = match outcome {
        Outcome::Done { status, .. } => (Some(*status), None),
        Outcome::Refused { status, reason } | Outcome::Transient { status, reason, .. } => {
            (*status, Some(without_status(*status, reason)))
        }
        Outcome::Unknown { reason } => (None, Some(reason.clone())),
    };
    (outcome.name(), status, detail)
}

/// The reason of an answer begins with its status; beside the status it would stand there twice.
fn without_status(status: Option<u16>, reason: &str) -> String {
    let prefix = status.map(|status| format!("{status}: ")).unwrap_or_default();
    reason.strip_prefix(&prefix).unwrap_or(reason).to_owned()
}

fn name_of(step: StepIndex, names: &[StepName]) -> String {
    names.get(usize::from(step.0)).map_or_else(|| format!("step {}", step.0), StepName::to_string)
}

fn raw(json: &bytes::Bytes) -> Option<Box<RawValue>> {
    serde_json::from_slice(json).ok()
}
