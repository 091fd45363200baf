//! The processes under torture: the server, which is killed, and the services, which live through it all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use drone_delivery::{Addresses, Service};
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;
use crate::dice::Dice;
use crate::workflow;

/// Far beyond what a recovery takes; a server that is not ready by then never will be.
const READY_PATIENCE: Duration = Duration::from_secs(60);
/// Longer than the server itself waits for calls in flight.
const STOP_PATIENCE: Duration = Duration::from_secs(45);
const PAGE_BYTES: u64 = 4096;
const READY_POLL: Duration = Duration::from_millis(3);

/// The exit code of a server whose disk has failed: its supervisor starts it again.
pub const DISK_FAILED: i32 = 75;

/// A child that never outlives this program.
pub struct ChildGuard(pub Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // Both fail only for a process that has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How to start the server, again and again on the same data and the same port.
pub struct Sortie {
    program: PathBuf,
    config: PathBuf,
    log: PathBuf,
    surroundings: ProcessEnvironment,
    pub address: SocketAddr,
}

/// What a fault changes around the server.
#[derive(Default, Clone)]
pub struct ProcessEnvironment {
    /// Variables: settings like `SORTIE_PARTITIONS`, and what the system's libraries read.
    pub variables: Vec<(String, String)>,
    /// A program with its arguments that becomes the server, like `prlimit --nofile=256`.
    pub through: Vec<String>,
}

impl ProcessEnvironment {
    pub fn with(mut self, name: &str, value: impl ToString) -> ProcessEnvironment {
        self.variables.push((name.to_owned(), value.to_string()));
        self
    }
}

/// A server that was started and may or may not be ready.
pub struct Running<'a> {
    sortie: &'a Sortie,
    child: ChildGuard,
}

impl Sortie {
    /// Writes the config into the directory; nothing is started yet.
    pub fn new(program: &Path, directory: &Path, token: &str, dice: &mut Dice) -> anyhow::Result<Sortie> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port(dice)?));
        let data = directory.join("server");
        let config = directory.join("sortie.toml");
        std::fs::write(&config, config_text(&data, address, token)).context("writing the config")?;
        let (log, surroundings) = (directory.join("sortie.log"), ProcessEnvironment::default());
        Ok(Sortie { program: program.to_owned(), config, log, surroundings, address })
    }

    pub fn surrounded_by(mut self, surroundings: ProcessEnvironment) -> Sortie {
        self.surroundings = surroundings;
        self
    }

    /// What the server wrote to its log in all its lives.
    pub fn log_text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn start(&self) -> anyhow::Result<Running<'_>> {
        self.start_through(&self.surroundings.through)
    }

    /// Starts it once by a program that becomes the server.
    pub fn start_through(&self, through: &[String]) -> anyhow::Result<Running<'_>> {
        let log = File::options().create(true).append(true).open(&self.log).context("opening the log")?;
        let mut words = through.iter().map(OsStr::new).chain([self.program.as_os_str()]);
        let child = Command::new(words.next().expect("the server's own program is always there"))
            .args(words)
            .arg("serve")
            .arg("--config")
            .arg(&self.config)
            .envs(self.surroundings.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", self.program.display()))?;
        Ok(Running { sortie: self, child: ChildGuard(child) })
    }
}

