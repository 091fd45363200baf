//! What a directory contained before it was damaged, and the comparison of an opened one with it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Client, ClientResponse};

/// How long waiting requests may take to be executed.
const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(5);
/// The job that is run to see that its secret can still be opened.
pub const SECRET_JOB: &str = "/v1/collections/rot/jobs/secret";
/// Ended runs that are posted again: their ids must be known.
const REPEATED: usize = 8;

/// All that was acknowledged.
#[derive(Default, Serialize, Deserialize)]
pub struct Inventory {
    pub runs: Vec<KnownRun>,
    /// What is at these paths: workflows, collections, jobs, histories.
    pub pages: Vec<(String, String)>,
}

/// A run that was acknowledged.
#[derive(Clone, Serialize, Deserialize)]
pub struct KnownRun {
    pub id: String,
    pub workflow: String,
    /// What was posted.
    pub body: String,
    pub expected: ExpectedState,
    /// As the server showed it; nothing for one that waits.
    pub shown: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExpectedState {
    Ended,
    Parked,
    /// Waits for its next attempt, an hour away.
    Running,
    /// In the inbox; executed once the directory is opened.
    Waiting,
}

/// What an opened directory says.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Examined {
    /// Why partitions are stopped.
    pub stopped: Vec<String>,
    /// Responses that say that the data is not available now.
    pub withheld: Vec<String>,
    /// Lost or changed, without an error.
    pub wrong: Vec<String>,
}

impl Inventory {
    /// Records how everything is shown. The directory must be intact.
    pub async fn fill(&mut self, address: SocketAddr, token: Option<&str>) -> anyhow::Result<()> {
        let mut client = Client::new(address, token);
        for run in self.runs.iter_mut().filter(|run| run.expected != ExpectedState::Waiting) {
            let answer = client.get(&format!("/v1/runs/{}", run.id)).await?.success()?;
            run.shown = String::from_utf8(answer.body.to_vec())?;
            let shown: Value = serde_json::from_str(&run.shown)?;
            let sent: Value = serde_json::from_str(&run.body)?;
            ensure!(shown["request"] == sent, "run {} is not what was sent", run.id);
        }
        for (path, page) in &mut self.pages {
            let answer = client.get(path).await?.success().with_context(|| format!("reading {path}"))?;
            *page = String::from_utf8(answer.body.to_vec())?;
        }
        Ok(())
    }

    /// Compares a server that was opened on the directory with the inventory.
    pub async fn examine(&self, address: SocketAddr, token: Option<&str>) -> anyhow::Result<Examined> {
        let mut examination =
            Examination { client: Client::new(address, token), examined: Examined::default() };
        examination.partitions().await?;
        for (path, page) in &self.pages {
            examination.page(path, page).await?;
        }
        for run in &self.runs {
            examination.run(run).await?;
        }
        for run in self.runs.iter().filter(|run| run.expected == ExpectedState::Ended).take(REPEATED) {
            examination.repeat(run).await?;
        }
        examination.list(&self.runs).await?;
        examination.secret().await?;
        Ok(examination.examined)
    }
}

struct Examination {
    client: Client,
    examined: Examined,
}

impl Examination {
    async fn partitions(&mut self) -> anyhow::Result<()> {
        let answer = self.client.get("/readyz").await?;
        let ready: Value = serde_json::from_slice(&answer.body)?;
        let stopped = ready["stopped"].as_array().cloned().unwrap_or_default();
        self.examined.stopped = stopped.iter().map(Value::to_string).collect();
        Ok(())
    }

    async fn page(&mut self, path: &str, page: &str) -> anyhow::Result<()> {
        let answer = self.client.get(path).await?;
        if let Some(body) = self.body_or_record(path, &answer)
            && body != page
        {
            self.examined.wrong.push(format!("{path} was {page} and is {body}"));
        }
        Ok(())
    }

