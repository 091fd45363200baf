//! The classic API that came before: jobs under a cloud service, without an envelope around them.
//!
//! A cloud service is taken for a resource group. Collections are made by the newer API, or natively.

use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use schedule::Dialect;
use serde_json::{Map, Value, json};

use super::answer::{self, AzureError};
use super::{AT_ONCE, Azure, AzureAnswer};
use crate::body::Payload;
use crate::error::ApiError;
use crate::jobs::{CollectionPath, JobsError, Shown, Wanted, Writing, record, status, stored};
use crate::limits::JOB_BYTES_MAX;

/// The jobs of a collection, or one of them, or its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassicPath {
    collection: CollectionPath,
    job: Option<String>,
    history: bool,
}

impl ClassicPath {
    pub fn collection(&self) -> &CollectionPath {
        &self.collection
    }

    /// `/{subscription}/cloudservices/{service}/resources/scheduler/~/jobCollections/{collection}/jobs[/{job}]`
    pub fn of(path: &str) -> Option<ClassicPath> {
        let decode = |part: &str| percent_decode_str(part).decode_utf8().map(|text| text.into_owned());
        let parts = path.strip_prefix('/')?.trim_end_matches('/').split('/');
        let parts: Vec<String> = parts.map(decode).collect::<Result<_, _>>().ok()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (subscription, group, name, rest) = match parts.as_slice() {
            [
                subscription,
                services,
                group,
                resources,
                scheduler,
                "~",
                collections,
                name,
                jobs,
                rest @ ..,
            ] if services.eq_ignore_ascii_case("cloudservices")
                && resources.eq_ignore_ascii_case("resources")
                && scheduler.eq_ignore_ascii_case("scheduler")
                && collections.eq_ignore_ascii_case("jobCollections")
                && jobs.eq_ignore_ascii_case("jobs") =>
            {
                (subscription, group, name, rest)
            }
            _ => return None,
        };
        let (job, history) = match rest {
            [] => (None, false),
            [job] => (Some((*job).to_owned()), false),
            [job, history] if history.eq_ignore_ascii_case("history") => (Some((*job).to_owned()), true),
            _ => return None,
        };
        let [subscription, group, name] = [subscription, group, name].map(|part| (*part).to_owned());
        Some(ClassicPath { collection: CollectionPath { subscription, group, name }, job, history })
    }
}

impl Azure {
    pub(crate) async fn answer_classic(
        &self,
        place: ClassicPath,
        request: Request<Payload>,
    ) -> Response<Body> {
        self.try_classic(place, request).await.unwrap_or_else(AzureError::into_response)
    }

    async fn try_classic(&self, place: ClassicPath, request: Request<Payload>) -> AzureAnswer {
        let at = &place.collection;
        let method = request.method().clone();
        match (&method, &place.job) {
            (&Method::GET, None) => {
                let listed = self.jobs.list_jobs(at, &Wanted::default(), 0, usize::MAX - 1).await;
                let (_, page) = listed.map_err(|error| AzureError::at(at, "", error))?;
                let jobs: Result<Vec<_>, _> = page.jobs.iter().map(flat).collect();
                Ok(answer::json(StatusCode::OK, &jobs.map_err(|error| AzureError::at(at, "", error))?))
            }
            (&Method::GET, Some(job)) if place.history => {
                self.classic_history(at, job).await.map_err(|error| AzureError::at(at, job, error))
            }
            (_, Some(job)) => {
                let done = self.classic_job(at, job, request).await;
                done.map_err(|error| AzureError::at(at, job, error))
            }
            _ => Err(ApiError::Method { method, allow: "" }.into()),
        }
    }

