//! A data directory with something of everything in it, made by the real binary.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use hyper::Method;
use serde_json::{Value, json};
use types::{Key, PartitionId};

use super::damage::{self, Files};
use super::inventory::{ExpectedState, Inventory, KnownRun, SECRET_JOB};
use super::{PARTITIONS, target};
use crate::client::Client;
use crate::dice::Dice;
use crate::process::{ProcessEnvironment, Sortie};
use crate::rig::TOKEN;

const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// Runs that wait an hour for their next attempt: the bound of live runs, so that what comes after them waits.
const RUNNING_PER_PARTITION: usize = 5;
const WAITING_PER_PARTITION: usize = 6;
/// Below the number of failed calls that opens a breaker, so that no call waits for its turn.
const RUNNING_PER_SERVICE: usize = 10;

pub struct Base {
    pub files: Files,
    /// The same files at an earlier time, where they existed.
    pub older: Files,
    pub inventory: Inventory,
}

/// Makes one. The server has ended cleanly when this returns.
pub async fn make(bin: &Path, directory: &Path, target: SocketAddr, dice: &mut Dice) -> anyhow::Result<Base> {
    let data = directory.join("server");
    let plain = surroundings();
    // Every partition takes a snapshot at each check.
    let snapshots = plain.clone().with("SORTIE_JOURNAL__BYTES_MAX", 1);
    let full = plain.with("SORTIE_LIMITS__LIVE_RUNS_MAX", RUNNING_PER_PARTITION * usize::from(PARTITIONS));
    let mut maker = Maker { dice: Dice::new(dice.draw()), inventory: Inventory::default(), made: 0 };
    let mut older = Files::new();

    let sortie = Sortie::new(bin, directory, TOKEN, dice)?.surrounded_by(snapshots);
    for life in 0..2 {
        let mut running = sortie.start()?;
        running.ready().await?;
        let mut client = Client::new(sortie.address, Some(TOKEN));
        if life == 0 {
            maker.apply(&mut client, target).await?;
            maker.jobs(&mut client, target).await?;
        }
        for _ in 0..2 {
            older.append(&mut damage::read(&data)?);
            let before = snapshots_in(&data)?;
            maker.settled_runs(&mut client, 20, 4, 2).await?;
            wait_for_snapshots(&data, &before).await?;
        }
        drop(client);
        running.stop().await?;
    }
    let sortie = sortie.surrounded_by(full);
    let mut running = sortie.start()?;
    running.ready().await?;
    let mut client = Client::new(sortie.address, Some(TOKEN));
    maker.settled_runs(&mut client, 8, 2, 1).await?;
    older.append(&mut damage::read(&data)?);
    maker.settled_runs(&mut client, 8, 2, 1).await?;
    maker.open_runs(&mut client).await?;
    drop(client);
    running.stop().await?;
    let files = damage::read(&data)?;
    ensure!(files.keys().filter(|file| file.starts_with("journal")).count() > 1, "there is only one segment");
    Ok(Base { files, older, inventory: maker.inventory })
}

/// The settings with which the directory is made and opened.
pub fn surroundings() -> ProcessEnvironment {
    ProcessEnvironment::default()
        .with("SORTIE_PARTITIONS", PARTITIONS)
        .with("SORTIE_JOURNAL__SEGMENT_BYTES", 16 << 20)
        .with("SORTIE_JOURNAL__RESERVE_BYTES", 1 << 20)
}

struct Maker {
    dice: Dice,
    inventory: Inventory,
    made: u64,
}

