//! BullMQ on a Redis that syncs its log before every answer.

use std::path::Path;

use super::install::{Place, apt, npm_version, on_path, program_version};
use super::process::{End, Process, bound, free_address};
use super::worker::Workers;
use super::{Around, Asked, Peer, Running};

/// Processes that submit and work. With a second one requests are accepted twice as fast, and deliveries as before.
const WORKERS: usize = 2;

pub const PEER: Peer = Peer {
    name: "bullmq",
    title: "BullMQ",
    durability: "Redis with `appendonly yes`, `appendfsync always`, no snapshots",
    client: "two Node processes submit and work; steps by `job.updateData` after each call",
    start,
    workflow: Asked::Yes(&[32, 64, 128, 256]),
    ingest: Asked::Yes(&[1024]),
    timed: Asked::Yes(&[]),
};

fn start(place: &Place, around: &Around) -> anyhow::Result<Running> {
    let program = apt("redis-server", || on_path("redis-server"))?;
    let address = free_address()?;
    let server = redis(&program, address.port(), place)?;
    let mut server = Process::server("redis", server, &place.data, End::Terminate)?;
    server.listens(address)?;
    let folder = place.npm("bullmq")?;
    let version =
        format!("{}, Redis {}", npm_version(&folder, "bullmq")?, program_version(&program, "--version")?);
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        let mut worker = place.node("bullmq", "worker.cjs")?;
        worker.env("REDIS_PORT", address.port().to_string()).env("WORKER", number.to_string());
        worker.env("CONCURRENCY", (256 / WORKERS).to_string());
        worker.env("SERVICES", &around.services).env("TARGET", format!("http://{}", around.target));
        workers.push(worker);
    }
    let driver = Workers::start("bullmq", workers, vec![server], place)?;
    Ok(Running { version, driver: Box::new(driver) })
}

fn redis(program: &Path, port: u16, place: &Place) -> anyhow::Result<std::process::Command> {
    let mut server = bound(program);
    server.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(place.data_of("redis")?);
    server.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    // As BullMQ asks for.
    server.args(["--maxmemory-policy", "noeviction"]);
    Ok(server)
}