    async fn classic_job(
        &self,
        at: &CollectionPath,
        name: &str,
        request: Request<Payload>,
    ) -> Result<Response<Body>, JobsError> {
        let writing =
            Writing { expect: crate::etag::expect(request.method(), request.headers())?, delay: AT_ONCE };
        let method = request.method().clone();
        let (shown, status) = match method {
            Method::GET => (self.jobs.show_job(at, name).await?.1, StatusCode::OK),
            Method::PUT => {
                let (_, shown, created) =
                    self.jobs.put_job(at, name, &wrapped(request).await?, writing).await?;
                (shown, if created { StatusCode::CREATED } else { StatusCode::OK })
            }
            Method::PATCH => {
                (self.jobs.patch_job(at, name, &wrapped(request).await?, writing).await?.1, StatusCode::OK)
            }
            Method::DELETE => {
                self.jobs.delete_job(at, name, writing.expect).await?;
                return Ok(answer::empty(StatusCode::OK));
            }
            method => return Err(ApiError::Method { method, allow: "" }.into()),
        };
        Ok(answer::json(status, &flat(&shown)?))
    }

    async fn classic_history(&self, at: &CollectionPath, name: &str) -> Result<Response<Body>, JobsError> {
        let collection = self.jobs.collection(at)?;
        let job = self.jobs.job(&collection, name)?;
        let page = self.jobs.history(&collection, &job, None, 0, 1000).await?;
        let shown = |attempt| {
            let record = record(attempt).render(Dialect { native: true, ..Dialect::default() });
            let mut record = serde_json::to_value(record).expect("a record is JSON");
            record["jobId"] = name.into();
            record["timestamp"] = record["endTime"].clone();
            record
        };
        Ok(answer::json(StatusCode::OK, &page.attempts.iter().map(shown).collect::<Vec<_>>()))
    }
}

/// The body of a classic request, put into the envelope of the newer API.
async fn wrapped(request: Request<Payload>) -> Result<Value, JobsError> {
    let bytes = crate::body::read(request, JOB_BYTES_MAX).await?;
    let body: Value = serde_json::from_slice(&bytes)
        .map_err(|error| JobsError::Bad(format!("the body is not JSON: {error}")))?;
    let Value::Object(mut members) = body else {
        return Err(JobsError::Bad("the body: write a job as a JSON object".to_owned()));
    };
    members.retain(|name, _| !name.eq_ignore_ascii_case("id"));
    Ok(json!({ "properties": members }))
}

/// A job without its envelope, spelled as the classic API did: `http`, and header names with a small first letter.
fn flat(shown: &Shown) -> Result<Value, JobsError> {
    let view = stored(&shown.job)?.render(&status(shown), Dialect::default());
    let mut members: Map<String, Value> =
        [("id".to_owned(), Value::from(shown.job.definition.name.as_str()))].into_iter().collect();
    let Ok(Value::Object(properties)) = serde_json::to_value(view) else {
        unreachable!("a job is an object")
    };
    members.extend(properties);
    if let Some(action) = members.get_mut("action") {
        lower_first(action);
        if let Some(error_action) = action.get_mut("errorAction") {
            lower_first(error_action);
        }
    }
    Ok(Value::Object(members))
}

fn lower_first(action: &mut Value) {
    let lower = |text: &str| {
        let mut chars = text.chars();
        chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect::<String>()
    };
    if let Some(kind) = action.get("type").and_then(Value::as_str).map(lower) {
        action["type"] = kind.into();
    }
    if let Some(Value::Object(headers)) = action.pointer_mut("/request/headers") {
        *headers = std::mem::take(headers).into_iter().map(|(name, value)| (lower(&name), value)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_paths_are_decoded() {
        let path = "/s/CloudServices/c%20s/resources/scheduler/~/jobCollections/jc/jobs/my%20job/History/";
        let collection =
            CollectionPath { subscription: "s".to_owned(), group: "c s".to_owned(), name: "jc".to_owned() };
        let place = ClassicPath { collection, job: Some("my job".to_owned()), history: true };
        assert_eq!(ClassicPath::of(path), Some(place));
        assert_eq!(ClassicPath::of("/s/cloudservices/c/resources/scheduler/~/jobCollections/jc"), None);
    }
}
