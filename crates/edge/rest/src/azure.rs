//! The REST API of Azure Scheduler: its paths, its bodies, its errors, so that its clients work unchanged.

mod answer;
mod body;
mod classic;
mod path;
mod provider;
mod query;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use kernel::job::Collection;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schedule::{Dialect, FrontEnd, ResourcePage};
use serde_json::Value;
use types::Span;

use crate::api::Cluster;
use crate::body::Payload;
use crate::error::ApiError;
use crate::etag::{self, with_etag};
use crate::jobs::{CollectionPath, Jobs, JobsError, Wanted, Writing};
use crate::limits::JOB_BYTES_MAX;
use answer::{AzureError, empty, json};
use query::Query;

pub(crate) use classic::ClassicPath;
pub(crate) use path::AzurePath;

/// How long after its creation a job without a start of its own began: clients that read a job back, or change it
/// at once, count on it.
pub(crate) const AT_ONCE: Span = Span::from_secs(20);

type AzureAnswer = Result<Response<Body>, AzureError>;

/// A request, besides its path and its body.
struct AzureRequest {
    parts: Parts,
    query: Query,
    dialect: Dialect,
}

/// The API of Azure Scheduler. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Azure {
    pub jobs: Jobs,
    pub cluster: Cluster,
}

impl Azure {
    pub(crate) async fn answer(&self, place: AzurePath, request: Request<Payload>) -> Response<Body> {
        self.try_answer(place, request).await.unwrap_or_else(AzureError::into_response)
    }

    async fn try_answer(&self, place: AzurePath, request: Request<Payload>) -> AzureAnswer {
        let (parts, body) = request.into_parts();
        let query = Query::read(&parts.uri)?;
        if !matches!(place, AzurePath::Provider { .. }) {
            query.check_version()?;
        }
        let request = AzureRequest { dialect: dialect(&parts), query, parts };
        match place {
            AzurePath::Provider { subscription } if request.parts.method == Method::GET => {
                Ok(json(StatusCode::OK, &provider::describe(&subscription)))
            }
            AzurePath::Collections { subscription, group } if request.parts.method == Method::GET => {
                self.collections(&subscription, group.as_deref(), &request)
            }
            AzurePath::Collection(at) => self.collection(&at, body, &request).await,
            AzurePath::Enable(at) if request.parts.method == Method::POST => self.switch(&at, true).await,
            AzurePath::Disable(at) if request.parts.method == Method::POST => self.switch(&at, false).await,
            AzurePath::Jobs(at) if request.parts.method == Method::GET => self.jobs(&at, &request).await,
            AzurePath::Job(at, job) => self.job(&at, &job, body, &request).await,
            AzurePath::Run(at, job) if request.parts.method == Method::POST => {
                self.jobs.run_job(&at, &job).await.map_err(|error| AzureError::at(&at, &job, error))?;
                Ok(empty(StatusCode::OK))
            }
            AzurePath::History(at, job) if request.parts.method == Method::GET => {
                self.history(&at, &job, &request).await
            }
            AzurePath::Preview(at, job) if request.parts.method == Method::GET => {
                let count = request.query.count.unwrap_or(10);
                let preview = self.jobs.preview_job(&at, &job, count).await;
                Ok(json(StatusCode::OK, &preview.map_err(|error| AzureError::at(&at, &job, error))?))
            }
            AzurePath::Unknown => {
                let text = format!("nothing is at {}", request.parts.uri.path());
                Err(AzureError::new(StatusCode::NOT_FOUND, "NotFound", text))
            }
            _ => Err(ApiError::Method { method: request.parts.method, allow: "" }.into()),
        }
    }

    fn collections(&self, subscription: &str, group: Option<&str>, request: &AzureRequest) -> AzureAnswer {
        let prefix = match group {
            Some(group) => format!("{subscription}/{group}/").to_lowercase(),
            None => format!("{subscription}/").to_lowercase(),
        };
        let all = self
            .jobs
            .reader
            .collections_in(self.cluster.owned_partitions(), &prefix)
            .map_err(JobsError::from);
        let all = all.map_err(|error| AzureError::at(&no_place(), "", error))?;
        let shown = |all: &mut dyn Iterator<Item = &Collection>| {
            let shown = all.map(body::collection).collect::<Result<Vec<_>, _>>();
            shown.map_err(|error| AzureError::at(&no_place(), "", error))
        };
        if self.cluster.is_part(&request.parts.headers) {
            let value = shown(&mut all.iter())?;
            return Ok(json(StatusCode::OK, &ResourcePage { value, next_link: None }));
        }
        let rows = request.query.rows();
        let more = all.len() > request.query.skip.saturating_add(rows);
        let value = shown(&mut all.iter().skip(request.query.skip).take(rows))?;
        Ok(json(StatusCode::OK, &ResourcePage { value, next_link: request.next_link(more) }))
    }

