//! Hostile targets, each called by a step and by a job, beside work that must continue.

mod cases;
mod certificates;
mod run;
mod server;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use clap::Args;
use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::cases::{Case, TargetAddress, WorkflowShape, cases};
use self::certificates::Authority;
use self::server::{AfterBytes, Behaviour, HostileServer};
use crate::client::Client;
use crate::dice::Dice;
use crate::process::{ProcessEnvironment, Running, Sortie};
use crate::report::{Closing, RoundResult};
use crate::rig::{Rig, TOKEN};

/// How long one attempt may take, as the workflows and the settings say.
const ATTEMPT: &str = "1s";
/// How much more memory all of the targets together may take: each answer is at most 64 KiB, each buffer 32.
const MEMORY_BYTES_MAX: u64 = 128 << 20;
/// Concurrent runs of the load.
const WELL_CLIENTS: usize = 2;

/// Call targets that hang, lie, flood and disconnect, and check the outcome of every call
#[derive(Args)]
pub struct Targets {
    /// Only targets whose names contain this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[command(flatten)]
    rig: Rig,
}

/// A case with its server and its address.
struct Stage {
    case: Case,
    hostile: HostileServer,
    url: String,
}

impl Targets {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        self.rig.within("targets", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("targets");
        let mut dice = Dice::new(seed);
        let authority = Authority::new()?;
        let roots = directory.join("authority.pem");
        authority.write(&roots)?;
        let surroundings = ProcessEnvironment::default()
            .with("SSL_CERT_FILE", roots.display())
            .with("SORTIE_JOBS__TIMEOUT", ATTEMPT);
        let sortie = Sortie::new(&self.rig.bin, directory, TOKEN, &mut dice)?.surrounded_by(surroundings);
        let well = HostileServer::start(Behaviour::Says(ok(), AfterBytes::Keep), None).await?;
        let no = HostileServer::start(Behaviour::Says(bad_request(), AfterBytes::Keep), None).await?;
        let canary = HostileServer::start(Behaviour::Says(ok(), AfterBytes::Keep), None).await?;
        let stages = self.stages(&authority, &format!("http://{}/", canary.address)).await?;
        let mut running = sortie.start()?;
        running.ready().await?;
        let mut client = Client::new(sortie.address, Some(TOKEN));
        apply(&mut client, &well_workflow(&well)).await?;
        for stage in &stages {
            apply(&mut client, &stage.workflow(&well, &no)).await?;
        }
        let work = BackgroundWork::start(sortie.address);
        let before = running.resident_bytes();
        let (findings, peak) = self.call_all(&mut running, sortie.address, &stages).await?;
        let done = work.stop().await?;
        ensure!(done > 0, "no other work was done while the targets were called");
        running.check_alive()?;
        let grown = peak.saturating_sub(before);
        let calls = stages.iter().map(|stage| stage.hostile.seen().keys.values().sum::<u32>()).sum::<u32>();
        closing.count(stages.len() as u64, "targets");
        closing.count(calls, "calls that arrived");
        closing.count(done, "other runs");
        closing.count(grown >> 20, "MiB of memory more");
        findings.into_iter().for_each(|finding| closing.add_finding(finding));
        if grown > MEMORY_BYTES_MAX {
            closing.add_finding(format!("the server grew by {} MiB", grown >> 20));
        }
        if !canary.seen().keys.is_empty() {
            closing.add_finding("a redirect was followed".to_owned());
        }
        Ok(closing.print(seed))
    }

    async fn stages(&self, authority: &Authority, canary: &str) -> anyhow::Result<Vec<Arc<Stage>>> {
        let mut stages = Vec::new();
        let wanted = |case: &Case| self.only.as_ref().is_none_or(|only| case.name.contains(only.as_str()));
        for case in cases(canary).into_iter().filter(wanted) {
            let tls = match case.place {
                TargetAddress::Https(flaw) => Some(authority.acceptor(flaw)?),
                TargetAddress::HttpToTls => Some(authority.acceptor(certificates::Flaw::None)?),
                TargetAddress::Http | TargetAddress::HttpsWithoutTls | TargetAddress::At(_) => None,
            };
            let hostile = HostileServer::start(case.manner.clone(), tls).await?;
            let url = match case.place {
                TargetAddress::Http | TargetAddress::HttpToTls => format!("http://{}", hostile.address),
                TargetAddress::Https(_) | TargetAddress::HttpsWithoutTls => {
                    format!("https://{}", hostile.address)
                }
                TargetAddress::At(url) => url.to_owned(),
            };
            stages.push(Arc::new(Stage { case, hostile, url }));
        }
        ensure!(!stages.is_empty(), "no target has such a name");
        Ok(stages)
    }

