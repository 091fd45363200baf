//! `sortie cluster dev`: three nats-servers and three instances on this machine, and optionally a second region.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Args;
use drone_delivery::{Durability, Fleet, Settings, workflows};
use http::StatusCode;

use super::child::Child;
use super::keys::{Keys, write_private};
use super::plan::{ClusterLayout, Region};
use super::report::ClusterReport;
use super::{nats, settings};
use crate::client::{Call, Client};
use crate::signals::Signals;

/// Generous, because twelve processes share this machine.
const START_MAX: Duration = Duration::from_secs(120);
/// Longer than an instance takes to release its partitions.
const STOP_MAX: Duration = Duration::from_secs(45);
/// Longer than the timeout after which a partition's owner counts as lost.
const APPLY_MAX: Duration = Duration::from_secs(60);
const ASK_MAX: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(200);

/// Start a cluster on this machine: three nats-servers and three instances
///
/// With --regions there are two such regions, connected by leaf nodes. Every member is a separate process that you can
/// kill or freeze; none is restarted automatically, and all of them end with this command.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie cluster dev --regions --data ./cluster")]
pub struct Dev {
    /// Start a second region as the standby of the first
    #[arg(long)]
    regions: bool,
    /// Keep the data in this directory; by default it is temporary and deleted at the end
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The port of the first instance; the others follow. 0 picks free ports
    #[arg(long, default_value_t = 7070)]
    port: u16,
    /// The port of the first nats-server; the others follow. 0 picks free ports
    #[arg(long, value_name = "PORT", default_value_t = 4222)]
    nats_port: u16,
    /// The number of partitions, fixed at the first start
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    partitions: u16,
    /// The nats-server to use, 2.15 or newer; by default PATH and the build directory are searched
    #[arg(long, value_name = "PATH", env = "SORTIE_NATS_SERVER")]
    nats_server: Option<PathBuf>,
}