    async fn collection(&self, at: &CollectionPath, body: Payload, request: &AzureRequest) -> AzureAnswer {
        let wrong = |error| AzureError::at(at, "", error);
        let expect = etag::expect(&request.parts.method, &request.parts.headers)?;
        let (collection, status) = match request.parts.method {
            Method::GET => (self.jobs.collection(at).map_err(wrong)?, StatusCode::OK),
            Method::PUT => {
                let asked = read(body, request).await?;
                body::check_collection_name(at, &asked).map_err(wrong)?;
                let written = self.jobs.put_collection(at, &asked, FrontEnd::Azure, expect).await;
                let (collection, created) = written.map_err(wrong)?;
                (collection, if created { StatusCode::CREATED } else { StatusCode::OK })
            }
            Method::PATCH => {
                let asked = read(body, request).await?;
                body::check_collection_name(at, &asked).map_err(wrong)?;
                (self.jobs.patch_collection(at, &asked, expect).await.map_err(wrong)?, StatusCode::OK)
            }
            Method::DELETE => {
                self.jobs.delete_collection(at, expect).await.map_err(wrong)?;
                return Ok(empty(StatusCode::OK));
            }
            _ => return Err(ApiError::Method { method: request.parts.method.clone(), allow: "" }.into()),
        };
        let shown = body::collection(&collection).map_err(wrong)?;
        Ok(with_etag(json(status, &shown), collection.version))
    }

    async fn switch(&self, at: &CollectionPath, on: bool) -> AzureAnswer {
        self.jobs.switch_collection(at, on).await.map_err(|error| AzureError::at(at, "", error))?;
        Ok(empty(StatusCode::OK))
    }

    async fn jobs(&self, at: &CollectionPath, request: &AzureRequest) -> AzureAnswer {
        let wrong = |error| AzureError::at(at, "", error);
        let filter = request.query.filter.as_deref().map(schedule::parse_job_filter).transpose();
        let state = filter.map_err(|error| AzureError::bad_request(error.to_string()))?;
        let listed = self
            .jobs
            .list_jobs(at, &Wanted { state, name: None }, request.query.skip, request.query.rows())
            .await;
        let (collection, page) = listed.map_err(wrong)?;
        let jobs = page.jobs.iter().map(|shown| body::job(&collection, shown, request.dialect));
        let value = jobs.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        Ok(json(StatusCode::OK, &ResourcePage { value, next_link: request.next_link(page.more) }))
    }

    async fn job(
        &self,
        at: &CollectionPath,
        name: &str,
        body: Payload,
        request: &AzureRequest,
    ) -> AzureAnswer {
        let wrong = |error| AzureError::at(at, name, error);
        let expect = etag::expect(&request.parts.method, &request.parts.headers)?;
        let writing = Writing { expect, delay: AT_ONCE };
        let (collection, shown, status) = match request.parts.method {
            Method::GET => {
                let (collection, shown) = self.jobs.show_job(at, name).await.map_err(wrong)?;
                (collection, shown, StatusCode::OK)
            }
            Method::PUT => {
                let asked = read(body, request).await?;
                body::check_job_name(at, name, &asked).map_err(wrong)?;
                let written = self.jobs.put_job(at, name, &asked, writing).await;
                let (collection, shown, created) = written.map_err(wrong)?;
                (collection, shown, if created { StatusCode::CREATED } else { StatusCode::OK })
            }
            Method::PATCH => {
                let asked = read(body, request).await?;
                body::check_job_name(at, name, &asked).map_err(wrong)?;
                let written = self.jobs.patch_job(at, name, &asked, writing).await;
                let (collection, shown) = written.map_err(wrong)?;
                (collection, shown, StatusCode::OK)
            }
            Method::DELETE => {
                self.jobs.delete_job(at, name, expect).await.map_err(wrong)?;
                return Ok(empty(StatusCode::OK));
            }
            _ => return Err(ApiError::Method { method: request.parts.method.clone(), allow: "" }.into()),
        };
        let version = shown.job.definition.version;
        let shown = body::job(&collection, &shown, request.dialect).map_err(wrong)?;
        Ok(with_etag(json(status, &shown), version))
    }

