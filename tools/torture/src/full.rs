//! Another process fills the disk under load: requests are refused, running work ends, and requests are accepted again once there is space.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::dice::Dice;
use crate::load::Pace;
use crate::process::{ProcessEnvironment, Running};
use crate::report::{Closing, RoundResult};
use crate::rig::Rig;
use crate::tools;
use crate::trial::Trial;

/// Three segments of the least size, the reserve, and a little for the views.
const DISK_MIB: u64 = 96;
const RESERVE_BYTES: u64 = 8 << 20;
/// What the ballast leaves: nothing, or room for the views but not for a segment.
const LEFT_BYTES: [u64; 2] = [0, 2 << 20];
/// Runs before the disk is filled: with four partitions one in 10^18 times a partition has none of them.
const WARM_RUNS: usize = 150;
/// How long refusals, and later acceptance, are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fill the disk under load, free it again, and audit every promise
#[derive(Args)]
pub struct Full {
    /// How often to fill the disk
    #[arg(long, default_value_t = 3)]
    n: u32,
    #[command(flatten)]
    rig: Rig,
}

impl Full {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        ensure!(self.n > 0, "--n is at least 1");
        self.rig.within("full", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("full");
        let Some(disk) = tools::loop_disk(directory, DISK_MIB, "a full disk", &mut closing) else {
            return Ok(closing.print(seed));
        };
        let surroundings = ProcessEnvironment::default()
            .with("SORTIE_DATA", disk.path().join("server").display())
            .with("SORTIE_PARTITIONS", 4)
            .with("SORTIE_JOURNAL__SEGMENT_BYTES", 16 << 20)
            .with("SORTIE_JOURNAL__RESERVE_BYTES", RESERVE_BYTES)
            .with("SORTIE_JOURNAL__BYTES_MAX", 1);
        let trial = Trial::new(&self.rig, seed, directory, surroundings)?;
        let mut dice = Dice::new(seed);
        let mut running = trial.open().await?;
        let ballast = Ballast::on(disk.path());
        let mut filled = FullRound { trial: &trial, ballast, dice: Dice::new(dice.draw()) };
        // A view makes its tree with its first run that ends; without any room for that the server ends and is to be
        // started again until there is some.
        filled.warm_up().await?;
        for left_bytes in LEFT_BYTES.into_iter().cycle().take(self.n as usize) {
            running = filled.round(running, left_bytes, &mut closing).await?;
        }
        let findings = trial.settle_and_audit(running).await?;
        closing.count(self.n, "times full");
        closing.count(trial.posts.refusals.load(Ordering::Relaxed), "refusals");
        closing.audited(&trial.posts, &findings);
        Ok(closing.print(seed))
    }
}

struct FullRound<'a> {
    trial: &'a Trial,
    ballast: Ballast,
    dice: Dice,
}

impl<'a> FullRound<'a> {
    /// Until runs have ended in every partition, as good as certainly.
    async fn warm_up(&mut self) -> anyhow::Result<()> {
        let load = self.trial.load(&mut self.dice);
        while self.trial.posts.acknowledged_count() < WARM_RUNS {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        load.stop().await;
        ensure!(self.trial.settled().await? == 0, "runs do not end although there is space");
        Ok(())
    }

    async fn round(
        &mut self,
        mut running: Running<'a>,
        left_bytes: u64,
        closing: &mut Closing,
    ) -> anyhow::Result<Running<'a>> {
        let posts = &self.trial.posts;
        posts.begin_round();
        let load = self.trial.load_at(Pace::BULKY, &mut self.dice);
        let before = posts.refusals.load(Ordering::Relaxed);
        let began = Instant::now();
        // Snapshots free space: the ballast grows until a request is refused.
        while posts.refusals.load(Ordering::Relaxed) == before && began.elapsed() < PATIENCE {
            self.ballast.leave(left_bytes)?;
            if let Some(status) = running.ended_within(Duration::from_millis(20)).await? {
                closing.add_finding(format!("on a full disk the server ended with {status}"));
                running = self.start_on_full_disk().await?;
            }
        }
        if posts.refusals.load(Ordering::Relaxed) == before {
            closing.add_finding(format!("no request was refused within {PATIENCE:?}"));
        }
        // What was accepted goes to its end, with the reserve alone.
        let open = self.trial.settled().await?;
        if open > 0 {
            closing.add_finding(format!("{open} runs did not end while the disk was full"));
        }
        running.kill()?;
        let running = self.start_on_full_disk().await?;
        self.trial.spot_check(&mut self.dice, "after a start on a full disk").await?;
        self.ballast.remove()?;
        // The last post of every client is accepted: a refusal is repeated until it is.
        if !load.stopped_within(PATIENCE).await {
            closing.add_finding(format!("posts were refused {PATIENCE:?} after the disk had space again"));
        }
        Ok(running)
    }

    /// It is up, but not ready: it refuses.
    async fn start_on_full_disk(&self) -> anyhow::Result<Running<'a>> {
        let mut running = self.trial.sortie.start()?;
        match running.up_or_ended().await? {
            None => Ok(running),
            Some(status) => bail!("started on a full disk the server ended with {status}"),
        }
    }
}

/// A file that fills the disk.
pub struct Ballast {
    disk: PathBuf,
    file: PathBuf,
}

impl Ballast {
    pub fn on(disk: &Path) -> Ballast {
        Ballast { disk: disk.to_owned(), file: disk.join("ballast") }
    }

    /// Grows until no more than this is free.
    pub fn leave(&self, bytes: u64) -> anyhow::Result<()> {
        let free = free_bytes(&self.disk)?;
        if free <= bytes {
            return Ok(());
        }
        let file =
            File::options().create(true).append(true).open(&self.file).context("opening the ballast")?;
        let size = file.metadata().context("looking at the ballast")?.len() + free - bytes;
        let grown = Command::new("fallocate")
            .arg("-l")
            .arg(size.to_string())
            .arg(&self.file)
            .stderr(Stdio::null())
            .status();
        // The server may have been faster: the disk is then as full as it should be.
        grown.context("starting fallocate").map(drop)
    }

    pub fn remove(&self) -> anyhow::Result<()> {
        std::fs::remove_file(&self.file).context("removing the ballast")
    }
}

fn free_bytes(disk: &Path) -> anyhow::Result<u64> {
    let output =
        Command::new("stat").args(["-f", "-c", "%a %S"]).arg(disk).output().context("starting stat")?;
    let text = String::from_utf8(output.stdout).context("reading from stat")?;
    let (blocks, size) = text.trim().split_once(' ').with_context(|| format!("stat said {text:?}"))?;
    Ok(blocks.parse::<u64>()? * size.parse::<u64>()?)
}