impl Running<'_> {
    /// Waits until it answers that it is ready. One that ends by itself before is an error.
    pub async fn ready(&mut self) -> anyhow::Result<()> {
        match self.ready_or_ended().await? {
            None => Ok(()),
            Some(status) => bail!(self.ended_by_itself(status)),
        }
    }

    /// Waits until it answers that it is ready, or until it has ended, and says how.
    pub async fn ready_or_ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.well_or_ended("/readyz").await
    }

    /// Waits until it answers at all, or until it has ended, and says how. It may lack space or a partition.
    pub async fn up_or_ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.well_or_ended("/livez").await
    }

    async fn well_or_ended(&mut self, question: &str) -> anyhow::Result<Option<ExitStatus>> {
        let mut client = Client::new(self.sortie.address, None);
        let began = Instant::now();
        while began.elapsed() < READY_PATIENCE {
            if let Some(status) = self.has_ended()? {
                return Ok(Some(status));
            }
            if client.get(question).await.is_ok_and(|answer| answer.status.is_success()) {
                return Ok(None);
            }
            tokio::time::sleep(READY_POLL).await;
        }
        bail!(
            "{question} was not well within {READY_PATIENCE:?}; the server's log is {}",
            self.sortie.log.display()
        )
    }

    /// How it ended, if it does so within this time.
    pub async fn ended_within(&mut self, patience: Duration) -> anyhow::Result<Option<ExitStatus>> {
        let began = Instant::now();
        loop {
            let ended = self.has_ended()?;
            if ended.is_some() || began.elapsed() >= patience {
                return Ok(ended);
            }
            tokio::time::sleep(READY_POLL.min(patience)).await;
        }
    }

    /// Waits until it answers, ready or not, or has ended.
    pub async fn answered(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        let mut client = Client::new(self.sortie.address, None);
        let began = Instant::now();
        while began.elapsed() < READY_PATIENCE {
            if let Some(status) = self.child.0.try_wait().context("waiting for the server")? {
                return Ok(Some(status));
            }
            if client.get("/readyz").await.is_ok() {
                return Ok(None);
            }
            tokio::time::sleep(READY_POLL).await;
        }
        bail!("the server did not answer within {READY_PATIENCE:?}; its log is {}", self.sortie.log.display())
    }

    /// SIGKILL. A server that has ended by itself is an error: nothing but the kill may end it.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.check_alive()?;
        self.child.0.kill().context("killing the server")?;
        self.child.0.wait().context("waiting for the killed server")?;
        Ok(())
    }

    /// SIGKILL to a server that may have ended by itself; how it ended.
    pub fn end(mut self) -> anyhow::Result<ExitStatus> {
        self.child.0.kill().context("killing the server")?;
        self.child.0.wait().context("waiting for the killed server")
    }

    /// SIGTERM, and the wait for its end, which must be a success.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.check_alive()?;
        kill_process(self.pid()?, Signal::TERM).context("asking the server to end")?;
        let began = Instant::now();
        while began.elapsed() < STOP_PATIENCE {
            if let Some(status) = self.child.0.try_wait().context("waiting for the server")? {
                ensure!(status.success(), "the server ended with {status}");
                return Ok(());
            }
            tokio::time::sleep(READY_POLL).await;
        }
        bail!("the server did not end within {STOP_PATIENCE:?}; its log is {}", self.sortie.log.display())
    }

    /// Resident memory now, in bytes; zero once it has ended.
    pub fn resident_bytes(&self) -> u64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.child.0.id())).unwrap_or_default();
        let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
        pages.unwrap_or(0) * PAGE_BYTES
    }

    /// The most resident memory that it ever had, in bytes; zero once it has ended.
    pub fn peak_bytes(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.0.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.unwrap_or(0) << 10
    }

    pub fn pid(&self) -> anyhow::Result<Pid> {
        Pid::from_raw(self.child.0.id().try_into()?).context("a process has a number")
    }

    pub fn check_alive(&mut self) -> anyhow::Result<()> {
        match self.has_ended()? {
            None => Ok(()),
            Some(status) => bail!(self.ended_by_itself(status)),
        }
    }

    fn has_ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.child.0.try_wait().context("waiting for the server")
    }

    fn ended_by_itself(&self, status: ExitStatus) -> String {
        format!("the server ended by itself: {status}; its log is {}", self.sortie.log.display())
    }
}

/// Outside of the range from which clients get their ports: a client that connects while the server is down
/// could otherwise be given the server's port.
fn free_port(dice: &mut Dice) -> anyhow::Result<u16> {
    for _ in 0..200 {
        let port = dice.range(10_000, 30_000) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port between 10000 and 30000 is free")
}

fn config_text(data: &Path, address: SocketAddr, token: &str) -> String {
    format!(
        "data = {:?}
listen = \"{address}\"

[tokens.torture]
role = \"admin\"
secret = \"{token}\"

# The drone services listen on this machine.
[egress]
loopback = true

[jobs]
retry_interval_min = \"100ms\"
",
        data.display().to_string()
    )
}

/// The five services in a process of their own.
pub struct Drones {
    addresses: Addresses,
    _child: ChildGuard,
}

impl Drones {
    pub fn start(program: &Path, directory: &Path, seed: u64) -> anyhow::Result<Drones> {
        let switches = serde_json::to_string(&workflow::switches(seed))?;
        let mut child = Command::new(program)
            .arg("--data")
            .arg(directory.join("services"))
            .args(["--port-base", "0", "--no-sync", "--switches", &switches])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(directory.join("services.log")).context("making a log")?)
            .spawn()
            .map(ChildGuard)
            .with_context(|| format!("starting {}", program.display()))?;
        let output = child.0.stdout.take().expect("the output was asked for");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("reading from the services")?;
        let addresses = addresses(&line)?;
        Ok(Drones { addresses, _child: child })
    }

    pub fn addresses(&self) -> &Addresses {
        &self.addresses
    }
}

/// Reads `ready account=http://127.0.0.1:7101 …`.
fn addresses(line: &str) -> anyhow::Result<Addresses> {
    let words = line.strip_prefix("ready ").with_context(|| format!("the services printed {line:?}"))?;
    let mut addresses = Addresses::new();
    for word in words.split_whitespace() {
        let (service, url) =
            word.split_once('=').with_context(|| format!("the services printed {word:?}"))?;
        let address = url.strip_prefix("http://").unwrap_or(url).parse();
        addresses
            .insert(service.parse()?, address.with_context(|| format!("the services printed {word:?}"))?);
    }
    ensure!(addresses.len() == Service::ALL.len(), "the services printed {line:?}");
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_all_services_are_read_or_refused() {
        let all =
            Service::ALL.map(|service| format!("{service}=http://127.0.0.1:{}", service.default_port()));
        let read = addresses(&format!("ready {}\n", all.join(" "))).unwrap();
        assert_eq!(read[&Service::Drone].port(), 7104);
        assert!(addresses(&format!("ready {}\n", all[0])).is_err());
        assert!(addresses("listening\n").is_err());
    }
}
