//! The action on one run: sent as a client would, and its answer sorted into done, skipped and failed.

use std::time::Duration;

use api_types::{BulkAction, BulkView, DecisionKind, DecisionRequest, Problem, RunDetail};
use bytes::Bytes;
use types::{RunId, RunStatus};

use crate::api::{Refusal, Resubmitted, RunApi};
use crate::limits::BULK_WAIT_MAX;
use crate::select::{is_meant, is_occurrence};
use crate::{ActionOutcome, Bulk};

/// What one attempt came to.
pub(crate) enum Attempted {
    Final(ActionOutcome),
    /// There is too much load at the moment, or an instance cannot be reached.
    Later {
        code: String,
        problem: String,
        wait: Duration,
        /// Whether it counts as an attempt: overload does not.
        counts: bool,
    },
}

/// Tries the action once. `again`: whether the run may have had its turn before.
pub(crate) async fn act(api: &impl RunApi, bulk: &Bulk, id: &str, again: bool) -> Attempted {
    let view = &bulk.view;
    if view.action == BulkAction::Rerun {
        return run_again(api, view, id).await;
    }
    if again {
        match api.get(&view.by, id).await {
            Ok(run) if had_its_turn(bulk, &run) => return Attempted::Final(ActionOutcome::Done),
            Ok(_) => {}
            Err(refusal) => return sort(&refusal),
        }
    }
    let answer = match view.action {
        BulkAction::Cancel => {
            match api.get(&view.by, id).await {
                Ok(run) if is_meant(view.action, run.summary.status) => {}
                Ok(run) => return skipped(run.summary.status.as_str()),
                Err(refusal) => return sort(&refusal),
            }
            api.cancel(&view.by, id).await
        }
        _ => {
            let decision = DecisionRequest {
                decision: view.decision.unwrap_or(DecisionKind::Retry),
                step: view.step.clone(),
                output: None,
                action: None,
                note: bulk.note(),
            };
            api.decide(&view.by, id, &decision).await
        }
    };
    match answer {
        Ok(()) => Attempted::Final(ActionOutcome::Done),
        // The previous owner may still work on the same page, and may have been faster.
        Err(refusal) if refusal.is_conflict() => match api.get(&view.by, id).await {
            Ok(run) if had_its_turn(bulk, &run) => Attempted::Final(ActionOutcome::Done),
            Ok(_) => sort(&refusal),
            Err(unknown) => match sort(&unknown) {
                // Whether it was cannot be found out at the moment.
                later @ Attempted::Later { .. } => later,
                Attempted::Final(_) => sort(&refusal),
            },
        },
        Err(refusal) => sort(&refusal),
    }
}

/// Submits the request of an ended run again, under an id that is always the same.
async fn run_again(api: &impl RunApi, view: &BulkView, id: &str) -> Attempted {
    let run = match api.get(&view.by, id).await {
        Ok(run) => run,
        Err(refusal) => return sort(&refusal),
    };
    if is_occurrence(&run.summary) {
        return skipped("occurrence_of_a_job");
    }
    if !is_meant(BulkAction::Rerun, run.summary.status) {
        return skipped(run.summary.status.as_str());
    }
    let Some(request) = run.request else { return skipped("request_unknown") };
    let again = id_again(id);
    let Ok(id) = RunId::new(&again) else {
        let problem = format!("{again} is longer than an id may be");
        return Attempted::Final(ActionOutcome::Failed { code: "bad_id".to_owned(), problem });
    };
    let body = Bytes::copy_from_slice(request.get().as_bytes());
    match api.submit_again(&view.by, &run.summary.workflow, &id, body).await {
        Ok(Resubmitted::New) => Attempted::Final(ActionOutcome::Done),
        // It was submitted before: by this bulk, before a restart, or by another one.
        Ok(Resubmitted::Existing(Some(known))) if known.accepted_at.0 >= view.started_at.0 => {
            Attempted::Final(ActionOutcome::Done)
        }
        // One that still waits deep in an inbox does not say since when: it is new.
        Ok(Resubmitted::Existing(Some(known))) if known.status == RunStatus::Accepted => {
            Attempted::Final(ActionOutcome::Done)
        }
        Ok(Resubmitted::Existing(_)) => skipped("run_again_before"),
        Err(refusal) => sort(&refusal),
    }
}

fn skipped(reason: &str) -> Attempted {
    Attempted::Final(ActionOutcome::Skipped(reason.to_owned()))
}

fn failed(problem: &Problem) -> Attempted {
    let details: Vec<_> = problem.errors.iter().map(|error| error.message.as_str()).collect();
    let text = [&[problem.detail.as_str()], details.as_slice()].concat().join("; ");
    Attempted::Final(ActionOutcome::Failed { code: problem.code.clone(), problem: text })
}

/// What a refusal means for the run.
fn sort(refusal: &Refusal) -> Attempted {
    let problem = &refusal.problem;
    let wait = Duration::from_secs(refusal.retry_after_secs.unwrap_or(1))
        .clamp(Duration::from_millis(100), BULK_WAIT_MAX);
    let later = |counts| Attempted::Later {
        code: problem.code.clone(),
        problem: problem.detail.clone(),
        wait,
        counts,
    };
    match (refusal.status, problem.code.as_str()) {
        (_, "backlog_full" | "disk_full" | "memory_full") => later(false),
        // Only a person brings a stopped partition back.
        (_, "partition_stopped") => failed(problem),
        (429 | 502 | 503, _) => later(true),
        // It is no longer as it was selected.
        (404 | 409, code) if code != "unknown_workflow" => skipped(code),
        _ => failed(problem),
    }
}

/// Whether a run's timeline says that this bulk has acted on it.
fn had_its_turn(bulk: &Bulk, run: &RunDetail) -> bool {
    let (view, mark) = (&bulk.view, bulk.mark());
    run.timeline.iter().any(|moment| match moment.what.as_str() {
        "decided" => moment.note.as_ref().is_some_and(|note| note.contains(&mark)),
        "cancel_asked" => {
            view.action == BulkAction::Cancel
                && moment.at.0 >= view.started_at.0
                && moment.by.as_ref() == Some(&view.by)
        }
        _ => false,
    })
}

/// The id under which a run is run again: always the same, so that asking twice starts one run.
pub(crate) fn id_again(id: &str) -> String {
    if let Some(first) = id.strip_suffix(".again") {
        return format!("{first}.again.2");
    }
    match id.rsplit_once(".again.") {
        Some((first, number)) => match number.parse::<u32>() {
            Ok(number) if number >= 2 => format!("{first}.again.{}", number.saturating_add(1)),
            _ => format!("{id}.again"),
        },
        None => format!("{id}.again"),
    }
}

#[cfg(test)]
mod tests {
    use super::id_again;

    #[test]
    fn the_next_id_of_a_run_is_always_the_same() {
        for (id, again) in [
            ("r-1", "r-1.again"),
            ("r-1.again", "r-1.again.2"),
            ("r-1.again.2", "r-1.again.3"),
            ("r-1.again.x", "r-1.again.x.again"),
            ("a.again.again", "a.again.again.2"),
            ("r.again.1", "r.again.1.again"),
        ] {
            assert_eq!(id_again(id), again);
        }
    }
}