impl Maker {
    async fn apply(&mut self, client: &mut Client, target: SocketAddr) -> anyhow::Result<()> {
        let url = |path: &str| format!("http://{target}/{path}");
        let call =
            |service: &str| json!({ "service": service, "method": "POST", "path": "/", "body": ".request" });
        let busy = |name: &str| {
            json!({
                "name": name,
                "services": { "busy": { "url": url(&format!("busy/{name}")) } },
                "steps": { "call": { "call": call("busy") } },
                "retry": { "type": "fixed", "delay": "1h", "attempts": 5 },
            })
        };
        let ok = json!({
            "name": "ok",
            "services": { "ok": { "url": url("ok") } },
            "steps": { "one": { "call": call("ok") }, "two": { "after": ["one"], "call": call("ok") } },
        });
        let undone = json!({
            "name": "undone",
            "services": { "ok": { "url": url("ok") }, "no": { "url": url("no") } },
            "steps": {
                "one": { "call": call("ok"), "undo": call("ok") },
                "two": { "after": ["one"], "call": call("no") },
            },
        });
        let parked = json!({
            "name": "parked",
            "services": { "ok": { "url": url("ok") }, "no": { "url": url("no") } },
            "steps": {
                "one": { "call": call("ok"), "pivot": true },
                "two": { "after": ["one"], "call": call("no") },
            },
        });
        for workflow in [ok, undone, parked, busy("busy-0"), busy("busy-1")] {
            let body = Bytes::from(workflow.to_string());
            let answer = client.send(Method::POST, "/v1/workflows", "application/json", body).await?;
            answer.success().with_context(|| format!("applying {workflow}"))?;
            let name = workflow["name"].as_str().unwrap_or_default();
            self.inventory.pages.push((format!("/v1/workflows/{name}"), String::new()));
        }
        Ok(())
    }

    /// A collection with jobs of next century, one of which is run manually; all of them have a secret.
    async fn jobs(&mut self, client: &mut Client, target: SocketAddr) -> anyhow::Result<()> {
        let put = async |client: &mut Client, path: &str, body: &Value| {
            let body = Bytes::from(body.to_string());
            client.send(Method::PUT, path, "application/json", body).await?.success()
        };
        for collection in ["rot", "more"] {
            let path = format!("/v1/collections/{collection}");
            put(client, &path, &json!({ "tags": { "for": "torture" } })).await?;
            self.inventory.pages.push((path, String::new()));
        }
        let job = |n: u32| {
            json!({ "properties": {
                "action": {
                    "type": "http",
                    "request": {
                        "uri": format!("http://{target}/secret"), "method": "POST", "body": format!("job {n}"),
                        "authentication": {
                            "type": "Basic", "username": target::USER, "password": target::PASSWORD,
                        },
                    },
                    "retryPolicy": { "retryType": "none" },
                },
                "recurrence": { "frequency": "day", "schedule": { "hours": [n % 24], "minutes": [0] } },
                "startTime": far_away(),
            } })
        };
        put(client, SECRET_JOB, &job(0)).await.context("writing the job with the secret")?;
        for n in 1..20 {
            let collection = if n % 2 == 0 { "rot" } else { "more" };
            let path = format!("/v1/collections/{collection}/jobs/job-{n}");
            put(client, &path, &job(n)).await?;
            self.inventory.pages.push((path.clone(), String::new()));
            if n < 6 {
                let run = format!("{path}/run");
                client.send(Method::POST, &run, "", Bytes::new()).await?.success()?;
                wait_for_history(client, &path).await?;
                self.inventory.pages.push((format!("{path}/history"), String::new()));
            }
        }
        Ok(())
    }

    /// Runs that end or are parked.
    async fn settled_runs(
        &mut self,
        client: &mut Client,
        ok: usize,
        undone: usize,
        parked: usize,
    ) -> anyhow::Result<()> {
        let first = self.inventory.runs.len();
        for (workflow, expected, count) in [
            ("ok", ExpectedState::Ended, ok),
            ("undone", ExpectedState::Ended, undone),
            ("parked", ExpectedState::Parked, parked),
        ] {
            for _ in 0..count {
                let id = self.next_id();
                self.post(client, id, workflow, expected).await?;
            }
        }
        for run in &self.inventory.runs[first..] {
            let is_settled = |shown: &Value| match run.expected {
                ExpectedState::Parked => shown["status"] == "parked",
                _ => shown["status"] == "completed" || shown["status"] == "undone",
            };
            wait_for_run(client, &run.id, is_settled).await?;
        }
        Ok(())
    }

