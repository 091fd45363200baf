//! Jobs that fire every second all through the faults, and a comparison of planned occurrences and received calls.

use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use bytes::Bytes;
use hyper::Method;
use serde_json::Value;

use crate::client::Client;
use crate::cluster::settle;
use crate::firings::{Plan, check_job, jobs_to_import};
use crate::report::Closing;
use crate::target::Target;

const COLLECTION: &str = "/v1/collections/burst";
/// From now to the first firing: the jobs must be there by then.
const LEAD_SECS: u64 = 5;
/// How long jobs may take to come to their end after all faults, beyond what is planned.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Jobs {
    count: u32,
    plan: Plan,
}

impl Jobs {
    /// So many, each firing every second for so many seconds.
    pub async fn start(
        count: u32,
        seconds: u64,
        addresses: &[SocketAddr],
        target: SocketAddr,
    ) -> anyhow::Result<Jobs> {
        let plan = Plan { first: now()?.as_secs() + LEAD_SECS, count: seconds };
        let import = Bytes::from(jobs_to_import(count, &plan, target)?.to_string());
        let path = format!("{COLLECTION}/import");
        let imported = settle::asked(addresses, async |client: &mut Client| {
            client.send(Method::POST, &path, "application/json", import.clone()).await?.success().map(drop)
        });
        imported.await.context("importing the jobs")?;
        Ok(Jobs { count, plan })
    }

    /// Waits until all have come to their end, and compares.
    pub async fn judge(
        &self,
        addresses: &[SocketAddr],
        target: &Target,
        closing: &mut Closing,
    ) -> anyhow::Result<()> {
        let planned = Duration::from_secs(self.plan.first + self.plan.count).saturating_sub(now()?);
        let left = wait_for_the_end(addresses, planned + PATIENCE).await?;
        let calls = target.calls();
        let mut findings = Vec::new();
        let mut fired = 0;
        for n in 0..self.count {
            let path = format!("/job-{n}");
            let keys = calls.get(&path).map(|keys| keys.keys().cloned().collect()).unwrap_or_default();
            fired += check_job(&path, &keys, &self.plan, &mut findings);
        }
        if left > 0 {
            findings.push(format!("{left} jobs have not come to their end"));
        }
        closing.count(u64::from(self.count) * self.plan.count, "planned");
        closing.count(fired, "fired under their keys");
        findings.into_iter().for_each(|finding| closing.add_finding(finding));
        Ok(())
    }
}

/// Jobs that are still enabled after the timeout.
async fn wait_for_the_end(addresses: &[SocketAddr], patience: Duration) -> anyhow::Result<usize> {
    let began = Instant::now();
    loop {
        let left = settle::asked(addresses, async |client: &mut Client| {
            let answer =
                client.get(&format!("{COLLECTION}/jobs?state=enabled&limit=1000")).await?.success()?;
            let jobs: Value = serde_json::from_slice(&answer.body)?;
            Ok(jobs["items"].as_array().map_or(0, Vec::len))
        });
        let left = left.await.context("asking for jobs")?;
        if left == 0 || began.elapsed() > patience {
            return Ok(left);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

pub fn now() -> anyhow::Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}
