//! Restate: its server, and an endpoint of its TypeScript SDK.

use std::net::SocketAddr;

use anyhow::Context;

use super::figures::Round;
use super::install::{Place, npm_version};
use super::load::{Connection, Post, closed_loop, delivery_request};
use super::process::{End, Process, bound, free_address};
use super::target::{Plan, now_ms};
use super::{Around, Asked, Driver, Peer, Running, Work};

pub const PEER: Peer = Peer {
    name: "restate",
    title: "Restate",
    durability: "its default: RocksDB logs whose WAL is synced before each ack (`rocksdb-disable-wal-fsync = false`)",
    client: "TypeScript SDK on HTTP/2, five `ctx.run`; 4 partitions, journals of ended work not kept; load by HTTP/1.1 connections from Rust",
    start,
    workflow: Asked::Yes(&[64, 128, 256]),
    ingest: Asked::Yes(&[]),
    timed: Asked::Yes(&[]),
};

fn start(place: &Place, around: &Around) -> anyhow::Result<Running> {
    let folder = place.npm("restate")?;
    let mut worker = place.node("restate", "worker.cjs")?;
    worker.env("SERVICES", &around.services).env("TARGET", format!("http://{}", around.target));
    let mut worker = Process::worker("restate-worker", worker, &place.data)?;
    let endpoint = worker.line()?;

    let cpu = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let program = format!("node_modules/@restatedev/restate-server-linux-{cpu}/bin/restate-server");
    let [ingress, admin, node] = [free_address()?, free_address()?, free_address()?];
    let mut server = bound(folder.join(program));
    server.arg("--no-logo").env("RESTATE_BASE_DIR", place.data_of("restate")?);
    server.env("RESTATE_DISABLE_TELEMETRY", "true").env("RESTATE_LISTEN_MODE", "tcp");
    // Fewer partitions and no journals of ended work: together never slower than what it comes with.
    server.env("RESTATE_DEFAULT_NUM_PARTITIONS", "4").env("RESTATE_DEFAULT_JOURNAL_RETENTION", "0s");
    server.env("RESTATE_LOG_FILTER", "warn").env("RESTATE_LOG_DISABLE_ANSI_CODES", "true");
    server.env("RESTATE_INGRESS__BIND_ADDRESS", ingress.to_string());
    server.env("RESTATE_ADMIN__BIND_ADDRESS", admin.to_string());
    server.env("RESTATE_BIND_ADDRESS", node.to_string());
    server.env("RESTATE_ADVERTISED_ADDRESS", format!("http://{node}"));
    let mut server = Process::server("restate-server", server, &place.data, End::Terminate)?;
    server.listens(admin)?;
    server.listens(ingress)?;
    let body = format!(r#"{{"uri":"http://127.0.0.1:{endpoint}"}}"#);
    let register = Post { path: "/deployments".to_owned(), body };
    Connection::open(admin)?.post(&register).context("registering the endpoint")?;

    let version = npm_version(&folder, "@restatedev/restate-server")?;
    let sdk = npm_version(&folder, "@restatedev/restate-sdk")?;
    let driver = Restate { ingress, rounds: 0, _worker: worker, _server: server };
    Ok(Running { version: format!("{version}, SDK {sdk}"), driver: Box::new(driver) })
}

struct Restate {
    ingress: SocketAddr,
    rounds: u32,
    _worker: Process,
    _server: Process,
}

impl Driver for Restate {
    fn closed(&mut self, work: Work, at_once: u32, seconds: u32) -> anyhow::Result<Round> {
        self.rounds += 1;
        let round = self.rounds;
        let request = |connection: u32, number: u64| match work {
            // The answer comes when the delivery has been made.
            Work::Workflow => {
                Post { path: "/delivery/make".to_owned(), body: format!(r#"{{"id":"r{round}-{number}"}}"#) }
            }
            Work::Ingest => Post {
                path: format!("/waiting/{connection}/take/send"),
                body: delivery_request(&format!("r{round}-{number}")),
            },
        };
        closed_loop(self.ingress, at_once, seconds, &request)
    }

    fn schedule(&mut self, plan: Plan) -> anyhow::Result<()> {
        let calls = &std::sync::atomic::AtomicU32::new(0);
        let load = || -> anyhow::Result<()> {
            let mut connection = Connection::open(self.ingress)?;
            loop {
                let call = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if call >= plan.calls {
                    return Ok(());
                }
                let delay_ms = (plan.due_ms(call) - now_ms()).max(0.0).ceil();
                let path = format!("/timed/fire/send?delay={delay_ms}ms");
                connection.post(&Post { path, body: format!("\"/{}/{call}\"", plan.round) })?;
            }
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64).map(|_| scope.spawn(load)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no thread of the load panics"))
        })
    }
}