impl Dev {
    pub async fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        let report = ClusterReport { json };
        let server = nats::find(self.nats_server.as_deref())?;
        let mut signals = Signals::listen()?;
        let directory = Directory::open(self.data.as_deref())?;
        let keys = Keys::of(directory.path())?;
        let plan = ClusterLayout::new(directory.path(), self.regions, self.port, self.nats_port)?;
        let fleet = Fleet::start(fleet_settings(directory.path())).await?;
        let mut members = ClusterProcesses { all: Vec::new() };
        tokio::select! {
            biased; // Processes are stopped in order, even if the signal arrives during startup.
            () = signals.next() => return Ok(ExitCode::SUCCESS),
            started = members.start(&plan, &server, self.partitions, &keys) => started?,
        }
        let home = &plan.regions[0];
        for source in workflows::ready(&fleet.addresses()) {
            apply(home, &keys, source).await.context("applying a drone workflow")?;
        }
        report.ready(&plan, |name| members.pid(name), &keys, &directory)?;
        members.watch_until(&mut signals, &report).await?;
        report.stopping()?;
        tokio::select! {
            biased; // A clean shutdown counts, even if a signal arrived at the same time.
            ended = members.end() => ended?,
            () = signals.next() => {}
        }
        fleet.stop().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// The data directory.
pub enum Directory {
    Named(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Directory {
    fn open(named: Option<&Path>) -> anyhow::Result<Directory> {
        let Some(path) = named else {
            let made = tempfile::Builder::new().prefix("sortie-cluster-").tempdir();
            return Ok(Directory::Temporary(made.context("creating a directory")?));
        };
        fs::create_dir_all(path).with_context(|| format!("creating {}", path.display()))?;
        let path = path.canonicalize().with_context(|| format!("resolving {}", path.display()))?;
        Ok(Directory::Named(path))
    }

    pub fn path(&self) -> &Path {
        match self {
            Directory::Named(path) => path,
            Directory::Temporary(directory) => directory.path(),
        }
    }
}

fn fleet_settings(directory: &Path) -> Settings {
    let data = Some(directory.join("drone-services"));
    Settings { ports: [0; 5], data, durability: Durability::Flushed, ..Settings::default() }
}

/// The processes, NATS before Sortie in each region.
struct ClusterProcesses {
    all: Vec<ClusterProcess>,
}

struct ClusterProcess {
    child: Child,
    kind: ProcessKind,
    reported: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessKind {
    Nats,
    Sortie,
}

impl ClusterProcesses {
    async fn start(
        &mut self,
        plan: &ClusterLayout,
        server: &Path,
        partitions: u16,
        keys: &Keys,
    ) -> anyhow::Result<()> {
        for region in &plan.regions {
            let pair = plan.pair_of(region);
            for node in &region.nats {
                fs::create_dir_all(&node.directory).context("creating a directory")?;
                let file = node.directory.join("nats.conf");
                write_private(&file, &nats::configuration(node, region, pair, keys))?;
                let mut command = Command::new(server);
                command.arg("-c").arg(&file);
                self.add(ProcessKind::Nats, &node.name, command, &node.directory.join("nats.log"))?;
            }
        }
        for region in &plan.regions {
            for node in &region.nats {
                self.well(&format!("http://127.0.0.1:{}", node.monitor), "/healthz").await?;
            }
        }
        let own = std::env::current_exe().context("finding this executable")?;
        for region in &plan.regions {
            for instance in &region.instances {
                fs::create_dir_all(&instance.directory).context("creating a directory")?;
                let file = instance.directory.join("sortie.toml");
                write_private(&file, &settings::text(instance, region, partitions, keys))?;
                let mut command = Command::new(&own);
                command.args(["serve", "--config"]).arg(&file);
                self.add(
                    ProcessKind::Sortie,
                    &instance.name,
                    command,
                    &instance.directory.join("sortie.log"),
                )?;
            }
        }
        for (place, region) in plan.regions.iter().enumerate() {
            // A standby region owns no partitions, and its readiness check says so.
            let question = if place == 0 { "/readyz" } else { "/livez" };
            for instance in &region.instances {
                self.well(&instance.url(), question).await?;
            }
        }
        Ok(())
    }

    fn pid(&self, name: &str) -> u32 {
        let member = self.all.iter().find(|member| member.child.name == name);
        member.map_or(0, |member| member.child.pid())
    }

    fn add(&mut self, kind: ProcessKind, name: &str, command: Command, log: &Path) -> anyhow::Result<()> {
        self.all.push(ClusterProcess { child: Child::start(name, command, log)?, kind, reported: false });
        Ok(())
    }

    /// Waits until it responds with success.
    async fn well(&mut self, url: &str, question: &str) -> anyhow::Result<()> {
        let mut client = Client::new(url, None)?;
        let began = Instant::now();
        loop {
            let asked = tokio::time::timeout(ASK_MAX, client.try_send(Call::get(question))).await;
            if let Ok(Ok(answer)) = &asked
                && answer.status.is_success()
            {
                return Ok(());
            }
            for member in &mut self.all {
                if let Some(status) = member.child.ended()? {
                    bail!(
                        "{} ended before it was ready: {status}\n{}",
                        member.child.name,
                        member.child.said()
                    );
                }
            }
            ensure!(
                began.elapsed() < START_MAX,
                "{url}{question} did not succeed within {} s",
                START_MAX.as_secs()
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// Reports processes that end, until a signal arrives.
    async fn watch_until(&mut self, signals: &mut Signals, report: &ClusterReport) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                biased; // The signal first: processes that it ends are not reported.
                () = signals.next() => return Ok(()),
                () = tokio::time::sleep(POLL) => {}
            }
            for member in &mut self.all {
                let Some(status) = member.child.ended()? else { continue };
                if !member.reported {
                    let Child { name, command, .. } = &member.child;
                    report.ended(name, &status, command)?;
                    member.reported = true;
                }
            }
        }
    }

    /// Instances first, because they write to NATS until they have stopped.
    async fn end(&mut self) -> anyhow::Result<()> {
        for kind in [ProcessKind::Sortie, ProcessKind::Nats] {
            let began = Instant::now();
            let mut left = true;
            for member in self.all.iter_mut().filter(|member| member.kind == kind) {
                member.child.terminate()?;
            }
            while left && began.elapsed() < STOP_MAX {
                left = false;
                for member in self.all.iter_mut().filter(|member| member.kind == kind) {
                    left |= member.child.ended()?.is_none();
                }
                tokio::time::sleep(POLL / 4).await;
            }
        }
        Ok(())
    }
}

/// Applies a workflow. Retried, because partitions may still be moving, above all after members were killed.
async fn apply(region: &Region, keys: &Keys, source: String) -> anyhow::Result<()> {
    let mut client = Client::new(&region.instances[0].url(), Some(&keys.token))?;
    let began = Instant::now();
    loop {
        let call = Call::post("/v1/workflows", "application/yaml", source.clone());
        let answer = client.try_send(call).await?;
        if answer.status != StatusCode::SERVICE_UNAVAILABLE || began.elapsed() >= APPLY_MAX {
            return Ok(answer.success().map(drop)?);
        }
        tokio::time::sleep(POLL).await;
    }
}
