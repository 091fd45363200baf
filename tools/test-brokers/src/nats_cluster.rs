//! A cluster of NATS servers with JetStream, configured as the journal needs it, and ways to do it harm.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::installed;
use crate::process::{Folder, Process, lasting_port, local};

/// Generous: an election takes seconds, and a busy machine makes more of them.
const READY_MAX: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// What a cluster is like; the default is what the journal requires.
#[derive(Debug, Clone)]
pub struct NatsSettings {
    pub servers: usize,
    /// `jetstream { sync_interval: always }`.
    pub sync_always: bool,
    pub max_payload: String,
    /// `jetstream { max_file_store }`.
    pub max_file_store: String,
    /// The JetStream domain; with one, leaf nodes are taken.
    pub domain: Option<String>,
    /// What leaf connections are made to: [`NatsCluster::leaf_urls`] of another cluster.
    pub remotes: Vec<String>,
    /// Subjects that leaf connections carry in neither direction.
    pub remotes_deny: Vec<String>,
    /// Whether there is a system account, with the user `sys` and the password `sys`. Others need not say who they
    /// are; they are `sortie` with the password `sortie`.
    pub system_account: bool,
    /// Lines to add to the configuration of each server.
    pub more: String,
}

impl Default for NatsSettings {
    fn default() -> NatsSettings {
        NatsSettings {
            servers: 3,
            sync_always: true,
            max_payload: "8MB".to_owned(),
            max_file_store: "8GB".to_owned(),
            domain: None,
            remotes: Vec::new(),
            remotes_deny: Vec::new(),
            system_account: false,
            more: String::new(),
        }
    }
}

/// A running cluster. Servers are counted from 0; their names are `n1`, `n2`, `n3` after the domain.
pub struct NatsCluster {
    nodes: Vec<Node>,
    folder: Folder,
    settings: NatsSettings,
}

struct Node {
    server: Option<Process>,
    name: String,
    port: u16,
    monitor_port: u16,
    route_port: u16,
    leaf_port: u16,
}

impl NatsCluster {
    /// Three servers as the journal needs them.
    pub fn start() -> anyhow::Result<NatsCluster> {
        NatsCluster::start_with(NatsSettings::default())
    }

    /// Starts the servers and waits until they agree who leads.
    pub fn start_with(settings: NatsSettings) -> anyhow::Result<NatsCluster> {
        let folder = Folder::new()?;
        let domain = settings.domain.as_ref().map(|domain| format!("{domain}-")).unwrap_or_default();
        let mut nodes = Vec::new();
        for number in 1..=settings.servers {
            nodes.push(Node {
                server: None,
                name: format!("{domain}n{number}"),
                port: lasting_port()?,
                monitor_port: lasting_port()?,
                route_port: lasting_port()?,
                leaf_port: lasting_port()?,
            });
        }
        let mut cluster = NatsCluster { nodes, folder, settings };
        for node in 0..cluster.nodes.len() {
            cluster.launch(node)?;
        }
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// `nats://127.0.0.1:port` of each server, running or not.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("nats://127.0.0.1:{}", node.port)).collect()
    }

