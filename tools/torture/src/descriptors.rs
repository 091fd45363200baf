//! Idle connections that take every descriptor the server may have, under load.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use rustix::process::Pid;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::dice::Dice;
use crate::process::{ProcessEnvironment, Running};
use crate::report::{Closing, RoundResult};
use crate::rig::Rig;
use crate::trial::Trial;

/// How long the idle connections stay, with clients at work and without.
const SIEGE: Duration = Duration::from_secs(6);
const QUIET: Duration = Duration::from_secs(3);
/// A loop that waits takes next to nothing of this; one that spins takes a core.
const QUIET_CPU_PERCENT_MAX: u64 = 40;
/// How long the server may take to serve a new client once the descriptors are free again.
const RELIEF: Duration = Duration::from_secs(15);
/// What the log says when a file could not be opened.
const EXHAUSTED: &str = "Too many open files";

/// Open twice as many idle connections as the server has descriptors, under load
#[derive(Args)]
pub struct Descriptors {
    /// How many descriptors the server may have
    #[arg(long, default_value_t = 256)]
    n: u64,
    #[command(flatten)]
    rig: Rig,
}

impl Descriptors {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        self.rig.within("descriptors", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("descriptors");
        let mut dice = Dice::new(seed);
        let through = ["prlimit".to_owned(), format!("--nofile={0}:{0}", self.n)];
        let surroundings = ProcessEnvironment { through: through.into(), ..ProcessEnvironment::default() };
        let trial = Trial::new(&self.rig, seed, directory, surroundings)?;
        let mut running = trial.open().await?;
        let load = trial.load(&mut dice);
        tokio::time::sleep(Duration::from_secs(1)).await;

        let siege = IdleConnections::start(trial.sortie.address, 2 * self.n);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = trial.posts.acknowledged_count();
        tokio::time::sleep(SIEGE).await;
        let served = trial.posts.acknowledged_count() - before;
        running.check_alive()?;
        let held = siege.held().await;
        closing.count(held, "idle connections");
        closing.count(served as u64, "acknowledged during it");
        if served == 0 {
            closing.add_finding("those who were connected were not served".to_owned());
        }
        load.stop().await;
        let busy = quiet_cpu_percent(&running).await?;
        closing.count(busy, "percent of a core while idle");
        if busy > QUIET_CPU_PERCENT_MAX {
            closing.add_finding(format!("the server takes {busy} % of a core for doing nothing"));
        }
        siege.end();
        if !relieved(trial.sortie.address).await {
            closing
                .add_finding("a new client was not served when the descriptors were free again".to_owned());
        }
        let findings = trial.settle_and_audit(running).await?;
        closing.audited(&trial.posts, &findings);
        let log = trial.sortie.log_text();
        let failed = log.lines().filter(|line| line.contains(EXHAUSTED)).count();
        closing.count(failed as u64, "times without a descriptor");
        if let Some(line) = log.lines().find(|line| line.contains(EXHAUSTED)) {
            closing.add_finding(format!("something wanted a descriptor and there was none: {line}"));
        }
        Ok(closing.print(seed))
    }
}

/// Connections that say nothing, and are opened again when the server closes them.
struct IdleConnections {
    streams: Arc<Mutex<Vec<TcpStream>>>,
    tasks: JoinSet<()>,
}

impl IdleConnections {
    fn start(address: SocketAddr, count: u64) -> IdleConnections {
        let streams = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let kept = streams.clone();
        tasks.spawn(async move {
            loop {
                let mut held = kept.lock().await;
                // A connection that the server has closed reads as its end.
                held.retain(|stream: &TcpStream| stream.try_read(&mut [0; 1]).is_err());
                while (held.len() as u64) < count {
                    // One that is not even queued is tried again a little later.
                    let dial = TcpStream::connect(address);
                    let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(100), dial).await else {
                        break;
                    };
                    held.push(stream);
                }
                drop(held);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        IdleConnections { streams, tasks }
    }

    async fn held(&self) -> u64 {
        self.streams.lock().await.len() as u64
    }

    /// Closes them all.
    fn end(mut self) {
        self.tasks.abort_all();
    }
}

/// How much of a core the server uses while it is idle.
async fn quiet_cpu_percent(running: &Running<'_>) -> anyhow::Result<u64> {
    // Runs that were accepted before end first.
    tokio::time::sleep(QUIET).await;
    let (before, began) = (cpu_ms(running.pid()?)?, Instant::now());
    tokio::time::sleep(QUIET).await;
    let spent = cpu_ms(running.pid()?)? - before;
    Ok(spent * 100 / began.elapsed().as_millis() as u64)
}

/// Processor time of all threads so far, as the scheduler has counted it.
fn cpu_ms(pid: Pid) -> anyhow::Result<u64> {
    const TICK_MS: u64 = 10;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program may hold anything; it ends with the last bracket.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Ok((field(11) + field(12)) * TICK_MS)
}

async fn relieved(address: SocketAddr) -> bool {
    let began = Instant::now();
    while began.elapsed() < RELIEF {
        let mut client = Client::new(address, None);
        let asked = tokio::time::timeout(Duration::from_secs(2), client.get("/livez")).await;
        if asked.is_ok_and(|answer| answer.is_ok_and(|answer| answer.status.is_success())) {
            return true;
        }
    }
    false
}
