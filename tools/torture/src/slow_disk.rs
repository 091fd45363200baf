//! A disk that stalls: responses are late or missing, never wrong, and the liveness probe always answers.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Args;

use crate::client::Client;
use crate::dice::Dice;
use crate::load::Pace;
use crate::process::ProcessEnvironment;
use crate::report::{Closing, RoundResult};
use crate::rig::Rig;
use crate::tools::{self, Injection};
use crate::trial::Trial;

/// Between two liveness probes.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// A supervisor kills a process whose liveness probe takes longer.
const LIVE_PATIENCE: Duration = Duration::from_secs(5);
/// Few enough that clients are refused while the disk stalls.
const UNFINISHED_RUNS_MAX: u32 = 100;

/// Stall the disk under load, and audit every promise
#[derive(Args)]
pub struct Slow {
    /// How long the disk stalls at a sync, in milliseconds, one round for each
    #[arg(long, value_delimiter = ',', default_value = "100,500,2000")]
    stalls: Vec<u64>,
    /// How long each round lasts, in seconds
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    #[command(flatten)]
    rig: Rig,
}

impl Slow {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        self.rig.within("slow", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("slow");
        if !tools::have("strace", "strace", "a slow disk", &mut closing) {
            return Ok(closing.print(seed));
        }
        let surroundings = ProcessEnvironment::default()
            .with("SORTIE_PARTITIONS", 8)
            .with("SORTIE_LIMITS__UNFINISHED_RUNS_MAX", UNFINISHED_RUNS_MAX)
            .with("SORTIE_JOURNAL__BYTES_MAX", 1);
        let trial = Trial::new(&self.rig, seed, directory, surroundings)?;
        let mut dice = Dice::new(seed);
        let mut running = trial.open().await?;
        let load = trial.load_at(Pace::FLOOD, &mut dice);
        let watch = Watch::start(trial.sortie.address);
        for stall in &self.stalls {
            watch.pause();
            running.kill()?;
            trial.posts.begin_round();
            // Every third sync of a thread, so that the start gets through.
            let does = format!("delay_enter={}:when=3+3", stall * 1000);
            let stalling = Injection { call: "fdatasync,fsync", does, files: Vec::new(), trace: None };
            running = trial.sortie.start_through(&stalling.words())?;
            running.ready().await?;
            watch.resume();
            if let Some(status) = running.ended_within(Duration::from_secs(self.seconds)).await? {
                closing.add_finding(format!("with stalls of {stall} ms the server ended with {status}"));
                running = trial.sortie.start()?;
                running.ready().await?;
            }
        }
        let silences = watch.stop();
        running.kill()?;
        running = trial.sortie.start()?;
        running.ready().await?;
        load.stop().await;
        let findings = trial.settle_and_audit(running).await?;
        closing.count(self.stalls.len() as u64, "rounds");
        closing.count(trial.posts.refusals.load(Ordering::Relaxed), "refusals");
        closing.count(silences.asked, "times asked whether it lives");
        silences.missed.into_iter().for_each(|what| closing.add_finding(what));
        closing.audited(&trial.posts, &findings);
        Ok(closing.print(seed))
    }
}

/// Asks all the time whether the server lives.
struct Watch {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    asking: AtomicBool,
    asked: AtomicU32,
    // A lock because the asker writes and the trial reads, once.
    missed: Mutex<Vec<String>>,
}

struct Silences {
    asked: u32,
    missed: Vec<String>,
}

impl Watch {
    fn start(address: SocketAddr) -> Watch {
        let inner = Arc::new(Inner::default());
        tokio::spawn(ask(address, Arc::downgrade(&inner)));
        Watch { inner }
    }

    fn pause(&self) {
        self.inner.asking.store(false, Ordering::Release);
    }

    fn resume(&self) {
        self.inner.asking.store(true, Ordering::Release);
    }

    fn stop(self) -> Silences {
        self.pause();
        let missed = std::mem::take(&mut *self.inner.missed.lock().expect("nobody panics while holding it"));
        Silences { asked: self.inner.asked.load(Ordering::Relaxed), missed }
    }
}

async fn ask(address: SocketAddr, inner: std::sync::Weak<Inner>) {
    loop {
        tokio::time::sleep(ASK_EVERY).await;
        let Some(inner) = inner.upgrade() else { return };
        if !inner.asking.load(Ordering::Acquire) {
            continue;
        }
        let mut client = Client::new(address, None);
        let answered = tokio::time::timeout(LIVE_PATIENCE, client.get("/livez")).await;
        let missed = match answered {
            Ok(Ok(answer)) if answer.status.is_success() => None,
            Ok(Ok(answer)) => Some(format!("/livez answered {}", answer.status)),
            Ok(Err(error)) => Some(format!("/livez: {error:#}")),
            Err(_) => Some(format!("/livez did not answer within {LIVE_PATIENCE:?}")),
        };
        // A probe that was in flight when the server stopped says nothing.
        if inner.asking.load(Ordering::Acquire) {
            inner.asked.fetch_add(1, Ordering::Relaxed);
            inner.missed.lock().expect("nobody panics while holding it").extend(missed);
        }
    }
}
