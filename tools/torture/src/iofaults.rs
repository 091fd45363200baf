//! Errors of the disk at the N-th call of a kind, N growing until the fault is no longer met.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::dice::Dice;
use crate::process::{DISK_FAILED, ProcessEnvironment};
use crate::report::{Closing, RoundResult};
use crate::rig::Rig;
use crate::tools::{self, Injection};
use crate::trial::Trial;

const PARTITIONS: u64 = 4;
/// The exit code of a server that takes its data for damaged.
const DAMAGED: i32 = 65;
/// Long enough for the snapshots that are taken every two seconds.
const LIFE: Duration = Duration::from_millis(2600);
/// How long a server whose disk has failed may take to say so with its end.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// Let calls to the disk fail one after another, start again, and audit every promise
#[derive(Args)]
pub struct Iofaults {
    /// How many places of each kind of call are tried at most
    #[arg(long, default_value_t = 8)]
    places: u32,
    /// Only kinds whose name contains this, like `view` or `fdatasync`
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[command(flatten)]
    rig: Rig,
}

/// A kind of fault.
struct FaultKind {
    name: &'static str,
    call: &'static str,
    error: &'static str,
    files: FaultFiles,
    then: AfterFault,
}

#[derive(Clone, Copy)]
enum FaultFiles {
    All,
    /// The tables and versions of the view, also those that are yet to be made.
    View,
    /// What lies in the data directory now.
    Present,
}

/// What the server may do about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AfterFault {
    /// Exit with 75, and nothing else: the content of the disk is unknown.
    End,
    /// Exit with 75, or continue and refuse what it cannot do.
    EndOrLive,
    /// As before, or exit with 65: what cannot be read at startup counts as damaged.
    EndDamagedOrLive,
}

const KINDS: [FaultKind; 9] = [
    FaultKind {
        name: "fdatasync",
        call: "fdatasync",
        error: "EIO",
        files: FaultFiles::All,
        then: AfterFault::End,
    },
    FaultKind {
        name: "fsync",
        call: "fsync",
        error: "EIO",
        files: FaultFiles::All,
        then: AfterFault::EndOrLive,
    },
    FaultKind {
        name: "view-fsync",
        call: "fsync",
        error: "EIO",
        files: FaultFiles::View,
        then: AfterFault::End,
    },
    FaultKind {
        name: "view-write",
        call: "write",
        error: "EIO",
        files: FaultFiles::View,
        then: AfterFault::End,
    },
    FaultKind {
        name: "view-full",
        call: "write",
        error: "ENOSPC",
        files: FaultFiles::View,
        then: AfterFault::EndOrLive,
    },
    FaultKind {
        name: "journal-full",
        call: "pwrite64",
        error: "ENOSPC",
        files: FaultFiles::All,
        then: AfterFault::EndOrLive,
    },
    FaultKind {
        name: "reserve-full",
        call: "fallocate",
        error: "ENOSPC",
        files: FaultFiles::All,
        then: AfterFault::EndOrLive,
    },
    FaultKind {
        name: "pread",
        call: "pread64",
        error: "EIO",
        files: FaultFiles::Present,
        then: AfterFault::EndDamagedOrLive,
    },
    FaultKind {
        name: "read",
        call: "read",
        error: "EIO",
        files: FaultFiles::Present,
        then: AfterFault::EndDamagedOrLive,
    },
];

impl Iofaults {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        self.rig.within("iofaults", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("iofaults");
        if !tools::have("strace", "strace", "errors of the disk", &mut closing) {
            return Ok(closing.print(seed));
        }
        let surroundings = ProcessEnvironment::default()
            .with("SORTIE_PARTITIONS", PARTITIONS)
            .with("SORTIE_JOURNAL__SEGMENT_BYTES", 16 << 20)
            .with("SORTIE_JOURNAL__RESERVE_BYTES", 4 << 20)
            .with("SORTIE_JOURNAL__BYTES_MAX", 1);
        let trial = Trial::new(&self.rig, seed, directory, surroundings)?;
        let mut dice = Dice::new(seed);
        let running = trial.open().await?;
        let load = trial.load(&mut dice);
        // One round of snapshots: the view has files from here on.
        tokio::time::sleep(LIFE).await;
        running.kill()?;
        let mut faults = Faults { trial: &trial, dice, directory, injected: 0, ends: 0 };
        let only = |kind: &&FaultKind| self.only.as_ref().is_none_or(|text| kind.name.contains(text));
        for kind in KINDS.iter().filter(only) {
            faults
                .sweep(kind, self.places, &mut closing)
                .await
                .with_context(|| format!("with {}", kind.name))?;
        }
        let mut running = trial.sortie.start()?;
        running.ready().await?;
        load.stop().await;
        let findings = trial.settle_and_audit(running).await?;
        closing.count(faults.injected, "faults met");
        closing.count(faults.ends, "ends with 75");
        closing.audited(&trial.posts, &findings);
        Ok(closing.print(seed))
    }
}

