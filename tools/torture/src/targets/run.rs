//! Watching what becomes of a call to a hostile target, as a step of a run and as an occurrence of a job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use hyper::Method;
use serde_json::{Value, json};
use types::RunStatus;

use super::Stage;
use super::cases::{Expected, TargetAddress, WorkflowShape};
use crate::client::Client;

/// How long a run may take to come to its ending: far more than two attempts of a second and the pauses asked for.
const PATIENCE: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(50);
/// Beyond this an attempt has not kept to its deadline of a second, however busy the machine is.
const ATTEMPT_MS_MAX: i64 = 15_000;

/// One run of work that has nothing to do with the targets.
pub async fn well(client: &mut Client) -> anyhow::Result<()> {
    let posted =
        client.send(Method::POST, "/v1/workflows/well/runs", "application/json", "{}".into()).await?;
    let run = posted.success()?.run()?;
    let shown = settled(client, &run.id).await?;
    anyhow::ensure!(shown["status"] == "completed", "a run came to {shown}");
    Ok(())
}

/// Posts a run whose steps call the target, and says what was not as expected.
pub async fn watch_run(stage: Arc<Stage>, mut client: Client) -> anyhow::Result<Vec<String>> {
    let path = format!("/v1/workflows/{}/runs", stage.workflow_name());
    let posted = client.send(Method::POST, &path, "application/json", "{}".into()).await?;
    let id = posted.success()?.run()?.id;
    let expected = &stage.case.expected;
    let mut findings = Vec::new();
    if is_wait(expected) {
        match waiting(&mut client, &id, stage.called().0).await? {
            Some(()) => {
                let cancel = format!("/v1/runs/{id}/cancel");
                client.send(Method::POST, &cancel, "", Bytes::new()).await?.success()?;
            }
            None => findings.push("it does not wait".to_owned()),
        }
    }
    let shown = settled(&mut client, &id).await?;
    if shown["status"] != expected.ending.as_str() {
        findings.push(format!("it came to {}, not {}", shown["status"], expected.ending.as_str()));
    }
    findings.extend(check_timeline(&stage, &shown));
    findings.extend(check_seen(&stage, &id));
    Ok(findings.into_iter().map(|what| format!("{}: {what}: {shown}", stage.case.name)).collect())
}

/// Writes a job that calls the target once, and says what was not as expected.
pub async fn watch_job(stage: Arc<Stage>, mut client: Client) -> anyhow::Result<Vec<String>> {
    let path = format!("/v1/collections/targets/jobs/{}", stage.case.name);
    let kind = if stage.url.starts_with("https") { "https" } else { "http" };
    let job = json!({ "properties": { "action": {
        "type": kind,
        "request": { "method": "POST", "uri": format!("{}/", stage.url) },
        "retryPolicy": { "retryType": "fixed", "retryInterval": "00:00:00.1000000", "retryCount": 1 },
    } } });
    let put = client.send(Method::PUT, &path, "application/json", Bytes::from(job.to_string())).await?;
    put.success().with_context(|| format!("writing the job {}", stage.case.name))?;
    let expected = if stage.case.expected.job_succeeds == Some(true) { "completed" } else { "faulted" };
    let began = Instant::now();
    loop {
        let shown: Value = serde_json::from_slice(&client.get(&path).await?.success()?.body)?;
        let state = shown["properties"]["state"].as_str().unwrap_or("").to_ascii_lowercase();
        if state == expected {
            return Ok(Vec::new());
        }
        if state != "enabled" || began.elapsed() > PATIENCE {
            return Ok(vec![format!("{}: the job is {state}, not {expected}: {shown}", stage.case.name)]);
        }
        tokio::time::sleep(POLL).await;
    }
}

/// A wait that is longer than this can watch.
fn is_wait(expected: &Expected) -> bool {
    expected.wait_ms.0 > PATIENCE.as_millis() as i64
}

/// Waits until the step waits for its next attempt; none if the run ends before.
async fn waiting(client: &mut Client, id: &str, step: &str) -> anyhow::Result<Option<()>> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let shown = show(client, id).await?;
        let steps = shown["steps"].as_array().cloned().unwrap_or_default();
        if steps.iter().any(|each| each["name"] == step && each["state"] == "retrying") {
            return Ok(Some(()));
        }
        if is_settled(&shown) {
            return Ok(None);
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("run {id} neither waits nor ends")
}

