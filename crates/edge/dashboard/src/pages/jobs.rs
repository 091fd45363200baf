//! Jobs and collections: lists, details, history, and the form to create and edit them.

mod collection;
mod describe;
mod document;
mod edit;
mod form;
mod history;
mod job;
mod lateness;
mod list;

use api_types::Time;
use serde::Deserialize;
use serde_json::Value;

use super::FormOutcome;
use crate::context::{PageContext, decoded, encoded};
use crate::error::PageError;
use crate::page::Page;

/// Not a valid name of a collection, so it cannot collide with one.
const NEW: &str = "~new";

pub(super) async fn show(ctx: &PageContext, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => list::show(ctx).await,
        [NEW] => edit::new_page(ctx).await,
        [collection] => collection::show(ctx, &decoded(collection)?).await,
        [collection, job] => job::show(ctx, &JobAddress::of(collection, job)?).await,
        [collection, job, "edit"] => edit::show(ctx, &JobAddress::of(collection, job)?).await,
        _ => Err(PageError::NotFound),
    }
}

pub(super) async fn act(ctx: &PageContext, rest: &[&str]) -> Result<FormOutcome, PageError> {
    match rest {
        [] => collection::make(ctx).await,
        [NEW] => edit::act(ctx, None).await,
        [collection, what] => collection::act(ctx, &decoded(collection)?, what).await,
        [collection, job, "edit"] => edit::act(ctx, Some(&JobAddress::of(collection, job)?)).await,
        [collection, job, what] => job::act(ctx, &JobAddress::of(collection, job)?, what).await,
        _ => Err(PageError::NotFound),
    }
}

/// The address of a job.
struct JobAddress {
    collection: String,
    job: String,
}

impl JobAddress {
    fn of(collection: &str, job: &str) -> Result<JobAddress, PageError> {
        Ok(JobAddress { collection: decoded(collection)?, job: decoded(job)? })
    }

    fn api(&self) -> String {
        format!("{}/jobs/{}", collection_api(&self.collection), encoded(&self.job))
    }

    fn address(&self) -> String {
        format!("{}/{}", collection_address(&self.collection), encoded(&self.job))
    }
}

fn collection_api(name: &str) -> String {
    format!("/v1/collections/{}", encoded(name))
}

fn collection_address(name: &str) -> String {
    format!("/ui/jobs/{}", encoded(name))
}

#[derive(Debug, Deserialize)]
struct CollectionList {
    items: Vec<CollectionDocument>,
}

/// A collection as the API shows it.
#[derive(Debug, Deserialize)]
struct CollectionDocument {
    /// Its name in paths.
    collection: String,
    jobs: u64,
    properties: Value,
}

impl CollectionDocument {
    fn state(&self) -> &str {
        self.properties.get("state").and_then(Value::as_str).unwrap_or_default()
    }

    fn plan(&self) -> &str {
        self.properties.pointer("/sku/name").and_then(Value::as_str).unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
struct JobPage {
    items: Vec<JobDocument>,
    next: Option<String>,
}

/// A job as the API shows it.
#[derive(Debug, Deserialize)]
struct JobDocument {
    name: String,
    collection: String,
    properties: Value,
}

impl JobDocument {
    fn place(&self) -> JobAddress {
        JobAddress { collection: self.collection.clone(), job: self.name.clone() }
    }

    fn state(&self) -> &str {
        self.properties.get("state").and_then(Value::as_str).unwrap_or_default()
    }

    fn time(&self, name: &str) -> Option<Time> {
        self.properties.pointer(&format!("/status/{name}"))?.as_str()?.parse().ok()
    }

    fn count(&self, name: &str) -> u64 {
        self.properties.pointer(&format!("/status/{name}")).and_then(Value::as_u64).unwrap_or(0)
    }
}

#[derive(Debug, Deserialize)]
struct AttemptPage {
    items: Vec<HistoryAttempt>,
    next: Option<String>,
}

/// An attempt of the history.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryAttempt {
    start_time: Time,
    end_time: Time,
    expected_execution_time: Time,
    action_name: String,
    status: String,
    #[serde(default)]
    message: String,
    retry_count: u64,
    repeat_count: u64,
    run: String,
    by_hand: bool,
}

impl HistoryAttempt {
    /// How late it started.
    fn late_ms(&self) -> f64 {
        (self.start_time.0.0 - self.expected_execution_time.0.0) as f64
    }

    fn took_ms(&self) -> f64 {
        (self.end_time.0.0 - self.start_time.0.0) as f64
    }
}

/// The next firings of a job.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Firings {
    occurrences: Vec<Time>,
    #[serde(default)]
    clock_changes: Vec<ClockChangeView>,
}

#[derive(Debug, Deserialize)]
struct ClockChangeView {
    occurrence: Time,
    change: String,
}