struct Faults<'a> {
    trial: &'a Trial,
    dice: Dice,
    directory: &'a Path,
    injected: u32,
    ends: u32,
}

impl Faults<'_> {
    /// Tries the first places one by one, then ever wider apart, until the fault is no longer met.
    async fn sweep(&mut self, kind: &FaultKind, places: u32, closing: &mut Closing) -> anyhow::Result<()> {
        let mut place = 1;
        for round in 0..places {
            if !self.try_place(kind, place, closing).await? {
                break;
            }
            place += 1 + u64::from(round / 2) * self.dice.range(1, 4);
        }
        Ok(())
    }

    /// One life with the fault and the start of one without it. Whether the fault was met.
    async fn try_place(
        &mut self,
        kind: &FaultKind,
        place: u64,
        closing: &mut Closing,
    ) -> anyhow::Result<bool> {
        self.trial.posts.begin_round();
        let trace = self.directory.join("strace.txt");
        let injection = Injection {
            call: kind.call,
            does: format!("error={}:when={place}", kind.error),
            files: self.files(kind.files)?,
            trace: Some(&trace),
        };
        let what = format!("{} number {place}", kind.name);
        let mut running = self.trial.sortie.start_through(&injection.words())?;
        let mut ended = running.up_or_ended().await?;
        if ended.is_none() {
            ended = running.ended_within(LIFE).await?;
        }
        let met = tools::was_injected(&trace);
        if met && ended.is_none() && kind.then == AfterFault::End {
            ended = running.ended_within(END_PATIENCE).await?;
        }
        match ended {
            Some(status) if status.code() == Some(DISK_FAILED) && met => self.ends += 1,
            Some(status)
                if status.code() == Some(DAMAGED) && met && kind.then == AfterFault::EndDamagedOrLive => {}
            Some(status) => closing.add_finding(format!("{what}: the server ended with {status}")),
            None => {
                if met && kind.then == AfterFault::End {
                    closing.add_finding(format!("{what}: the server lives on"));
                }
                self.trial.spot_check_if_up(&mut self.dice, &format!("while {what} failed")).await?;
                running.kill()?;
            }
        }
        let mut running = self.trial.sortie.start()?;
        running.ready().await.with_context(|| format!("after {what}"))?;
        self.trial.spot_check(&mut self.dice, &format!("after {what}")).await?;
        running.kill()?;
        self.injected += u32::from(met);
        Ok(met)
    }

    fn files(&self, files: FaultFiles) -> anyhow::Result<Vec<PathBuf>> {
        let data = self.directory.join("server");
        match files {
            FaultFiles::All => Ok(Vec::new()),
            FaultFiles::Present => {
                let mut found = Vec::new();
                find(&data, &mut found).context("looking at the data directory")?;
                Ok(found)
            }
            FaultFiles::View => {
                let mut found = Vec::new();
                find(&data.join("view"), &mut found).context("looking at the view")?;
                let newest = found.iter().filter_map(|path| number(path)).max().unwrap_or(0);
                let partitions = (0..PARTITIONS).map(|id| data.join(format!("view/p-{id:05}")));
                let coming = |partition: PathBuf| {
                    let made =
                        move |id| [partition.join(format!("v{id}")), partition.join(format!("tables/{id}"))];
                    (0..newest + 20).flat_map(made)
                };
                Ok(partitions.flat_map(coming).collect())
            }
        }
    }
}

/// The number of a table or a version.
fn number(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix('v').unwrap_or(name).parse().ok()
}

fn find(directory: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            find(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}