/// The run once it has ended or is parked.
async fn settled(client: &mut Client, id: &str) -> anyhow::Result<Value> {
    let began = Instant::now();
    loop {
        let shown = show(client, id).await?;
        if is_settled(&shown) || began.elapsed() > PATIENCE {
            return Ok(shown);
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn show(client: &mut Client, id: &str) -> anyhow::Result<Value> {
    Ok(serde_json::from_slice(&client.get(&format!("/v1/runs/{id}")).await?.success()?.body)?)
}

fn is_settled(shown: &Value) -> bool {
    let status: Option<RunStatus> = serde_json::from_value(shown["status"].clone()).ok();
    status.is_some_and(|status| status.is_final() || status == RunStatus::Parked)
}

/// Holds what the timeline says of the calls to the target against what is expected.
fn check_timeline(stage: &Stage, shown: &Value) -> Vec<String> {
    let expected = &stage.case.expected;
    let (step, work) = stage.called();
    let timeline = shown["timeline"].as_array().cloned().unwrap_or_default();
    let of = |what: &str, step: &str, work: &str| -> Vec<Value> {
        let is = |moment: &&Value| moment["what"] == what && moment["step"] == step && moment["work"] == work;
        timeline.iter().filter(is).cloned().collect()
    };
    let (started, ended) = (of("started", step, work), of("ended", step, work));
    let mut findings = Vec::new();
    if started.len() != expected.attempts as usize {
        findings.push(format!("{} attempts began, not {}", started.len(), expected.attempts));
    }
    if stage.case.shape == WorkflowShape::CallTwice && of("started", "again", "do").len() != 1 {
        findings.push("the second call was hurt by the answer to the first".to_owned());
    }
    let Some(first) = ended.first() else {
        findings.push("no attempt ended".to_owned());
        return findings;
    };
    if !expected.outcomes.iter().any(|outcome| first["outcome"] == *outcome) {
        findings.push(format!("the first attempt was {}, not {:?}", first["outcome"], expected.outcomes));
    }
    if expected.status.is_some_and(|status| first["status"] != status) {
        findings.push(format!("the first answer was {}", first["status"]));
    }
    if !first["detail"].as_str().unwrap_or("").contains(expected.detail) {
        findings.push(format!("the reason does not say {:?}", expected.detail));
    }
    for (started, ended) in started.iter().zip(&ended) {
        if span_ms(started, ended).is_none_or(|ms| ms > ATTEMPT_MS_MAX) {
            findings.push("an attempt did not keep to its deadline".to_owned());
        }
    }
    if let Some(retry_at) = first["retry_at"].as_str() {
        let wait = span_ms(first, &json!({ "at": retry_at })).unwrap_or(-1);
        let (least, most) = expected.wait_ms;
        if !(least..=most).contains(&wait) {
            findings.push(format!("the second attempt was put off by {wait} ms, not {least} to {most}"));
        }
    } else if expected.attempts > 1 || is_wait(expected) {
        findings.push("no second attempt was planned".to_owned());
    }
    findings
}

fn span_ms(from: &Value, to: &Value) -> Option<i64> {
    let time = |moment: &Value| moment["at"].as_str()?.parse::<jiff::Timestamp>().ok();
    Some(time(to)?.as_millisecond() - time(from)?.as_millisecond())
}

/// What the target itself saw of the run: never more than one request per attempt, and no secret in clear.
fn check_seen(stage: &Stage, id: &str) -> Vec<String> {
    let seen = stage.hostile.seen();
    let mut findings = Vec::new();
    let attempts = stage.case.expected.attempts;
    for (key, count) in seen.keys.iter().filter(|(key, _)| key.starts_with(id)) {
        if *count > attempts {
            findings.push(format!("{count} requests came under {key} in {attempts} attempts"));
        }
    }
    let clear = String::from_utf8_lossy(&seen.clear).to_ascii_lowercase();
    if stage.case.place == TargetAddress::HttpsWithoutTls && clear.contains("idempotency-key") {
        findings.push("the call was sent in clear".to_owned());
    }
    findings
}
