//! Jobs and their collections: what they do and when, what became of it, and a form to write them.

mod collection;
mod document;
mod edit;
mod form;
mod history;
mod job;
mod lateness;
mod list;
mod words;

use api_types::Time;
use serde::Deserialize;
use serde_json::Value;

use super::Acted;
use crate::page::Page;
use crate::trouble::Trouble;
use crate::visit::{Visit, decoded, encoded};

/// No collection has such a name.
const NEW: &str = "~new";

pub(super) async fn show(visit: &Visit, rest: &[&str]) -> Result<Page, Trouble> {
    match rest {
        [] => list::show(visit).await,
        [NEW] => edit::new_page(visit).await,
        [collection] => collection::show(visit, &decoded(collection)?).await,
        [collection, job] => job::show(visit, &Place::of(collection, job)?).await,
        [collection, job, "edit"] => edit::show(visit, &Place::of(collection, job)?).await,
        _ => Err(Trouble::NotFound),
    }
}

pub(super) async fn act(visit: &Visit, rest: &[&str]) -> Result<Acted, Trouble> {
    match rest {
        [] => collection::make(visit).await,
        [NEW] => edit::act(visit, None).await,
        [collection, what] => collection::act(visit, &decoded(collection)?, what).await,
        [collection, job, "edit"] => edit::act(visit, Some(&Place::of(collection, job)?)).await,
        [collection, job, what] => job::act(visit, &Place::of(collection, job)?, what).await,
        _ => Err(Trouble::NotFound),
    }
}

/// A job: where it is.
struct Place {
    collection: String,
    job: String,
}

impl Place {
    fn of(collection: &str, job: &str) -> Result<Place, Trouble> {
        Ok(Place { collection: decoded(collection)?, job: decoded(job)? })
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
struct Collections {
    items: Vec<Collection>,
}

/// A collection as the API shows it.
#[derive(Debug, Deserialize)]
struct Collection {
    /// How it is named in paths.
    collection: String,
    jobs: u64,
    properties: Value,
}

impl Collection {
    fn state(&self) -> &str {
        self.properties.get("state").and_then(Value::as_str).unwrap_or_default()
    }

    fn plan(&self) -> &str {
        self.properties.pointer("/sku/name").and_then(Value::as_str).unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
struct JobPage {
    items: Vec<Job>,
    next: Option<String>,
}

/// A job as the API shows it.
#[derive(Debug, Deserialize)]
struct Job {
    name: String,
    collection: String,
    properties: Value,
}

impl Job {
    fn place(&self) -> Place {
        Place { collection: self.collection.clone(), job: self.name.clone() }
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
    items: Vec<Attempt>,
    next: Option<String>,
}

/// An attempt of the history.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attempt {
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

impl Attempt {
    /// How long after its time it began.
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
    clock_changes: Vec<ClockChange>,
}

#[derive(Debug, Deserialize)]
struct ClockChange {
    occurrence: Time,
    change: String,
}