    async fn run(&mut self, run: &KnownRun) -> anyhow::Result<()> {
        let path = format!("/v1/runs/{}", run.id);
        let began = Instant::now();
        loop {
            let answer = self.client.get(&path).await?;
            let Some(body) = self.body_or_record(&path, &answer) else { return Ok(()) };
            if run.expected != ExpectedState::Waiting {
                if body != run.shown {
                    self.examined.wrong.push(format!("{path} was {} and is {body}", run.shown));
                }
                return Ok(());
            }
            let shown: Value = serde_json::from_str(&body)?;
            if shown["status"] == "completed" {
                let sent: Value = serde_json::from_str(&run.body)?;
                if shown["request"] != sent || shown["workflow"] != run.workflow.as_str() {
                    self.examined.wrong.push(format!("{path}: {sent} was sent, and {body} was done"));
                }
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                self.examined.wrong.push(format!("{path} waited and was not executed: {body}"));
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The same request again must find the existing run, or be refused.
    async fn repeat(&mut self, run: &KnownRun) -> anyhow::Result<()> {
        let path = format!("/v1/workflows/{}/runs/{}", run.workflow, run.id);
        let body = Bytes::from(run.body.clone());
        let answer = self.client.send(Method::PUT, &path, "application/json", body).await?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::SERVICE_UNAVAILABLE => {
                self.examined.withheld.push(format!("{path}: {}", answer.text()));
            }
            status => {
                let what = format!("{path} was done, and posted again it is {status} {}", answer.text());
                self.examined.wrong.push(what);
            }
        }
        Ok(())
    }

    /// A list is complete unless a partition is stopped.
    async fn list(&mut self, runs: &[KnownRun]) -> anyhow::Result<()> {
        let mut listed = std::collections::BTreeSet::new();
        let mut path = "/v1/runs?limit=1000".to_owned();
        loop {
            let answer = self.client.get(&path).await?;
            let Some(body) = self.body_or_record(&path, &answer) else { return Ok(()) };
            let page: Value = serde_json::from_str(&body)?;
            let items = page["items"].as_array().context("a page has items")?;
            listed.extend(items.iter().filter_map(|item| item["id"].as_str()).map(str::to_owned));
            let Some(next) = page["next"].as_str() else { break };
            path = format!("/v1/runs?limit=1000&cursor={next}");
        }
        // Damage that a read finds stops the partition; from then on its runs are not listed.
        self.partitions().await?;
        let missing: Vec<_> = runs.iter().filter(|run| !listed.contains(&run.id)).collect();
        if !missing.is_empty() && self.examined.stopped.is_empty() {
            let what = format!("{} runs are not listed, {} first", missing.len(), missing[0].id);
            self.examined.wrong.push(what);
        }
        Ok(())
    }

    /// Runs the job whose call needs a secret.
    async fn secret(&mut self) -> anyhow::Result<()> {
        let path = format!("{SECRET_JOB}/run");
        let answer = self.client.send(Method::POST, &path, "", Bytes::new()).await?;
        let Some(body) = self.body_or_record(&path, &answer) else { return Ok(()) };
        let started: Value = serde_json::from_str(&body)?;
        let id = ["id", "run"].iter().find_map(|name| started[name].as_str()).context("a run has an id")?;
        let path = format!("/v1/runs/{id}");
        let began = Instant::now();
        loop {
            let answer = self.client.get(&path).await?;
            let Some(body) = self.body_or_record(&path, &answer) else { return Ok(()) };
            let shown: Value = serde_json::from_str(&body)?;
            let status = shown["status"].as_str().unwrap_or("");
            if status == "completed" {
                return Ok(());
            }
            if body.contains("unsealed") {
                self.examined.withheld.push(format!("the secret of {SECRET_JOB}: {body}"));
                return Ok(());
            }
            if status == "undone" || status == "parked" || began.elapsed() > PATIENCE {
                self.examined.wrong.push(format!("the secret of {SECRET_JOB} is another one: {body}"));
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// The body of a success; otherwise the response is recorded.
    fn body_or_record(&mut self, path: &str, answer: &ClientResponse) -> Option<String> {
        match answer.status {
            status if status.is_success() => Some(String::from_utf8_lossy(&answer.body).into_owned()),
            StatusCode::SERVICE_UNAVAILABLE => {
                self.examined.withheld.push(format!("{path}: {}", answer.text()));
                None
            }
            status => {
                self.examined.wrong.push(format!("{path} is answered {status} {}", answer.text()));
                None
            }
        }
    }
}
