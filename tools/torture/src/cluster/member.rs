//! One process of a cluster under torture: it is killed, frozen, stopped and started again.

use std::ffi::OsString;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;
use crate::cluster::network::MemberAddress;
use crate::process::{ChildGuard, DISK_FAILED};

/// Far beyond what a start takes on a busy machine.
const WELL_PATIENCE: Duration = Duration::from_secs(120);
/// Longer than an instance takes to release its partitions.
const STOP_PATIENCE: Duration = Duration::from_secs(90);
const ASK_PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    Nats,
    Sortie,
}

/// How to start it, and the process if there is one.
pub struct Member {
    pub name: String,
    pub kind: MemberKind,
    pub place: MemberAddress,
    program: PathBuf,
    arguments: Vec<OsString>,
    log: PathBuf,
    process: Option<ChildGuard>,
}

impl Member {
    pub fn new(
        name: &str,
        kind: MemberKind,
        place: MemberAddress,
        program: PathBuf,
        arguments: Vec<OsString>,
        log: PathBuf,
    ) -> Member {
        Member { name: name.to_owned(), kind, place, program, arguments, log, process: None }
    }

    /// The address of its health check: its API, or the monitor of NATS.
    pub fn address(&self) -> SocketAddr {
        let port = match self.kind {
            MemberKind::Nats => super::region::MONITOR_PORT,
            MemberKind::Sortie => super::region::API_PORT,
        };
        SocketAddr::new(IpAddr::V4(self.place.ip), port)
    }

    pub fn start(&mut self) -> anyhow::Result<()> {
        ensure!(self.process.is_none(), "{} is started already", self.name);
        let log = File::options().create(true).append(true).open(&self.log).context("opening a log")?;
        let errors = log.try_clone().context("opening a log")?;
        // It ends with this program, however that ends.
        let leash = ["setpriv", "--pdeathsig", "KILL"].map(str::to_owned);
        let mut words = self.place.through.iter().cloned().chain(leash).map(OsString::from);
        let mut command = Command::new(words.next().expect("there is at least the leash"));
        command.args(words).arg(&self.program).args(&self.arguments);
        // Where the nats-server is found is said by a variable that a server would take for a setting.
        command.env_remove("SORTIE_NATS_SERVER").stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = command.spawn().with_context(|| format!("starting {}", self.name))?;
        self.process = Some(ChildGuard(child));
        Ok(())
    }

    /// SIGKILL. One that has ended by itself is an error: nothing but a fault may end it.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.check_alive()?;
        self.process = None;
        Ok(())
    }

    /// Takes note of an end that was asked for by other means.
    pub fn bury(&mut self) {
        self.process = None;
    }

    pub fn freeze(&self) -> anyhow::Result<()> {
        self.signal(Signal::STOP)
    }

    pub fn thaw(&self) -> anyhow::Result<()> {
        self.signal(Signal::CONT)
    }

    /// SIGTERM.
    pub fn ask_to_end(&mut self) -> anyhow::Result<()> {
        self.check_alive()?;
        self.signal(Signal::TERM)
    }

    /// Waits for the end of one that was asked to.
    pub async fn end_of_asked(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        while self.ended()?.is_none() {
            ensure!(began.elapsed() < STOP_PATIENCE, "{} did not end within {STOP_PATIENCE:?}", self.name);
            tokio::time::sleep(POLL).await;
        }
        self.process = None;
        Ok(())
    }

    /// Waits until its health check succeeds.
    pub async fn well(&mut self) -> anyhow::Result<()> {
        let question = match self.kind {
            MemberKind::Nats => "/healthz",
            MemberKind::Sortie => "/readyz",
        };
        self.answers(question).await
    }

    /// Waits until it answers this with a success.
    pub async fn answers(&mut self, question: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut said = String::new();
        while began.elapsed() < WELL_PATIENCE {
            self.start_again_if_asked()?;
            match Client::new(self.address(), None).within(ASK_PATIENCE).get(question).await {
                Ok(answer) if answer.status.is_success() => return Ok(()),
                Ok(answer) => said = format!("{} {}", answer.status, answer.text()),
                Err(error) => said = format!("{error:#}"),
            }
            tokio::time::sleep(POLL).await;
        }
        bail!(
            "{}{question} is not well within {WELL_PATIENCE:?}: {said}; log {}",
            self.name,
            self.log.display()
        )
    }

    /// An instance that says "try again" is started again, as its supervisor would do.
    fn start_again_if_asked(&mut self) -> anyhow::Result<()> {
        match self.ended()? {
            Some(status) if status.code() == Some(DISK_FAILED) => {
                self.process = None;
                self.start()
            }
            _ => self.check_alive(),
        }
    }

    pub fn check_alive(&mut self) -> anyhow::Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => {
                bail!("{} ended by itself: {status}; its log is {}", self.name, self.log.display())
            }
        }
    }

    fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let process = self.process.as_mut().with_context(|| format!("{} was not started", self.name))?;
        process.0.try_wait().with_context(|| format!("looking after {}", self.name))
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let process = self.process.as_ref().with_context(|| format!("{} was not started", self.name))?;
        let pid = Pid::from_raw(process.0.id().try_into()?).context("a process has a number")?;
        kill_process(pid, signal).with_context(|| format!("signalling {}", self.name))
    }
}
