//! APScheduler: timed calls from a job store on PostgreSQL.

use super::install::Place;
use super::postgres::Cluster;
use super::process::bound;
use super::worker::Workers;
use super::{Around, Asked, Peer, Running};

pub const PEER: Peer = Peer {
    name: "apscheduler",
    title: "APScheduler",
    durability: "SQLAlchemy job store on PostgreSQL with `fsync`, `synchronous_commit` and `full_page_writes` on",
    client: "its scheduler for asyncio, calls by aiohttp",
    start,
    workflow: Asked::No("it runs functions at their time, and has no steps"),
    ingest: Asked::No("it takes jobs, not requests"),
    timed: Asked::Yes(&[]),
};

fn start(place: &Place, around: &Around) -> anyhow::Result<Running> {
    let cluster = Cluster::start(place)?;
    let database = format!("postgresql+psycopg://{}", cluster.database("apscheduler")?);
    let python = place.pip("apscheduler")?;
    let version = place.pip_version("apscheduler", "apscheduler")?;
    let version = format!("{version}, PostgreSQL {}", cluster.version);
    let mut worker = bound(python);
    worker.arg(place.scripts.join("apscheduler/worker.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    worker.env("DATABASE", database).env("TARGET", format!("http://{}", around.target));
    let driver = Workers::start("apscheduler", vec![worker], vec![cluster.process], place)?;
    Ok(Running { version, driver: Box::new(driver) })
}
