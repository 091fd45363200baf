//! Handing in requests by batches, until each is accepted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use api_types::{BatchAnswer, Limits};
use hyper::StatusCode;
use indicatif::ProgressBar;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::backlog::STALL_MAX;
use super::request;
use super::subject::Subject;
use crate::client::{ApiClient, Call};

const BATCH_REQUESTS: usize = 1000;
const CONNECTIONS: u32 = 4;
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// Requests that go into one batch.
pub async fn batch_size(client: &mut ApiClient) -> anyhow::Result<usize> {
    let limits: Limits = client.get("/v1/limits").await?;
    Ok(BATCH_REQUESTS.min(limits.batch_requests_max).min(limits.batch_bytes_max / 512).max(1))
}

/// Submits this many requests over several connections; the bar counts them.
pub async fn all(
    subject: &Subject,
    workflow: &'static str,
    requests: u32,
    bar: &ProgressBar,
) -> anyhow::Result<()> {
    let batch = u32::try_from(batch_size(&mut subject.client()?).await?)?;
    let next = Arc::new(AtomicU32::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (mut client, next, bar) = (subject.client()?, next.clone(), bar.clone());
        workers.spawn(async move {
            loop {
                let from = next.fetch_add(batch, Ordering::Relaxed);
                if from >= requests {
                    return anyhow::Ok(());
                }
                let until = from.saturating_add(batch).min(requests);
                let ids = (from..until).map(|number| format!("bench-{number}")).collect();
                post(&mut client, workflow, ids).await?;
                bar.inc(u64::from(until - from));
            }
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended.context("handing in requests")??;
    }
    Ok(())
}

/// Posts a batch until each of its requests is accepted.
pub async fn post(client: &mut ApiClient, workflow: &str, mut ids: Vec<String>) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !ids.is_empty() {
        ensure!(begun.elapsed() < STALL_MAX, "the server refuses requests for too long");
        let mut body = Vec::with_capacity(ids.len() * (request::REQUEST_BYTES + 1));
        for id in &ids {
            body.extend_from_slice(&request::delivery(id));
            body.push(b'\n');
        }
        let call = Call::post(format!("/v1/workflows/{workflow}/runs:batch"), "application/x-ndjson", body);
        let answer = client.try_send(call).await?;
        if is_overload(answer.status.as_u16()) {
            tokio::time::sleep(REFUSED_PAUSE).await;
            continue;
        }
        let answer = answer.success()?;
        let lines = serde_json::Deserializer::from_slice(&answer.body).into_iter::<BatchAnswer>();
        let mut refused = Vec::new();
        for line in lines {
            let line = line.context("reading the answers of a batch")?;
            let id = ids.get(line.line - 1).context("an answer to a line that was not sent")?;
            match line.status {
                200..300 => {}
                status if is_overload(status) => refused.push(id.clone()),
                status => bail!("request {id} was refused with {status}: {:?}", line.problem),
            }
        }
        if !refused.is_empty() {
            tokio::time::sleep(REFUSED_PAUSE).await;
        }
        ids = refused;
    }
    Ok(())
}

fn is_overload(status: u16) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE
}
