//! The disk loses power under load: synced data is present afterwards, other data may be gone.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use anyhow::ensure;
use clap::Args;

use crate::dice::Dice;
use crate::loop_disk::{Cut, LoopDisk};
use crate::process::{DISK_FAILED, ProcessEnvironment, Running};
use crate::report::{Closing, RoundResult};
use crate::rig::Rig;
use crate::tools;
use crate::trial::Trial;

const SIGKILL: i32 = 9;
const DISK_MIB: u64 = 256;
/// Cuts in a hundred that come before the server is ready.
const IN_RECOVERY_PERCENT: u64 = 20;

/// Cut the power of the disk under load, start again, and audit every promise
#[derive(Args)]
pub struct Powercut {
    /// How often to cut
    #[arg(long, default_value_t = 60)]
    n: u32,
    /// Let the server acknowledge before its disk has synced, to check that the audit finds it
    #[arg(long)]
    unsynced: bool,
    #[command(flatten)]
    rig: Rig,
}

impl Powercut {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        ensure!(self.n > 0, "--n is at least 1");
        self.rig.within("powercut", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("powercut");
        let Some(disk) = tools::loop_disk(directory, DISK_MIB, "power cuts", &mut closing) else {
            return Ok(closing.print(seed));
        };
        let surroundings = ProcessEnvironment::default()
            .with("SORTIE_DATA", disk.path().join("server").display())
            .with("SORTIE_PARTITIONS", 8)
            .with("SORTIE_JOURNAL__SEGMENT_BYTES", 16 << 20)
            .with("SORTIE_JOURNAL__RESERVE_BYTES", 4 << 20)
            .with("SORTIE_JOURNAL__BYTES_MAX", 1)
            .with("SORTIE_JOURNAL__SYNC", if self.unsynced { "off" } else { "data" });
        let trial = Trial::new(&self.rig, seed, directory, surroundings)?;
        let mut dice = Dice::new(seed);
        let running = trial.open().await?;
        let load = trial.load(&mut dice);
        let mut cuts = Cuts { trial: &trial, disk, dice, made: 0, in_recovery: 0 };
        let running = cuts.run(running, self.n).await?;
        load.stop().await;
        let findings = trial.settle_and_audit(running).await?;
        closing.count(cuts.made, "cuts");
        closing.count(cuts.in_recovery, "in recovery");
        closing.audited(&trial.posts, &findings);
        Ok(closing.print(seed))
    }
}

struct Cuts<'a> {
    trial: &'a Trial,
    disk: LoopDisk,
    dice: Dice,
    made: u32,
    in_recovery: u32,
}

impl<'a> Cuts<'a> {
    async fn run(&mut self, mut running: Running<'a>, cuts: u32) -> anyhow::Result<Running<'a>> {
        while self.made < cuts {
            self.trial.posts.begin_round();
            let moment = match self.dice.range(0, 10) {
                0..6 => self.dice.milliseconds(10, 150),
                6..9 => self.dice.milliseconds(150, 600),
                _ => self.dice.milliseconds(600, 2500),
            };
            tokio::time::sleep(moment).await;
            self.cut(running).await?;
            running = self.trial.sortie.start()?;
            while self.made < cuts && self.dice.hits_percent(IN_RECOVERY_PERCENT) {
                tokio::time::sleep(self.dice.milliseconds(1, 60)).await;
                self.cut(running).await?;
                self.in_recovery += 1;
                running = self.trial.sortie.start()?;
            }
            running.ready().await?;
            self.trial.spot_check(&mut self.dice, &format!("after cut {}", self.made)).await?;
        }
        Ok(running)
    }

    /// Cuts the power, ends the server as the machine would, and gives the power back.
    async fn cut(&mut self, running: Running<'a>) -> anyhow::Result<()> {
        let cut = match self.dice.range(0, 10) {
            0 => Cut::WithData,
            1..4 => Cut::WithLog,
            _ => Cut::Bare,
        };
        self.disk.cut(cut)?;
        // The server runs on without its disk for a moment: it must not acknowledge anything then.
        tokio::time::sleep(self.dice.milliseconds(1, 30)).await;
        let status = running.end()?;
        let expected = status.signal() == Some(SIGKILL) || status.code() == Some(DISK_FAILED);
        ensure!(expected, "after a cut the server ended with {status}");
        self.made += 1;
        self.disk.unmount()?;
        self.disk.mount()
    }
}
