//! DBOS: workflows whose steps are rows of PostgreSQL.

use super::install::{Place, npm_version};
use super::postgres::Cluster;
use super::worker::Workers;
use super::{Around, Asked, Peer, Running};

/// Processes that start workflows and run them. One of them is busy before PostgreSQL is.
const WORKERS: usize = 2;
const POOL: u32 = 32;

pub const PEER: Peer = Peer {
    name: "dbos",
    title: "DBOS",
    durability: "PostgreSQL with `fsync`, `synchronous_commit` and `full_page_writes` on",
    client: "TypeScript SDK in two Node processes, pools of 32; requests and workflows begin by calls of the SDK, without HTTP",
    start,
    workflow: Asked::Yes(&[32, 64, 128]),
    ingest: Asked::Yes(&[]),
    timed: Asked::Yes(&[]),
};

fn start(place: &Place, around: &Around) -> anyhow::Result<Running> {
    let cluster = Cluster::start(place)?;
    let database = format!("postgresql://{}", cluster.database("dbos")?);
    let folder = place.npm("dbos")?;
    let version = format!("{}, PostgreSQL {}", npm_version(&folder, "@dbos-inc/dbos-sdk")?, cluster.version);
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        let mut worker = place.node("dbos", "worker.cjs")?;
        worker.env("DATABASE", &database).env("POOL", POOL.to_string()).env("WORKER", number.to_string());
        worker.env("SERVICES", &around.services).env("TARGET", format!("http://{}", around.target));
        workers.push(worker);
    }
    let driver = Workers::start("dbos", workers, vec![cluster.process], place)?;
    Ok(Running { version, driver: Box::new(driver) })
}
