//! The server under test: `sortie serve` as a process of its own, on a directory that goes with it; or servers that run
//! already.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;
use terminal::machine::{self, Mount, StorageKind, SyncLatency};

use super::child::Child;
use super::load::{Answers, Target};
use super::options::{DataDirectory, Running};
use crate::client::{ApiClient, Call};

/// A server with syncs enabled, its address and its token.
pub struct Subject {
    // Dropped in this order: the process ends before its directory goes.
    child: Option<Child>,
    directory: TempDir,
    pub address: SocketAddr,
    /// Other addresses of servers that run already.
    others: Vec<SocketAddr>,
    pub token: String,
}

impl Subject {
    /// Starts a server on any free port of this machine, with its data somewhere in `place`. Its settings are those
    /// of every server, with `settings` added as further TOML.
    pub async fn start(place: &DataDirectory, settings: &str) -> anyhow::Result<Subject> {
        let place = place.data.clone().unwrap_or_else(std::env::temp_dir);
        let directory = tempfile::Builder::new().prefix("sortie-bench-").tempdir_in(&place);
        let directory = directory.with_context(|| format!("making a directory in {}", place.display()))?;
        let token = format!("bench-{:032x}", random());
        let config = directory.path().join("sortie.toml");
        std::fs::write(&config, config_text(&token) + settings).context("writing the server's settings")?;
        let (child, address) = serve(directory.path()).await?;
        Ok(Subject { child: Some(child), directory, address, others: Vec::new(), token })
    }

    /// Servers that run already when some are named, otherwise one that is started.
    pub async fn of(
        running: &Running,
        token: Option<&str>,
        place: &DataDirectory,
    ) -> anyhow::Result<Subject> {
        let Some((first, others)) = running.cluster.split_first() else {
            return Subject::start(place, "").await;
        };
        let place = place.data.clone().unwrap_or_else(std::env::temp_dir);
        let directory = tempfile::Builder::new().prefix("sortie-bench-").tempdir_in(&place);
        let directory = directory.with_context(|| format!("making a directory in {}", place.display()))?;
        let others = others.iter().map(|url| address_of(url)).collect::<anyhow::Result<_>>()?;
        let (address, token) = (address_of(first)?, token.unwrap_or_default().to_owned());
        Ok(Subject { child: None, directory, address, others, token })
    }

    /// A prefix of ids, so that they differ from those of earlier measurements; empty for a server of its own.
    pub fn mark(&self) -> String {
        match self.child {
            Some(_) => String::new(),
            None => {
                let name = self.directory.path().file_name().unwrap_or_default().to_string_lossy();
                name.rsplit('-').next().unwrap_or_default().to_owned()
            }
        }
    }

    /// A client for each address.
    pub fn clients(&self) -> anyhow::Result<Vec<ApiClient>> {
        let addresses = [self.address].into_iter().chain(self.others.iter().copied());
        let client = |address| Ok(ApiClient::new(&format!("http://{address}"), Some(&self.token))?);
        addresses.map(client).collect()
    }

    /// Whether it was started for the measurement alone.
    pub fn is_own(&self) -> bool {
        self.child.is_some()
    }

    /// Kills the server; its directory stays.
    pub fn kill(self) -> Stopped {
        let Subject { child, directory, token, .. } = self;
        drop(child);
        Stopped { directory, token }
    }

    /// Where the server keeps its data.
    pub fn data_directory(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Where requests to a workflow go.
    pub fn target(&self, workflow: &str) -> Target {
        let path = format!("/v1/workflows/{workflow}/runs");
        let (address, others, token) = (self.address, self.others.clone(), self.token.clone());
        Target { address, others, path, token, answers: Answers::Whole }
    }

    /// Bytes of memory that the server holds.
    pub fn memory_bytes(&self) -> anyhow::Result<u64> {
        let child = self.child.as_ref().context("the memory of a server that runs already is not known")?;
        machine::resident_bytes(child.id()).context("reading the memory of the server")
    }

    pub fn client(&self) -> anyhow::Result<ApiClient> {
        Ok(ApiClient::new(&format!("http://{}", self.address), Some(&self.token))?)
    }

    /// Deploys a workflow.
    pub async fn apply(&self, source: String) -> anyhow::Result<()> {
        let call = Call::post("/v1/workflows", "application/yaml", source);
        self.client()?.send(call).await.context("applying the workflow")?;
        Ok(())
    }

    /// What an acknowledgement means here, and on what.
    pub fn sync(&self) -> anyhow::Result<Sync> {
        Sync::of(self.directory.path())
    }
}

/// What remains of a killed server.
pub struct Stopped {
    directory: TempDir,
    token: String,
}

impl Stopped {
    /// Starts a server on the same directory.
    pub async fn start(self) -> anyhow::Result<Subject> {
        let Stopped { directory, token } = self;
        let (child, address) = serve(directory.path()).await?;
        Ok(Subject { child: Some(child), directory, address, others: Vec::new(), token })
    }
}

/// Starts a server on what `directory` holds, on any free port.
async fn serve(directory: &Path) -> anyhow::Result<(Child, SocketAddr)> {
    let (config, data) = (directory.join("sortie.toml"), directory.join("data"));
    let arguments =
        ["serve".as_ref(), "--config".as_ref(), config.as_os_str(), "--data".as_ref(), data.as_os_str()];
    let listen = ["--listen".as_ref(), "127.0.0.1:0".as_ref()];
    let (child, line) = Child::start("the server", &[&arguments[..], &listen[..]].concat()).await?;
    let address = line.strip_prefix("listening on http://").and_then(|address| address.parse().ok());
    let address = address.with_context(|| format!("the server's first line is {line:?}"))?;
    Ok((child, address))
}

/// The address in a URL like `http://127.0.0.1:7070`.
fn address_of(url: &str) -> anyhow::Result<SocketAddr> {
    let address = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
    address
        .and_then(|address| address.to_socket_addrs().ok()?.next())
        .with_context(|| format!("--cluster {url:?} is not like http://127.0.0.1:7070"))
}

/// How the server's writes become durable.
pub struct Sync {
    pub mode: &'static str,
    pub file_system: String,
    pub latency: SyncLatency,
}

impl Sync {
    /// Writes in this directory, and how long they take.
    pub fn of(directory: &Path) -> anyhow::Result<Sync> {
        let mount = Mount::of(directory)?;
        let latency = SyncLatency::measure(directory)?;
        let mode = match mount.storage() {
            StorageKind::Memory => "none: memory is not a disk",
            StorageKind::Disk | StorageKind::Layers | StorageKind::Network => "fdatasync",
        };
        Ok(Sync { mode, file_system: mount.file_system, latency })
    }

    /// Of several, the one whose latency is in the middle. There is at least one.
    pub fn middle(mut syncs: Vec<Sync>) -> Sync {
        syncs.sort_by_key(|sync| sync.latency.p50);
        syncs.swap_remove(syncs.len() / 2)
    }
}

fn config_text(token: &str) -> String {
    // The mock services listen on loopback; everything else is as a server has it by default.
    format!("[tokens.bench]\nrole = \"admin\"\nsecret = \"{token}\"\n[egress]\nloopback = true\n")
}

/// Enough chance for a token that lives for a minute on loopback.
fn random() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    let half = || u128::from(RandomState::new().hash_one(std::process::id()));
    half() << 64 | half()
}