    /// `http://127.0.0.1:port` of each server's monitoring.
    pub fn monitor_urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("http://127.0.0.1:{}", node.monitor_port)).collect()
    }

    /// Where leaf nodes of another cluster connect to; only with a domain.
    pub fn leaf_urls(&self) -> Vec<String> {
        let user = if self.settings.system_account { "sortie:sortie@" } else { "" };
        self.nodes.iter().map(|node| format!("nats-leaf://{user}127.0.0.1:{}", node.leaf_port)).collect()
    }

    /// The name that a server has in its cluster.
    pub fn name(&self, node: usize) -> &str {
        &self.nodes[node].name
    }

    /// The server of that name, as JetStream reports leaders.
    pub fn node_named(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Where a server keeps its data.
    pub fn store_dir(&self, node: usize) -> PathBuf {
        self.folder.path().join(&self.nodes[node].name)
    }

    /// The files of one stream's messages on one server.
    pub fn block_files(&self, node: usize, stream: &str) -> anyhow::Result<Vec<PathBuf>> {
        let account = if self.settings.system_account { "APP" } else { "$G" };
        let streams = self.store_dir(node).join("jetstream").join(account).join("streams");
        let messages = streams.join(stream).join("msgs");
        let entries = fs::read_dir(&messages).with_context(|| format!("reading {}", messages.display()))?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let mut blocks = paths.collect::<Result<Vec<_>, _>>().context("listing blocks")?;
        blocks.retain(|path| path.extension().is_some_and(|extension| extension == "blk"));
        blocks.sort();
        Ok(blocks)
    }

    /// Kills a server: its machine lost power, except that what was written stays.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node].server = None;
    }

    /// Asks a server to end, and waits until it has.
    pub fn stop(&mut self, node: usize) {
        if let Some(server) = self.nodes[node].server.take() {
            server.end();
        }
    }

    /// Starts a server again with its data; returns when it takes connections.
    pub fn start_again(&mut self, node: usize) -> anyhow::Result<()> {
        self.launch(node)?;
        let port = self.nodes[node].port;
        let server = self.nodes[node].server.as_mut().context("just started")?;
        server.listens(local(port))
    }

    /// Changes the settings of servers that are started from now on.
    pub fn change(&mut self, change: impl FnOnce(&mut NatsSettings)) {
        change(&mut self.settings);
    }

    /// Stops a server where it is: connections stay open, and nothing answers.
    pub fn freeze(&self, node: usize) {
        self.nodes[node].server.as_ref().inspect(|server| server.freeze());
    }

    pub fn thaw(&self, node: usize) {
        self.nodes[node].server.as_ref().inspect(|server| server.thaw());
    }

    /// Waits until all servers that run say that they are well and up to date.
    pub fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        for node in self.nodes.iter_mut() {
            let Some(server) = &mut node.server else { continue };
            while !is_healthy(node.monitor_port) {
                ensure!(!server.has_ended(), "{} ended\n{}", node.name, server.said());
                ensure!(begun.elapsed() < READY_MAX, "{} is not ready\n{}", node.name, server.said());
                thread::sleep(POLL);
            }
        }
        Ok(())
    }

    fn launch(&mut self, node: usize) -> anyhow::Result<()> {
        let name = self.nodes[node].name.clone();
        let file = self.folder.write(&format!("{name}.conf"), &self.configuration(node))?;
        let mut command = Command::new(installed::nats_server()?);
        command.arg("-c").arg(file);
        let folder = self.store_dir(node);
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        self.nodes[node].server = Some(Process::start("nats-server", command, &folder)?);
        Ok(())
    }

    fn configuration(&self, node: usize) -> String {
        let settings = &self.settings;
        let Node { name, port, monitor_port, route_port, leaf_port, .. } = &self.nodes[node];
        let routes: Vec<_> =
            self.nodes.iter().map(|node| format!("\"nats://127.0.0.1:{}\"", node.route_port)).collect();
        let sync = if settings.sync_always { "sync_interval: always" } else { "" };
        let domain =
            settings.domain.as_ref().map(|domain| format!("domain: \"{domain}\"")).unwrap_or_default();
        let cluster = settings.domain.as_deref().unwrap_or("sortie");
        let store = self.store_dir(node);
        let clustered = if settings.servers > 1 {
            format!(
                "cluster {{ name: \"{cluster}\", listen: \"127.0.0.1:{route_port}\", routes: [{}], \
                 ping_interval: \"2s\" }}\n",
                routes.join(", ")
            )
        } else {
            String::new()
        };
        format!(
            "server_name: \"{name}\"\nlisten: \"127.0.0.1:{port}\"\nhttp: \"127.0.0.1:{monitor_port}\"\n\
             max_payload: {}\nping_interval: \"2s\"\nping_max: 2\n{clustered}\
             jetstream {{ store_dir: \"{}\", {sync}\n {domain}\n max_file_store: {}, max_memory_store: 256MB }}\n\
             {}{}{}\n",
            settings.max_payload,
            store.display(),
            settings.max_file_store,
            leaf_nodes(settings, *leaf_port),
            accounts(settings),
            settings.more,
        )
    }
}

fn leaf_nodes(settings: &NatsSettings, port: u16) -> String {
    if settings.domain.is_none() {
        return String::new();
    }
    let quoted =
        |texts: &[String]| texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ");
    let account = if settings.system_account { "account: APP, " } else { "" };
    let denied = quoted(&settings.remotes_deny);
    let remotes = if settings.remotes.is_empty() {
        String::new()
    } else {
        format!(
            "remotes: [{{ urls: [{}], {account}deny_imports: [{denied}], deny_exports: [{denied}] }}]",
            quoted(&settings.remotes)
        )
    };
    // Remotes know all servers by their settings; a proxy between the two must stay there.
    format!("leafnodes {{ listen: \"127.0.0.1:{port}\", reconnect: 1, no_advertise: true, {remotes} }}\n")
}

fn accounts(settings: &NatsSettings) -> &'static str {
    if !settings.system_account {
        return "";
    }
    "accounts { SYS: { users: [{ user: sys, password: sys }] }, \
     APP: { jetstream: enabled, users: [{ user: sortie, password: sortie }] } }\n\
     system_account: SYS\nno_auth_user: sortie\n"
}

/// What `/healthz` says; a server that does not answer is not well.
fn is_healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(local(port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.lines().next().is_some_and(|status| status.contains(" 200 ")))
}