    /// Fills every partition with long runs, and then submits requests that have to wait.
    async fn open_runs(&mut self, client: &mut Client) -> anyhow::Result<()> {
        let mut running = Vec::new();
        for partition in 0..PARTITIONS {
            for _ in 0..RUNNING_PER_PARTITION {
                let id = self.next_id_in(partition)?;
                let workflow = format!("busy-{}", running.len() / RUNNING_PER_SERVICE);
                self.post(client, id.clone(), &workflow, ExpectedState::Running).await?;
                running.push(id);
            }
        }
        for id in &running {
            let is_retrying = |shown: &Value| shown["steps"][0]["state"] == "retrying";
            wait_for_run(client, id, is_retrying).await?;
        }
        for partition in 0..PARTITIONS {
            for _ in 0..WAITING_PER_PARTITION {
                let id = self.next_id_in(partition)?;
                self.post(client, id.clone(), "ok", ExpectedState::Waiting).await?;
                wait_for_run(client, &id, |shown| shown["status"] == "accepted").await?;
            }
        }
        Ok(())
    }

    async fn post(
        &mut self,
        client: &mut Client,
        id: String,
        workflow: &str,
        expected: ExpectedState,
    ) -> anyhow::Result<()> {
        let filler: String =
            (0..self.dice.range(20, 200)).map(|_| format!("{:08x}", self.dice.draw() as u32)).collect();
        let body = json!({ "for": id, "filler": filler }).to_string();
        let path = format!("/v1/workflows/{workflow}/runs/{id}");
        let sent = client.send(Method::PUT, &path, "application/json", Bytes::from(body.clone())).await?;
        sent.success().with_context(|| format!("posting {id}"))?;
        let (workflow, shown) = (workflow.to_owned(), String::new());
        self.inventory.runs.push(KnownRun { id, workflow, body, expected, shown });
        Ok(())
    }

    fn next_id(&mut self) -> String {
        self.made += 1;
        format!("rot-{}", self.made)
    }

    fn next_id_in(&mut self, partition: u16) -> anyhow::Result<String> {
        loop {
            let id = self.next_id();
            if PartitionId::of(&Key::new(&id)?, PARTITIONS) == PartitionId(partition) {
                return Ok(id);
            }
        }
    }
}

/// A year from now, as far ahead as a job may start.
fn far_away() -> String {
    (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(365 * 24)).to_string()
}

async fn wait_for_run(
    client: &mut Client,
    id: &str,
    is_there: impl Fn(&Value) -> bool,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let shown: Value =
            serde_json::from_slice(&client.get(&format!("/v1/runs/{id}")).await?.success()?.body)?;
        if is_there(&shown) {
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("run {id} does not reach the expected state")
}

async fn wait_for_history(client: &mut Client, job: &str) -> anyhow::Result<()> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let page: Value =
            serde_json::from_slice(&client.get(&format!("{job}/history")).await?.success()?.body)?;
        let text = page.to_string();
        if text.contains("MainAction") {
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("{job} has no history")
}

fn snapshots_in(data: &Path) -> anyhow::Result<BTreeSet<String>> {
    let found = std::fs::read_dir(data.join("snapshots"))?.filter_map(Result::ok);
    let names = found.map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name.ends_with(".snapshot")).collect())
}

/// Waits until every partition has a new snapshot.
async fn wait_for_snapshots(data: &Path, before: &BTreeSet<String>) -> anyhow::Result<()> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let now = snapshots_in(data)?;
        let is_new =
            |partition: u16| now.difference(before).any(|name| name.starts_with(&format!("{partition:05}-")));
        if (0..PARTITIONS).all(is_new) {
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
    bail!("no snapshots were taken")
}
