//! Loading jobs: whole collections by import, over several connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, ensure};
use indicatif::ProgressBar;
use serde::Deserialize;
use tokio::task::JoinSet;

use super::super::subject::Subject;
use crate::client::{self, Call};

/// Jobs of a collection: as many as the plan P20Premium has.
pub const COLLECTION_JOBS: u32 = 1000;

const CONNECTIONS: u32 = 8;

/// Collections of one kind of job.
#[derive(Clone)]
pub struct Load {
    /// The start of their names.
    pub name: &'static str,
    pub jobs: u32,
    /// Writes the job of a number as JSON, without its name.
    pub properties: Arc<dyn Fn(u32) -> String + Send + Sync>,
}

impl Load {
    fn collections(&self) -> u32 {
        self.jobs.div_ceil(COLLECTION_JOBS)
    }

    /// The body of an import. Jobs that follow one another are in different collections, so that all partitions
    /// have some at any time.
    fn document(&self, collection: u32) -> String {
        let mut text = r#"{"collection":{"properties":{"sku":{"name":"P20Premium"}}},"jobs":["#.to_owned();
        let numbers = (collection..self.jobs).step_by(self.collections() as usize);
        for (place, number) in numbers.enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let properties = (self.properties)(number);
            text += &format!(r#"{comma}{{"name":"{}-{number}","properties":{properties}}}"#, self.name);
        }
        text + "]}"
    }

    /// Puts all of them into the server.
    pub async fn run(self, subject: &Subject, bar: &ProgressBar) -> anyhow::Result<()> {
        let next = Arc::new(AtomicU32::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..CONNECTIONS.min(self.collections()) {
            let (load, next, bar) = (self.clone(), next.clone(), bar.clone());
            let mut client = subject.client()?;
            workers.spawn(async move {
                loop {
                    let collection = next.fetch_add(1, Ordering::Relaxed);
                    if collection >= load.collections() {
                        return anyhow::Ok(());
                    }
                    let name = format!("{}-{collection}", load.name);
                    let path = client::path("/v1/collections/{}/import", &[&name]);
                    let body = load.document(collection);
                    client.send(Call::post(path, "application/json", body)).await?;
                    bar.inc(u64::from(COLLECTION_JOBS));
                }
            });
        }
        while let Some(ended) = workers.join_next().await {
            ended.context("loading jobs")??;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Collections {
    items: Vec<Collection>,
}

#[derive(Deserialize)]
struct Collection {
    jobs: u32,
}

/// Makes sure that the server has all jobs.
pub async fn check(subject: &Subject, jobs: u32) -> anyhow::Result<()> {
    let collections: Collections = subject.client()?.get("/v1/collections").await?;
    let held: u32 = collections.items.iter().map(|collection| collection.jobs).sum();
    ensure!(held == jobs, "the server holds {held} jobs of {jobs}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_dealt_out_in_turns_and_none_is_forgotten() {
        let load = Load { name: "j", jobs: 2500, properties: Arc::new(|number| number.to_string()) };
        let mut all = Vec::new();
        for collection in 0..load.collections() {
            let text = load.document(collection);
            let document: serde_json::Value = serde_json::from_str(&text).unwrap();
            let jobs = document["jobs"].as_array().unwrap();
            assert!(jobs.len() <= COLLECTION_JOBS as usize);
            all.extend(jobs.iter().map(|job| job["properties"].as_u64().unwrap()));
        }
        all.sort_unstable();
        assert_eq!(all, (0..2500).collect::<Vec<u64>>());
    }
}
