//! Large requests from many clients, with far less memory than they would take.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use hyper::{Method, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::dice::Dice;
use crate::process::{ProcessEnvironment, Running, Sortie};
use crate::report::{Closing, RoundResult};
use crate::rig::{Rig, TOKEN};
use crate::slow::Slow;

const GROUPS: &str = "/sys/fs/cgroup/memory";
const BODY_BYTES: usize = 250 << 10;
/// Clients that post large bodies, and how long.
const CLIENTS: usize = 48;
const LOAD: Duration = Duration::from_secs(10);
/// Connections that have sent half of a large body and then nothing.
const HALF_SENT: usize = 200;
/// How long nothing may end before the rest counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Post large requests to a server with little memory: it must refuse, and not be killed
#[derive(Args)]
pub struct Memory {
    /// How much memory the server may have, in MiB
    #[arg(long, default_value_t = 256)]
    mib: u64,
    #[command(flatten)]
    rig: Rig,
}

/// A group of processes with a bound on their memory. It goes when this is dropped.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn new(bytes: u64) -> anyhow::Result<MemoryGroup> {
        let path = Path::new(GROUPS).join(format!("sortie-torture-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        let group = MemoryGroup(path);
        std::fs::write(group.0.join("memory.limit_in_bytes"), bytes.to_string())
            .context("bounding the memory of a group")?;
        Ok(group)
    }

    /// What makes a process join before it becomes the server.
    fn through(&self) -> Vec<String> {
        let join = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        ["sh", "-c", &join, "sh"].map(str::to_owned).into()
    }

    fn figure(&self, name: &str) -> u64 {
        let text = std::fs::read_to_string(self.0.join(name)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A group that still has a process stays; it bounds nothing else.
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[derive(Default)]
struct Tally {
    accepted: std::sync::Mutex<Vec<String>>,
    refused: AtomicU64,
    broken: AtomicU64,
    wrong: std::sync::Mutex<Vec<String>>,
}

impl Memory {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        self.rig.within("memory", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("memory");
        let group = match MemoryGroup::new(self.mib << 20) {
            Ok(group) => group,
            Err(error) => {
                closing.skip(format!("a bound on memory: {error:#}"));
                return Ok(closing.print(seed));
            }
        };
        let mut dice = Dice::new(seed);
        let surroundings = ProcessEnvironment { through: group.through(), ..ProcessEnvironment::default() };
        let sortie = Sortie::new(&self.rig.bin, directory, TOKEN, &mut dice)?.surrounded_by(surroundings);
        let slow = Slow::start().await?;
        let mut running = sortie.start()?;
        running.ready().await?;
        apply(sortie.address, slow.address).await?;
        let tally = Arc::new(Tally::default());
        let pressed = press(&mut running, sortie.address, &tally, seed).await?;
        let mut peak = pressed.peak;
        if let Some(after) = pressed.ended_after {
            closing.add_finding(format!(
                "the server was killed after {after:.1} s, {} MiB resident",
                peak >> 20
            ));
        }
        let accepted = tally.accepted.lock().expect("nobody panics while holding it").clone();
        let refused = tally.refused.load(Ordering::Relaxed);
        if running.check_alive().is_ok() {
            running.kill()?;
        }
        // With all that waits and runs: what comes back must hold it, and fit as well.
        let mut running = sortie.start()?;
        running.ready().await.context("starting again within the same memory")?;
        let restarted = running.peak_bytes();
        slow.be_quick();
        let lost = self.settle(&sortie, &accepted).await?;
        peak = peak.max(running.resident_bytes());
        running.check_alive()?;
        closing.count(accepted.len() as u64, "acknowledged");
        closing.count(lost.len() as u64, "lost");
        closing.count(refused, "refused");
        closing.count(tally.broken.load(Ordering::Relaxed), "without an answer");
        closing.count(peak >> 20, "MiB resident at most");
        closing.count(restarted >> 20, "MiB to start again");
        closing.count(group.figure("memory.failcnt"), "times at the bound");
        lost.iter().for_each(|what| closing.add_finding(what.clone()));
        for what in tally.wrong.lock().expect("nobody panics while holding it").iter().take(3) {
            closing.add_finding(what.clone());
        }
        let since = accepted.len().saturating_sub(pressed.accepted_with_halves);
        closing.count(since as u64, "acknowledged after the half-sent ones went");
        if since == 0 {
            closing.add_finding("nothing was accepted any more".to_owned());
        }
        if refused == 0 {
            closing.add_finding("nothing was refused".to_owned());
        }
        drop(running);
        Ok(closing.print(seed))
    }

    /// Runs that were acknowledged and have not come to their end.
    async fn settle(&self, sortie: &Sortie, accepted: &[String]) -> anyhow::Result<Vec<String>> {
        let mut client = Client::new(sortie.address, Some(TOKEN));
        let mut lost = Vec::new();
        for id in accepted {
            let began = Instant::now();
            loop {
                let answer = client.get(&format!("/v1/runs/{id}")).await?;
                if answer.status == StatusCode::NOT_FOUND {
                    lost.push(format!("{id} was acknowledged and is not known"));
                    break;
                }
                if answer.success()?.run()?.status.is_final() {
                    break;
                }
                if began.elapsed() > STUCK_AFTER {
                    lost.push(format!("{id} was acknowledged and does not end"));
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(lost)
    }
}

/// What the load came to.
#[derive(Default)]
struct LoadResult {
    /// The most memory that was seen.
    peak: u64,
    /// When the server was ended, if it was.
    ended_after: Option<f64>,
    accepted_with_halves: usize,
}

/// Posts for a time, the first third of it beside connections that hold memory and send nothing.
async fn press(
    running: &mut Running<'_>,
    address: SocketAddr,
    tally: &Arc<Tally>,
    seed: u64,
) -> anyhow::Result<LoadResult> {
    let mut pressed = LoadResult::default();
    let mut halves = half_sent(address).await?;
    let mut clients = post(address, tally, seed);
    let began = Instant::now();
    while !clients.is_empty() {
        pressed.peak = pressed.peak.max(running.resident_bytes());
        if running.check_alive().is_err() {
            pressed.ended_after = Some(began.elapsed().as_secs_f64());
            break;
        }
        if began.elapsed() > LOAD / 3 && !halves.is_empty() {
            halves.clear();
            pressed.accepted_with_halves =
                tally.accepted.lock().expect("nobody panics while holding it").len();
        }
        tokio::time::timeout(Duration::from_millis(20), clients.join_next()).await.ok();
    }
    Ok(pressed)
}

async fn apply(address: SocketAddr, slow: SocketAddr) -> anyhow::Result<()> {
    let workflow = json!({
        "name": "large",
        "services": { "slow": { "url": format!("http://{slow}"), "timeout": "60s", "concurrency": 1000 } },
        "steps": {
            "one": { "call": { "service": "slow", "method": "POST", "path": "/", "body": ".request" } },
            "two": { "after": ["one"], "call": { "service": "slow", "method": "POST", "path": "/" } },
        },
    });
    let mut client = Client::new(address, Some(TOKEN));
    let body = Bytes::from(workflow.to_string());
    client.send(Method::POST, "/v1/workflows", "application/json", body).await?.success()?;
    Ok(())
}

/// Connections whose bodies never come to their end.
async fn half_sent(address: SocketAddr) -> anyhow::Result<Vec<tokio::net::TcpStream>> {
    use tokio::io::AsyncWriteExt;
    let mut streams = Vec::new();
    for _ in 0..HALF_SENT {
        let mut stream = tokio::net::TcpStream::connect(address).await?;
        let head = format!(
            "POST /v1/workflows/large/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {BODY_BYTES}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&vec![b' '; BODY_BYTES / 2]).await?;
        streams.push(stream);
    }
    Ok(streams)
}

fn post(address: SocketAddr, tally: &Arc<Tally>, seed: u64) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    let filler = Arc::new("x".repeat(BODY_BYTES));
    for number in 0..CLIENTS {
        let (tally, filler) = (tally.clone(), filler.clone());
        clients.spawn(async move {
            let mut client = Client::new(address, Some(TOKEN));
            let began = Instant::now();
            for round in 0_u64.. {
                if began.elapsed() > LOAD {
                    return;
                }
                let id = format!("m-{seed}-{number}-{round}");
                let body = Bytes::from(format!("{{\"filler\":\"{filler}\"}}"));
                let path = format!("/v1/workflows/large/runs/{id}");
                match client.send(Method::PUT, &path, "application/json", body).await {
                    Ok(answer) => tally.note(&id, &answer),
                    Err(_) => {
                        tally.broken.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        });
    }
    clients
}

impl Tally {
    fn note(&self, id: &str, answer: &crate::client::ClientResponse) {
        match answer.status {
            StatusCode::OK | StatusCode::ACCEPTED => {
                self.accepted.lock().expect("nobody panics while holding it").push(id.to_owned());
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
            status => {
                let what = format!("a post was answered {status}: {}", answer.text());
                self.wrong.lock().expect("nobody panics while holding it").push(what);
            }
        }
    }
}
