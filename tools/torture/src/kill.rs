//! SIGKILL under load, at random moments and at the N-th system call of a kind, and in the recovery from it.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::ensure;
use clap::Args;

use crate::dice::Dice;
use crate::process::{ProcessEnvironment, Running};
use crate::report::{Closing, RoundResult};
use crate::rig::Rig;
use crate::tools::{self, Injection};
use crate::trial::Trial;

/// Lives in a hundred that end at a system call.
const AT_A_CALL_PERCENT: u64 = 40;
/// Other lives in a hundred that end before the server is ready.
const IN_RECOVERY_PERCENT: u64 = 25;
/// Kills in a row before the server becomes ready once.
const NESTED_MAX: u32 = 5;
/// How long to wait for a call: the first snapshots are taken right after the start.
const AT_CALL_PATIENCE: Duration = Duration::from_millis(600);
/// What the server does to its files and connections, and how often a thread does so in a short life.
const CALLS: [(&str, u64); 12] = [
    ("pwrite64", 120),
    ("fdatasync", 80),
    ("fsync", 5),
    ("write", 8),
    ("openat", 40),
    ("rename,renameat", 1),
    ("unlink", 2),
    ("ftruncate", 1),
    ("mkdir", 1),
    ("pread64", 30),
    ("writev,sendto", 60),
    ("recvfrom", 60),
];

/// Kill the server at random moments and at system calls under load, start it again, and audit every promise
#[derive(Args)]
pub struct Kill {
    /// How often to kill
    #[arg(long, default_value_t = 100)]
    n: u32,
    #[command(flatten)]
    rig: Rig,
}

impl Kill {
    pub async fn run(self) -> anyhow::Result<RoundResult> {
        ensure!(self.n > 0, "--n is at least 1");
        self.rig.within("kill", async |seed, directory| self.torture(seed, directory).await).await
    }

    async fn torture(&self, seed: u64, directory: &Path) -> anyhow::Result<RoundResult> {
        let mut closing = Closing::new("kill");
        let traced = tools::have("strace", "strace", "kills at system calls", &mut closing);
        // Snapshots every two seconds: their files are written and removed under the kills.
        let surroundings = ProcessEnvironment::default()
            .with("SORTIE_PARTITIONS", 8)
            .with("SORTIE_JOURNAL__SEGMENT_BYTES", 16 << 20)
            .with("SORTIE_JOURNAL__BYTES_MAX", 1);
        let trial = Trial::new(&self.rig, seed, directory, surroundings)?;
        let mut dice = Dice::new(seed);
        let running = trial.open().await?;
        let load = trial.load(&mut dice);
        let mut lives = Lives { trial: &trial, dice, traced, at_call: false, tally: Tally::default() };
        // The last kill is kept for the end, when all runs have ended.
        let running = lives.run(running, self.n - 1).await?;
        load.stop().await;
        let findings = trial.settle_and_audit(running).await?;
        let tally = lives.tally;
        closing.count(tally.kills + 1, "kills");
        closing.count(tally.at_calls, "at system calls");
        closing.count(tally.in_recovery, "in recovery");
        closing.audited(&trial.posts, &findings);
        Ok(closing.print(seed))
    }
}

#[derive(Default, Clone, Copy)]
struct Tally {
    kills: u32,
    at_calls: u32,
    /// Before the server was ready.
    in_recovery: u32,
}

struct Lives<'a> {
    trial: &'a Trial,
    dice: Dice,
    traced: bool,
    /// Whether the present life is to end at a call.
    at_call: bool,
    tally: Tally,
}

/// How a life of the server is to end.
enum LifeEnd {
    /// After this time, ready or not.
    Early(Duration),
    /// At a system call that it may or may not reach; otherwise by a signal.
    AtCall(Vec<String>),
    /// By a signal, some time after it was ready.
    Late,
}

impl<'a> Lives<'a> {
    /// Kills until the number is reached; returns a server that is ready.
    async fn run(&mut self, mut running: Running<'a>, kills: u32) -> anyhow::Result<Running<'a>> {
        let mut nested = 0;
        while self.tally.kills < kills {
            self.trial.posts.begin_round();
            self.end(running).await?;
            loop {
                let fate = self.fate(nested, kills);
                if let Some(ready) = self.live(&fate).await? {
                    running = ready;
                    nested = 0;
                    break;
                }
                nested += 1;
                self.tally.in_recovery += 1;
            }
            let when = format!("after kill {}", self.tally.kills);
            if self.at_call {
                // It may die during the queries.
                self.trial.spot_check_if_up(&mut self.dice, &when).await?;
            } else {
                self.trial.spot_check(&mut self.dice, &when).await?;
            }
        }
        Ok(running)
    }

    fn fate(&mut self, nested: u32, kills: u32) -> LifeEnd {
        if nested == NESTED_MAX || self.tally.kills == kills {
            return LifeEnd::Late;
        }
        if self.traced && self.dice.hits_percent(AT_A_CALL_PERCENT) {
            let (call, most) = CALLS[self.dice.range(0, CALLS.len() as u64) as usize];
            // Small numbers more often than large ones: every thread reaches its first calls.
            let most = self.dice.range(1, most + 1);
            let when = self.dice.range(1, most + 1);
            let does = format!("signal=SIGKILL:when={when}");
            return LifeEnd::AtCall(Injection { call, does, files: Vec::new(), trace: None }.words());
        }
        if self.dice.hits_percent(IN_RECOVERY_PERCENT) {
            return LifeEnd::Early(self.dice.milliseconds(1, 80));
        }
        LifeEnd::Late
    }

    /// Starts the server; returns it once it is ready, unless it dies before.
    async fn live(&mut self, fate: &LifeEnd) -> anyhow::Result<Option<Running<'a>>> {
        self.at_call = false;
        let mut running = match fate {
            LifeEnd::AtCall(through) => self.trial.sortie.start_through(through)?,
            LifeEnd::Early(_) | LifeEnd::Late => self.trial.sortie.start()?,
        };
        match fate {
            LifeEnd::Early(moment) => {
                tokio::time::sleep(*moment).await;
                running.kill()?;
                self.tally.kills += 1;
                Ok(None)
            }
            LifeEnd::AtCall(_) => {
                self.at_call = true;
                let Some(status) = running.ready_or_ended().await? else { return Ok(Some(running)) };
                self.note_death_at_call(status)?;
                Ok(None)
            }
            LifeEnd::Late => {
                running.ready().await?;
                Ok(Some(running))
            }
        }
    }

    /// Waits for the end of a server that is ready, or makes it.
    async fn end(&mut self, mut running: Running<'a>) -> anyhow::Result<()> {
        let moment = if self.at_call { AT_CALL_PATIENCE } else { self.moment() };
        if let Some(status) = running.ended_within(moment).await? {
            return self.note_death_at_call(status);
        }
        running.kill()?;
        self.tally.kills += 1;
        Ok(())
    }

    /// When to kill after readiness: mostly soon, sometimes when there is much to lose.
    fn moment(&mut self) -> Duration {
        match self.dice.range(0, 10) {
            0..6 => self.dice.milliseconds(5, 60),
            6..9 => self.dice.milliseconds(60, 400),
            _ => self.dice.milliseconds(400, 1500),
        }
    }

    /// Nothing but a kill may end the server.
    fn note_death_at_call(&mut self, status: ExitStatus) -> anyhow::Result<()> {
        use std::os::unix::process::ExitStatusExt;
        ensure!(status.signal() == Some(9), "the server ended by itself: {status}");
        self.tally.kills += 1;
        self.tally.at_calls += 1;
        Ok(())
    }
}
