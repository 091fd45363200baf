//! Doing it to one run: asked for as a client would, and the answer sorted into done, skipped and failed.

use std::time::Duration;

use api_types::{BulkAction, BulkView, DecisionKind, DecisionRequest, Problem, RunDetail};
use bytes::Bytes;
use http::{Method, StatusCode, Uri};

use super::ask::Answer;
use super::select::{is_meant, is_occurrence};
use super::{Acted, Bulk};
use crate::limits::BULK_WAIT_MAX;
use crate::own_route::with_field;
use crate::router::Router;

/// What asking once came to.
pub(super) enum Tried {
    Acted(Acted),
    /// There is too much at the moment, or somebody is not there.
    Later {
        code: String,
        problem: String,
        wait: Duration,
        /// Whether it counts as a try: overload does not.
        counts: bool,
    },
}

impl Router {
    /// Tries it once. `again`: whether the run may have had its turn before.
    pub(super) async fn act(&self, bulk: &Bulk, id: &str, again: bool) -> Tried {
        let view = &bulk.view;
        if view.action == BulkAction::Rerun {
            return self.run_again(view, id).await;
        }
        if again {
            match self.detail(view, id).await {
                Ok(run) if had_its_turn(bulk, &run) => return Tried::Acted(Acted::Done),
                Ok(_) => {}
                Err(tried) => return tried,
            }
        }
        let answer = match view.action {
            BulkAction::Cancel => {
                match self.detail(view, id).await {
                    Ok(run) if is_meant(view.action, run.summary.status) => {}
                    Ok(run) => return skipped(run.summary.status.as_str()),
                    Err(tried) => return tried,
                }
                let uri = uri(&format!("/v1/runs/{id}/cancel"));
                self.ask_for(&view.by, Method::POST, uri, Bytes::new()).await
            }
            _ => {
                let decision = DecisionRequest {
                    decision: view.decision.unwrap_or(DecisionKind::Retry),
                    step: view.step.clone(),
                    output: None,
                    action: None,
                    note: bulk.note(),
                };
                let body = serde_json::to_vec(&decision).expect("a decision can always be encoded");
                let uri = uri(&format!("/v1/runs/{id}/decide"));
                self.ask_for(&view.by, Method::POST, uri, body.into()).await
            }
        };
        match answer.status {
            status if status.is_success() => Tried::Acted(Acted::Done),
            // The holder before may still be at the same page, and may have been faster.
            StatusCode::CONFLICT => match self.detail(view, id).await {
                Ok(run) if had_its_turn(bulk, &run) => Tried::Acted(Acted::Done),
                // Nobody says at the moment whether it was.
                Err(later @ Tried::Later { .. }) => later,
                Ok(_) | Err(Tried::Acted(_)) => sort(&answer),
            },
            _ => sort(&answer),
        }
    }

    /// Hands in the request of an ended run again, under an id that is always the same.
    async fn run_again(&self, view: &BulkView, id: &str) -> Tried {
        let run = match self.detail(view, id).await {
            Ok(run) => run,
            Err(tried) => return tried,
        };
        if is_occurrence(&run.summary) {
            return skipped("occurrence_of_a_job");
        }
        if !is_meant(BulkAction::Rerun, run.summary.status) {
            return skipped(run.summary.status.as_str());
        }
        let Some(request) = run.request else { return skipped("request_unknown") };
        let again = id_again(id);
        let Ok(id) = types::RunId::new(&again) else {
            let problem = format!("{again} is longer than an id may be");
            return Tried::Acted(Acted::Failed { code: "bad_id".to_owned(), problem });
        };
        let body = Bytes::copy_from_slice(request.get().as_bytes());
        let body = match self.api.workflows.current(&run.summary.workflow) {
            Ok(entry) => with_field(&body, entry.definition.accept().id_field(), &id),
            Err(error) => return failed(&error.problem()),
        };
        let uri = uri(&format!("/v1/workflows/{}/runs/{id}", run.summary.workflow));
        let answer = self.ask_for(&view.by, Method::PUT, uri, body).await;
        match answer.status {
            StatusCode::ACCEPTED => Tried::Acted(Acted::Done),
            // It was handed in before: by this bulk, in an earlier life, or by another one.
            StatusCode::OK => match answer.json::<api_types::RunSummary>() {
                Ok(known) if known.accepted_at.0 >= view.started_at.0 => Tried::Acted(Acted::Done),
                // One that still waits deep in an inbox does not say since when: it is new.
                Ok(known) if known.status == types::RunStatus::Accepted => Tried::Acted(Acted::Done),
                _ => skipped("run_again_before"),
            },
            _ => sort(&answer),
        }
    }

    async fn detail(&self, view: &BulkView, id: &str) -> Result<RunDetail, Tried> {
        let answer = self.ask_for(&view.by, Method::GET, uri(&format!("/v1/runs/{id}")), Bytes::new()).await;
        if !answer.status.is_success() {
            return Err(sort(&answer));
        }
        answer.json().map_err(|problem| failed(&problem))
    }
}

fn uri(text: &str) -> Uri {
    text.parse().expect("an id is a part of a path")
}

fn skipped(reason: &str) -> Tried {
    Tried::Acted(Acted::Skipped(reason.to_owned()))
}

fn failed(problem: &Problem) -> Tried {
    let details: Vec<_> = problem.errors.iter().map(|error| error.message.as_str()).collect();
    let text = [&[problem.detail.as_str()], details.as_slice()].concat().join("; ");
    Tried::Acted(Acted::Failed { code: problem.code.clone(), problem: text })
}

/// What an answer that is no yes means for the run.
fn sort(answer: &Answer) -> Tried {
    let problem = answer.problem();
    let wait = Duration::from_secs(answer.retry_after_secs.unwrap_or(1))
        .clamp(Duration::from_millis(100), BULK_WAIT_MAX);
    let later =
        |counts| Tried::Later { code: problem.code.clone(), problem: problem.detail.clone(), wait, counts };
    match (answer.status, problem.code.as_str()) {
        (_, "backlog_full" | "disk_full" | "memory_full") => later(false),
        // Only a person brings a stopped partition back.
        (_, "partition_stopped") => failed(&problem),
        (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::BAD_GATEWAY, _) => {
            later(true)
        }
        // It is no longer as it was selected.
        (StatusCode::CONFLICT | StatusCode::NOT_FOUND, _) if problem.code != "unknown_workflow" => {
            skipped(&problem.code)
        }
        _ => failed(&problem),
    }
}

/// Whether a run's timeline tells that this bulk has dealt with it.
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
pub(super) fn id_again(id: &str) -> String {
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
