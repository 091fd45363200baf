//! What a step sends, for people to see.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use engine::{Context, Subject, idempotency_key};
use http::HeaderMap;
use journal::Journal;
use kernel::job::Occurrence;
use kernel::{Fact, Run};
use serde::Deserialize;
use wire::CallView;
use words::{StepIndex, Work};

use super::json;
use crate::access::Permission;
use crate::api::{Api, Found};
use crate::entrance::run_id;
use crate::error::ApiError;

/// Which of a step's works is asked about.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Asked {
    #[default]
    Do,
    Alternative,
    Undo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallQuery {
    #[serde(default)]
    work: Asked,
    attempt: Option<u32>,
}

impl Asked {
    const ALL: [Asked; 3] = [Asked::Do, Asked::Alternative, Asked::Undo];

    fn of(self, step: StepIndex) -> Work {
        match self {
            Asked::Do => Work::Do(step),
            Asked::Alternative => Work::Alternative(step),
            Asked::Undo => Work::Undo(step),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Asked::Do => "do",
            Asked::Alternative => "alternative",
            Asked::Undo => "undo",
        }
    }
}

pub(super) async fn show<J: Journal>(
    State(api): State<Api<J>>,
    headers: HeaderMap,
    Path((id, step)): Path<(String, String)>,
    asked: Result<Query<CallQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, ApiError> {
    api.allow(&headers, Permission::Read)?;
    let Query(CallQuery { work: asked, attempt }) =
        asked.map_err(|error| ApiError::BadRequest(error.body_text()))?;
    let id = run_id(&id)?;
    let (run, reason) = match api.find(&id).await? {
        Some(Found::Live(_, run)) => {
            let reason = run.reason();
            (run, reason)
        }
        Some(Found::Ended(ended, run)) => (run, ended.reason),
        Some(Found::Waiting(_)) => {
            return Err(ApiError::NotFound(format!("run {id} waits in the inbox and has no steps yet")));
        }
        None => return Err(ApiError::NotFound(format!("no run {id}"))),
    };
    let names = api.step_names(&run);
    let index = names.iter().position(|name| name.as_str() == step).ok_or_else(|| {
        let known: Vec<_> = names.iter().map(|name| name.as_str()).collect();
        ApiError::NotFound(format!("no step '{step}' in run {id}; the steps are {}", known.join(", ")))
    })?;
    let index = StepIndex(index as u16);
    let subject = subject(&api, &run)?;
    let declared: Vec<Asked> =
        Asked::ALL.into_iter().filter(|asked| declares(&subject, asked.of(index))).collect();
    if !declared.contains(&asked) {
        let word = asked.word();
        return Err(ApiError::NotFound(format!("work: the workflow declares no {word} for step {step}")));
    }
    let work = asked.of(index);
    let attempt = attempt.unwrap_or_else(|| newest_attempt(&run, work));
    let context = Context::of(&run, work, reason);
    let sent = (api.calls)(&subject, &context, work, attempt);
    Ok(json(&CallView {
        step,
        work: asked.word().to_owned(),
        works: declared.into_iter().map(|asked| asked.word().to_owned()).collect(),
        attempt,
        idempotency_key: idempotency_key(&subject, &context, work),
        sent,
    }))
}

fn subject<J: Journal>(api: &Api<J>, run: &Run) -> Result<Subject, ApiError> {
    if let Some(occurrence) = Occurrence::of_request(&run.request) {
        return Ok(Subject::Job(Box::new(occurrence)));
    }
    let version = run.request.version;
    let catalog = api.catalog();
    let entry = catalog.version(&run.request.workflow, version);
    let entry = entry.expect("a run's workflow version is never removed");
    Ok(Subject::Workflow { definition: entry.definition.clone(), version })
}

/// A job's errorAction may be missing; its run says so when it is asked for.
fn declares(subject: &Subject, work: Work) -> bool {
    match subject {
        Subject::Workflow { definition, .. } => definition.declares(work),
        Subject::Job(_) => !matches!(work, Work::Undo(_)),
    }
}

/// The last attempt that began, or the first that will.
fn newest_attempt(run: &Run, asked: Work) -> u32 {
    let begun = run.timeline.iter().rev().find_map(|moment| match &moment.fact {
        Fact::Started { work, attempt } if *work == asked => Some(*attempt),
        _ => None,
    });
    begun.unwrap_or(1)
}
