//! `cargo xtask bench-peers`: Sortie and its peers doing the same work, on this machine, in one run.

mod apscheduler;
mod bullmq;
mod dbos;
mod figures;
pub mod install;
mod load;
mod machine;
mod measure;
mod nats;
mod postgres;
mod process;
mod restate;
mod sortie;
mod table;
mod target;
mod temporal;
mod worker;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;

use self::figures::Round;
use self::install::Place;
use self::machine::Machine;
use self::measure::{INGEST_AT_ONCE, Pace, say};
use self::table::Row;
use self::target::{Plan, Target};
use crate::command;

const PEERS: [&Peer; 6] =
    [&restate::PEER, &temporal::PEER, &dbos::PEER, &bullmq::PEER, &nats::PEER, &apscheduler::PEER];

/// What ends in the first moments of a closed loop does not count: it did not meet the full load.
const RAMP_SECONDS: u32 = 1;

/// Sortie beside its peers: installs them into the target directory, measures all, prints one table.
#[derive(Debug, Args)]
pub struct BenchPeers {
    /// Measure only these: sortie, or the name of a folder in bench/peers. May be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// A second or two for everything: shows that it works, and measures nothing
    #[arg(long)]
    short: bool,
    /// The sortie to measure; without it the release binary is built
    #[arg(long, value_name = "FILE")]
    bin: Option<PathBuf>,
    /// Write every round to this file, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A system that Sortie is compared with, and its measurements.
pub struct Peer {
    /// Of its folder in `bench/peers`.
    pub name: &'static str,
    pub title: &'static str,
    pub durability: &'static str,
    pub client: &'static str,
    /// Installs what is missing and starts it.
    pub start: fn(&Place, &Around) -> anyhow::Result<Running>,
    /// With how many at once to try.
    pub workflow: Asked,
    /// How many requests in flight, in addition to the 64 that all systems get.
    pub ingest: Asked,
    pub timed: Asked,
}

/// Whether a peer is asked for a work.
pub enum Asked {
    Yes(&'static [u32]),
    /// Why not.
    No(&'static str),
}

/// What a peer calls.
pub struct Around {
    /// The addresses of the five services, in one line.
    pub services: String,
    /// Where timed calls go.
    pub target: SocketAddr,
}

/// A peer that is ready for work; it ends with this.
pub struct Running {
    pub version: String,
    pub driver: Box<dyn Driver>,
}

/// Makes a peer work.
pub trait Driver {
    /// So many at once, each begun when one before it has ended, for some seconds.
    fn closed(&mut self, work: Work, at_once: u32, seconds: u32) -> anyhow::Result<Round>;
    /// Submits the calls of a plan; returns when all are durable.
    fn schedule(&mut self, plan: Plan) -> anyhow::Result<()>;
}

/// What is done in a closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Five calls, a durable step each, from its start to its end.
    Workflow,
    /// A request of 300 bytes, to its durable acknowledgement.
    Ingest,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Work::Workflow => "workflow",
            Work::Ingest => "ingest",
        }
    }
}

pub fn run(root: &Path, asked: &BenchPeers) -> anyhow::Result<()> {
    let names: Vec<&str> =
        [sortie::PEER.name].into_iter().chain(PEERS.iter().map(|peer| peer.name)).collect();
    for name in &asked.only {
        ensure!(names.contains(&name.as_str()), "{name} is unknown; the names are {}", names.join(", "));
    }
    let is_asked = |name: &str| asked.only.is_empty() || asked.only.iter().any(|only| only == name);
    let binary = binary(root, asked)?;
    let target = command::built("release")?.parent().context("finding the target directory")?.to_owned();
    let (installed, data) = (target.join("peers"), target.join("peers-data"));
    let place = Place { scripts: root.join("bench/peers"), installed, data: data.clone() };
    // A run that was cut short has left its own.
    if data.exists() {
        fs::remove_dir_all(&data).with_context(|| format!("removing {}", data.display()))?;
    }
    fs::create_dir_all(&data).with_context(|| format!("making {}", data.display()))?;
    let pace = if asked.short { Pace::SHORT } else { Pace::FULL };

    let mut machine = Machine::look();
    let begun = Instant::now();
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    if is_asked(sortie::PEER.name) {
        rows.extend(sortie::measure(&binary, &place, pace, &mut machine)?);
    }
    for peer in PEERS.into_iter().filter(|peer| is_asked(peer.name)) {
        match measure(peer, &binary, &place, pace) {
            Ok(row) => rows.push(row),
            Err(error) => {
                say(peer, &format!("SKIPPED: {error:#}"));
                failed.push(peer.name);
            }
        }
    }
    println!("\nmeasured in {:.0} s\n\n{}", begun.elapsed().as_secs_f64(), table::markdown(&rows));
    println!("{}", machine.text());
    if let Some(file) = &asked.json {
        let text = format!("{:#}\n", table::to_json(&rows, &machine));
        fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    ensure!(failed.is_empty(), "skipped: {}; their output is in {}", failed.join(", "), data.display());
    fs::remove_dir_all(&data).with_context(|| format!("removing {}", data.display()))
}

fn binary(root: &Path, asked: &BenchPeers) -> anyhow::Result<PathBuf> {
    if let Some(binary) = &asked.bin {
        return binary.canonicalize().with_context(|| format!("looking for {}", binary.display()));
    }
    command::run(command::cargo(root, ["build", "--release", "--locked", "--package", "cli"]))?;
    Ok(command::built("release")?.join("sortie"))
}

fn measure(peer: &Peer, binary: &Path, place: &Place, pace: Pace) -> anyhow::Result<Row> {
    // New services for each: what they keep in memory must not grow from peer to peer.
    let (_services, services) = sortie::services(binary, place)?;
    let target = Target::listen()?;
    let around = Around { services, target: target.address };
    let Running { version, mut driver } = (peer.start)(place, &around).context("starting it")?;
    say(peer, &format!("version {version} is ready"));
    let driver = driver.as_mut();
    let mut row = Row::of(peer, version);
    if let Asked::Yes(loads) = peer.workflow {
        row.workflow = Ok(measure::workflows(peer, loads, driver, pace)?);
    }
    if let Asked::Yes(further) = peer.ingest {
        row.ingest = Ok(measure::ingest(peer, INGEST_AT_ONCE, driver, pace)?);
        for &at_once in further {
            row.pipelined = Some(measure::ingest(peer, at_once, driver, pace)?);
        }
    }
    if let Asked::Yes(_) = peer.timed {
        row.timed = Ok(measure::timed(peer, driver, &target, pace)?);
    }
    Ok(row)
}
