//! SIGKILL in the middle of bursts of firings, restart, and a comparison of planned occurrences and received calls.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use bytes::Bytes;
use clap::Args;
use hyper::Method;
use serde_json::{Value, json};

use crate::client::Client;
use crate::dice::Dice;
use crate::process::Sortie;
use crate::report::{Closing, RoundResult};
use crate::rig::{Rig, TOKEN};
use crate::target::{Calls, Target};

const COLLECTION: &str = "/v1/collections/burst";
/// From now to the first burst: the jobs must be there by then.
const LEAD: Duration = Duration::from_secs(3);
/// How long jobs may take to come to their end after the last kill.
const PATIENCE: Duration = Duration::from_secs(120);

/// Kill the server while jobs fire every second, start it again, and look for lost and doubled firings
#[derive(Args)]
pub struct Firings {
    /// How often to kill
    #[arg(long, default_value_t = 30)]
    n: u32,
    /// Jobs that fire every second
    #[arg(long, default_value_t = 100)]
    jobs: u32,
    #[command(flatten)]
    rig: Rig,
}

/// What every job is to do: fire at each of these seconds.
pub struct Plan {
    pub first: u64,
    pub count: u64,
}

impl Firings {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        ensure!(self.n > 0 && self.jobs > 0, "--n and --jobs are at least 1");
        self.rig.within("firings", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("firings");
        let mut dice = Dice::new(seed);
        let target = Target::start(seed).await?;
        let sortie = Sortie::new(&self.rig.bin, directory, TOKEN, &mut dice)?;
        let mut running = sortie.start()?;
        running.ready().await?;
        let plan = Plan { first: now()?.as_secs() + LEAD.as_secs(), count: u64::from(self.n) + 3 };
        let mut client = Client::new(sortie.address, Some(TOKEN));
        let import = Bytes::from(jobs_to_import(self.jobs, &plan, target.address)?.to_string());
        let sent =
            client.send(Method::POST, &format!("{COLLECTION}/import"), "application/json", import).await?;
        sent.success().context("importing the jobs")?;
        tokio::time::sleep(Duration::from_secs(plan.first).saturating_sub(now()?)).await;
        for _ in 0..self.n {
            // About one kill per burst, most of them while it lasts.
            tokio::time::sleep(dice.milliseconds(20, 900)).await;
            running.kill()?;
            running = sortie.start()?;
            running.ready().await?;
        }
        let left = wait_for_the_end(&mut client).await?;
        self.judge(&plan, &target.calls(), left, &mut closing);
        Ok(closing.print(seed))
    }

    fn judge(&self, plan: &Plan, calls: &Calls, left: usize, closing: &mut Closing) {
        let mut findings = Vec::new();
        let mut fired = 0;
        for n in 0..self.jobs {
            let path = format!("/job-{n}");
            let keys = calls.get(&path).map(|keys| keys.keys().cloned().collect()).unwrap_or_default();
            fired += check_job(&path, &keys, plan, &mut findings);
        }
        if left > 0 {
            findings.push(format!("{left} jobs have not ended"));
        }
        closing.count(self.n, "kills");
        closing.count(u64::from(self.jobs) * plan.count, "planned");
        closing.count(fired, "fired under their keys");
        findings.into_iter().for_each(|finding| closing.add_finding(finding));
    }
}

/// Jobs named by their numbers, each calling a path of its own at the target as planned.
pub fn jobs_to_import(jobs: u32, plan: &Plan, target: SocketAddr) -> anyhow::Result<Value> {
    let start = jiff::Timestamp::from_second(plan.first.try_into()?)?.to_string();
    let job = |n: u32| {
        json!({ "name": format!("job-{n}"), "properties": {
            "startTime": start,
            "action": {
                "type": "http",
                "request": { "uri": format!("http://{}/job-{n}", target), "method": "POST" },
                "retryPolicy": { "retryType": "fixed", "retryInterval": "00:00:00.2000000", "retryCount": 20 },
            },
            "recurrence": { "cron": "* * * * * *", "count": plan.count },
            "missed": "all",
            "overlap": "allow",
        }})
    };
    Ok(json!({ "collection": {}, "jobs": (0..jobs).map(job).collect::<Vec<_>>() }))
}

/// A key is the job's own id, the planned time in steps of 100 ns, and the step. Counts those that were planned.
pub fn check_job(path: &str, keys: &BTreeSet<String>, plan: &Plan, findings: &mut Vec<String>) -> u64 {
    let mut jobs = BTreeSet::new();
    let mut times = BTreeSet::new();
    for key in keys {
        let parts = key.strip_suffix("/action/do").and_then(|run| run.split_once('.'));
        match parts.and_then(|(job, ticks)| Some((job, ticks.parse::<u64>().ok()?))) {
            Some((job, ticks)) => {
                jobs.insert(job.to_owned());
                times.insert(ticks);
            }
            None => findings.push(format!("{path}: an unknown key {key}")),
        }
    }
    let planned: BTreeSet<u64> = (0..plan.count).map(|k| (plan.first + k) * 10_000_000).collect();
    if jobs.len() > 1 {
        findings.push(format!("{path}: the job changed its id"));
    }
    for lost in planned.difference(&times) {
        findings.push(format!("{path}: {lost} was lost"));
    }
    for invented in times.difference(&planned) {
        findings.push(format!("{path}: {invented} was never planned"));
    }
    times.intersection(&planned).count() as u64
}

/// Jobs that are still enabled after the timeout.
async fn wait_for_the_end(client: &mut Client) -> anyhow::Result<usize> {
    let began = Instant::now();
    loop {
        let answer = client.get(&format!("{COLLECTION}/jobs?state=enabled&limit=1000")).await?.success()?;
        let jobs: Value = serde_json::from_slice(&answer.body)?;
        let left = jobs["items"].as_array().map_or(0, Vec::len);
        if left == 0 || began.elapsed() > PATIENCE {
            return Ok(left);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn now() -> anyhow::Result<Duration> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_or_invented_is_found() {
        let plan = Plan { first: 100, count: 2 };
        let key = |second: u64| format!("abc.{}/action/do", second * 10_000_000);
        let mut findings = Vec::new();
        assert_eq!(check_job("/j", &BTreeSet::from([key(100), key(101)]), &plan, &mut findings), 2);
        assert!(findings.is_empty(), "{findings:?}");
        assert_eq!(check_job("/j", &BTreeSet::from([key(100), key(102)]), &plan, &mut findings), 1);
        assert_eq!(findings.len(), 2, "{findings:?}");
        check_job("/j", &BTreeSet::from(["abc.by-hand.1/action/do".to_owned()]), &plan, &mut findings);
        assert!(findings.iter().any(|finding| finding.contains("unknown key")), "{findings:?}");
    }
}