    /// Calls every target by a step and by a job at once; what was wrong, and the most memory seen.
    async fn call_all(
        &self,
        running: &mut Running<'_>,
        address: SocketAddr,
        stages: &[Arc<Stage>],
    ) -> anyhow::Result<(Vec<String>, u64)> {
        let mut client = Client::new(address, Some(TOKEN));
        let made =
            client.send(Method::PUT, "/v1/collections/targets", "application/json", "{}".into()).await?;
        made.success().context("making the collection")?;
        let mut watches = JoinSet::new();
        for stage in stages {
            watches.spawn(run::watch_run(stage.clone(), Client::new(address, Some(TOKEN))));
            if stage.case.expected.job_succeeds.is_some() {
                watches.spawn(run::watch_job(stage.clone(), Client::new(address, Some(TOKEN))));
            }
        }
        let mut findings = Vec::new();
        let mut peak = 0;
        let mut tick = tokio::time::interval(Duration::from_millis(50));
        loop {
            tokio::select! {
                watched = watches.join_next() => match watched {
                    None => return Ok((findings, peak)),
                    Some(found) => findings.extend(found.context("watching a target")??),
                },
                _ = tick.tick() => {
                    peak = peak.max(running.resident_bytes());
                    running.check_alive()?;
                }
            }
        }
    }
}

fn ok() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()
}

fn bad_request() -> Vec<u8> {
    b"HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n".to_vec()
}

async fn apply(client: &mut Client, workflow: &Value) -> anyhow::Result<()> {
    let body = Bytes::from(workflow.to_string());
    let answer = client.send(Method::POST, "/v1/workflows", "application/json", body).await?;
    answer.success().with_context(|| format!("applying {workflow}"))?;
    Ok(())
}

fn well_workflow(well: &HostileServer) -> Value {
    json!({
        "name": "well",
        "services": { "well": { "url": format!("http://{}", well.address) } },
        "steps": { "call": { "call": { "service": "well", "method": "POST", "path": "/" } } },
    })
}

impl Stage {
    /// The step, and the work of it, that calls the target.
    fn called(&self) -> (&'static str, &'static str) {
        if self.case.shape == WorkflowShape::Undo { ("before", "undo") } else { ("hurt", "do") }
    }

    fn workflow_name(&self) -> String {
        format!("t-{}", self.case.name)
    }

    fn workflow(&self, well: &HostileServer, no: &HostileServer) -> Value {
        let call =
            |service: &str| json!({ "service": service, "method": "POST", "path": "/", "body": { "n": 1 } });
        let steps = match self.case.shape {
            WorkflowShape::Call => json!({ "hurt": { "call": call("target") } }),
            WorkflowShape::CallTwice => json!({
                "hurt": { "call": call("target") },
                "again": { "after": ["hurt"], "call": call("target") },
            }),
            WorkflowShape::CallWithCondition => json!({
                "hurt": { "call": call("target"), "accept_if": ".response.body.ok" },
            }),
            WorkflowShape::Undo => json!({
                "before": { "call": call("well"), "undo": call("target") },
                "refused": { "after": ["before"], "call": call("no") },
            }),
            WorkflowShape::AfterPivot => json!({
                "pivot": { "call": call("well"), "pivot": true },
                "hurt": { "after": ["pivot"], "call": call("target") },
            }),
        };
        let retry = json!({ "type": "fixed", "delay": "100ms", "attempts": 2 });
        let mut services = json!({ "target": { "url": self.url, "timeout": ATTEMPT } });
        if matches!(self.case.shape, WorkflowShape::Undo | WorkflowShape::AfterPivot) {
            services["well"] = json!({ "url": format!("http://{}", well.address) });
        }
        if self.case.shape == WorkflowShape::Undo {
            services["no"] = json!({ "url": format!("http://{}", no.address) });
        }
        json!({
            "name": self.workflow_name(),
            "services": services,
            "steps": steps,
            "retry": retry,
            "undo_retry": retry,
        })
    }
}

/// Work that has nothing to do with the targets.
struct BackgroundWork {
    stop: tokio::sync::watch::Sender<bool>,
    done: Arc<AtomicU64>,
    clients: JoinSet<anyhow::Result<()>>,
}

impl BackgroundWork {
    fn start(address: SocketAddr) -> BackgroundWork {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let done = Arc::new(AtomicU64::new(0));
        let mut clients = JoinSet::new();
        for _ in 0..WELL_CLIENTS {
            let (mut client, stopped) = (Client::new(address, Some(TOKEN)), stopped.clone());
            let done = done.clone();
            clients.spawn(async move {
                while !*stopped.borrow() {
                    run::well(&mut client).await?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        BackgroundWork { stop, done, clients }
    }

    /// Runs that ended well; one that did not is an error.
    async fn stop(mut self) -> anyhow::Result<u64> {
        self.stop.send_replace(true);
        while let Some(ended) = self.clients.join_next().await {
            ended?.context("the load")?;
        }
        Ok(self.done.load(Ordering::Relaxed))
    }
}
