//! The fleet: all five services, started and stopped together.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::audit::{Audit, audit};
use crate::book::{Book, Totals};
use crate::commit::Committer;
use crate::ledger::{self, Entry};
use crate::server::Server;
use crate::service::Service;
use crate::switches::{Hits, Switches};

/// How long a stop waits for responses in progress.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// Connections that may wait to be taken. With the usual 128, a burst of new ones costs some a second.
const BACKLOG_CONNECTIONS: u32 = 4096;

/// Where each service listens.
pub type Addresses = BTreeMap<Service, SocketAddr>;

/// When an answer may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// After the effect was handed to the operating system: a killed process loses nothing.
    Flushed,
    /// After the effect is on stable storage: a power cut loses nothing.
    Synced,
}

/// How to start a fleet.
#[derive(Debug, Clone)]
pub struct Settings {
    /// In the order of [`Service::ALL`]; 0 takes any free port.
    pub ports: [u16; 5],
    /// Where the ledgers are; `None` keeps them in memory.
    pub data: Option<PathBuf>,
    pub durability: Durability,
    /// Switches from the start; a service that is not named is not hurt.
    pub switches: BTreeMap<Service, Switches>,
}

impl Default for Settings {
    /// The default ports, in memory, not hurt.
    fn default() -> Settings {
        Settings {
            ports: Service::ALL.map(Service::default_port),
            data: None,
            durability: Durability::Flushed,
            switches: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Any free ports, in memory, not hurt: for tests.
    pub fn on_any_ports() -> Settings {
        Settings { ports: [0; 5], ..Settings::default() }
    }
}

/// The five services, running until stopped or dropped.
pub struct Fleet {
    members: BTreeMap<Service, Member>,
}

struct Member {
    address: SocketAddr,
    server: Arc<Server>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Fleet {
    /// Starts all services on 127.0.0.1; all listen when this returns. Needs a tokio runtime.
    pub async fn start(settings: Settings) -> anyhow::Result<Fleet> {
        if let Some(directory) = &settings.data {
            std::fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
        }
        let mut members = BTreeMap::new();
        for (service, port) in Service::ALL.into_iter().zip(settings.ports) {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let listener = listen(address)
                .with_context(|| format!("listening on {address} for the {service} service"))?;
            let switches = settings.switches.get(&service).cloned().unwrap_or_default();
            switches.check().map_err(|invalid| {
                anyhow::anyhow!("switches of {service}: {} {}", invalid.pointer, invalid.detail)
            })?;
            let server = open(service, settings.data.as_deref(), settings.durability, switches)?;
            members.insert(service, Member::start(listener, Arc::new(server))?);
        }
        Ok(Fleet { members })
    }

    pub fn addresses(&self) -> Addresses {
        self.members.iter().map(|(service, member)| (*service, member.address)).collect()
    }

    /// The base URL of a service, without a slash at the end.
    pub fn url(&self, service: Service) -> String {
        format!("http://{}", self.members[&service].address)
    }

    pub fn switches(&self, service: Service) -> Switches {
        (*self.members[&service].server.switches()).clone()
    }

    /// Sets the switches of a service at once, as `PUT /switches` does.
    pub fn set_switches(&self, service: Service, switches: Switches) -> anyhow::Result<()> {
        switches.check().map_err(|invalid| anyhow::anyhow!("{} {}", invalid.pointer, invalid.detail))?;
        self.members[&service].server.set_switches(switches);
        Ok(())
    }

    /// How many requests of a service were hurt, and by what.
    pub fn hits(&self, service: Service) -> Hits {
        self.members[&service].server.hits()
    }

    /// What a service has done, in numbers.
    pub fn totals(&self, service: Service) -> Totals {
        self.members[&service].server.book().totals()
    }

    /// All entries of one service.
    pub fn entries(&self, service: Service) -> anyhow::Result<Vec<Entry>> {
        let text = self.members[&service].server.book().text()?;
        ledger::entries_of(&text)
    }

    /// Audits all five ledgers as they are now.
    pub fn audit(&self) -> anyhow::Result<Audit> {
        let mut entries = Vec::new();
        for service in Service::ALL {
            entries.extend(self.entries(service)?);
        }
        Ok(audit(&entries))
    }

    /// Stops listening, lets responses in progress finish, drops what hangs or is late, and closes
    /// the ledgers.
    pub async fn stop(mut self) {
        for member in self.members.values_mut() {
            // An error means that the task has ended already.
            let _ = member.stop.take().map(|stop| stop.send(()));
        }
        for member in self.members.values_mut() {
            // Before the grace period, so that nothing waits for late work; and after it, for what arrived during it.
            member.server.drop_late().await;
            // A panic in it has been printed by the runtime.
            let _ = (&mut member.task).await;
            member.server.drop_late().await;
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.task.abort();
        self.server.abort_late();
    }
}

impl Member {
    fn start(listener: TcpListener, server: Arc<Server>) -> anyhow::Result<Member> {
        let address = listener.local_addr().context("asking for the address of a listener")?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve(listener, server.clone(), stopped));
        Ok(Member { address, server, stop: Some(stop), task })
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG_CONNECTIONS)
}

fn open(
    service: Service,
    directory: Option<&Path>,
    durability: Durability,
    switches: Switches,
) -> anyhow::Result<Server> {
    let book = match directory {
        None => Book::in_memory(service)?,
        Some(directory) => Book::open(service, &ledger::file_in(directory, service))?,
    };
    let committer = match (durability, directory) {
        (Durability::Synced, Some(directory)) => {
            let directory = std::fs::File::open(directory).context("opening the data directory")?;
            directory.sync_all().context("syncing the data directory")?;
            Some(
                Committer::start(service.as_str(), book.file().clone())
                    .context("starting the sync thread")?,
            )
        }
        (Durability::Flushed, _) | (Durability::Synced, None) => None,
    };
    Ok(Server::new(service, book, committer, switches))
}

async fn serve(listener: TcpListener, server: Arc<Server>, mut stopped: oneshot::Receiver<()>) {
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased; // A stop goes before a new connection; ended ones are swept before more are taken.
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_connection(stream, server.clone(), graceful.watcher()));
                }
                // Out of file descriptors: wait for connections to end instead of spinning.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
    drop(listener);
    // Those still open after the grace hang on purpose or belong to a client that does not read.
    let _ = tokio::time::timeout(STOP_GRACE, graceful.shutdown()).await;
    connections.shutdown().await;
}

async fn serve_connection(
    stream: TcpStream,
    server: Arc<Server>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    // Without it only latency suffers.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| server.clone().handle(request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service);
    // An error is a client that went away or an answer that was lost on purpose.
    let _ = watcher.watch(connection).await;
}