    async fn history(&self, at: &CollectionPath, name: &str, request: &AzureRequest) -> AzureAnswer {
        let wrong = |error| AzureError::at(at, name, error);
        let filter = request.query.filter.as_deref().map(schedule::parse_history_filter).transpose();
        let status = filter.map_err(|error| AzureError::bad_request(error.to_string()))?;
        let collection = self.jobs.collection(at).map_err(wrong)?;
        let job = self.jobs.job(&collection, name).map_err(wrong)?;
        let page =
            self.jobs.history(&collection, &job, status, request.query.skip, request.query.rows()).await;
        let page = page.map_err(wrong)?;
        let value = page.attempts.iter().map(|attempt| body::history(&collection, &job, attempt)).collect();
        Ok(json(StatusCode::OK, &ResourcePage { value, next_link: request.next_link(page.more) }))
    }
}

/// A problem as clients of Azure read it.
pub(crate) fn refuse(error: ApiError) -> Response<Body> {
    AzureError::from(error).into_response()
}

/// Where all collections of a subscription are listed.
pub(crate) fn collections_uri(subscription: &str) -> String {
    let subscription = utf8_percent_encode(subscription, NON_ALPHANUMERIC);
    format!(
        "/subscriptions/{subscription}/providers/Microsoft.Scheduler/jobCollections?api-version={}",
        query::VERSIONS[0]
    )
}

/// The page that was asked for, of collections that were gathered from all instances.
pub(crate) fn page(uri: &Uri, headers: &HeaderMap, all: Vec<Value>) -> Response<Body> {
    let query = match Query::read(uri) {
        Ok(query) => query,
        Err(error) => return error.into_response(),
    };
    let more = all.len() > query.skip.saturating_add(query.rows());
    let value: Vec<Value> = all.into_iter().skip(query.skip).take(query.rows()).collect();
    let next_link = more.then(|| query.next_link(uri, headers));
    json(StatusCode::OK, &ResourcePage { value, next_link })
}

impl AzureRequest {
    fn next_link(&self, more: bool) -> Option<String> {
        more.then(|| self.query.next_link(&self.parts.uri, &self.parts.headers))
    }
}

/// Clients that map `Occurrence` and `certificateExpirationDate`, as Python's do, get these spellings too.
fn dialect(parts: &Parts) -> Dialect {
    let agent = parts.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
    let sdk_spellings = agent.is_some_and(is_python_sdk);
    Dialect { sdk_spellings, native: false }
}

/// The newer clients and those before them. An application may have put its own name first.
fn is_python_sdk(agent: &str) -> bool {
    let agent = agent.to_ascii_lowercase();
    agent.contains("azsdk-python") || agent.contains("azure-sdk-for-python")
}

async fn read(body: Payload, request: &AzureRequest) -> Result<Value, AzureError> {
    let mut whole = Request::new(body);
    *whole.headers_mut() = request.parts.headers.clone();
    let bytes = crate::body::read(whole, JOB_BYTES_MAX).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| AzureError::bad_request(format!("the body is not JSON: {error}")))
}

fn no_place() -> CollectionPath {
    CollectionPath { subscription: String::new(), group: String::new(), name: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_of_python_are_known_whatever_stands_around_their_name() {
        for agent in [
            "azsdk-python-mgmt-scheduler/7.0.0 Python/3.11.7 (Linux)",
            "my-app/1.0 azsdk-python-mgmt-scheduler/7.0.0 Python/3.11.7 (Linux)",
            "python/3.6.1 (Linux) requests/2.18 msrest/0.4 azure-mgmt-scheduler/2.0.0 Azure-SDK-For-Python",
        ] {
            assert!(is_python_sdk(agent), "{agent}");
        }
        assert!(!is_python_sdk("curl/8.5.0"));
    }
}
