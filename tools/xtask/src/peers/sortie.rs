//! Sortie itself, by its own bench, which starts a server with durable writes and loads it from the same machine.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::figures::Figures;
use super::install::Place;
use super::machine::Machine;
use super::measure::{Closed, INGEST_AT_ONCE, Pace, climb, describe, say};
use super::process::{Process, bound};
use super::table::{Row, bare};
use super::target::Punctuality;
use super::{Asked, Peer};

/// Jobs that are due much later: the bench learns from loading them how long the others will take.
const JOBS_FAR: u32 = 20_000;
const RUNS_PER_SECOND: u32 = 5_000;

/// What is said of it in the table; it is not started like the others.
pub const PEER: Peer = Peer {
    name: "sortie",
    title: "Sortie",
    durability: "as delivered: `journal.sync = \"data\"`, fdatasync before every yes",
    client: "`sortie bench`; workflows are handed in at once by batches, so their latency is mostly the queue",
    start: |_, _| anyhow::bail!("sortie is measured by its own bench"),
    workflow: Asked::Yes(&[]),
    ingest: Asked::Yes(&[]),
    timed: Asked::Yes(&[]),
};

/// The five services as a process of their own, and the line that says where they listen.
pub fn services(binary: &Path, place: &Place) -> anyhow::Result<(Process, String)> {
    let mut command = bound(binary);
    command.args(["bench", "drone-services"]);
    let mut process = Process::worker("drone-services", command, &place.data)?;
    let addresses = process.line()?;
    Ok((process, addresses))
}

/// Its row, and that of the bare loops that it was measured beside.
pub fn measure(binary: &Path, place: &Place, pace: Pace, machine: &mut Machine) -> anyhow::Result<[Row; 2]> {
    let version = super::install::program_version(binary, "--version")?;
    let bench = Bench { binary, place };
    let runs = (RUNS_PER_SECOND * pace.seconds).to_string();
    let workflow = bench.repeat(&["workflow", "--runs", &runs], pace, machine)?;
    let seconds = pace.seconds.to_string();
    let ingest = bench.repeat(&["ingest", "--seconds", &seconds], pace, machine)?;
    let timed = climb(&PEER, pace, |rate| bench.fire(rate, pace))?;
    let mut row = Row::of(&PEER, version);
    row.workflow = Ok(Closed { at_once: 0, rounds: workflow.0 });
    row.ingest = Ok(Closed { at_once: INGEST_AT_ONCE, rounds: ingest.0 });
    row.timed = Ok(timed);
    let mut limit = bare();
    limit.workflow = Ok(Closed { at_once: 128, rounds: workflow.1 });
    limit.ingest = Ok(Closed { at_once: INGEST_AT_ONCE, rounds: ingest.1 });
    Ok([row, limit])
}

struct Bench<'a> {
    binary: &'a Path,
    place: &'a Place,
}

impl Bench<'_> {
    fn run(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut command = bound(self.binary);
        command.arg("bench").args(arguments).arg("--json").arg("--data").arg(self.place.data_of("sortie")?);
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.context("starting sortie bench")?;
        ensure!(output.status.success(), "sortie bench {} failed: {}", arguments.join(" "), output.status);
        serde_json::from_slice(&output.stdout).context("reading what sortie bench says")
    }

    /// The rounds of Sortie and of the bare loop.
    fn repeat(
        &self,
        arguments: &[&str],
        pace: Pace,
        machine: &mut Machine,
    ) -> anyhow::Result<(Vec<Figures>, Vec<Figures>)> {
        let (mut rounds, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..pace.repeats {
            let value = self.run(arguments)?;
            machine.describe(value["machine"].clone());
            let figures = figures(&value)?;
            say(&PEER, &format!("{}: {}", arguments[0], describe(figures)));
            rounds.push(figures);
            bare.push(self::figures(&value["bare"])?);
        }
        Ok((rounds, bare))
    }

    fn fire(&self, rate: u32, pace: Pace) -> anyhow::Result<Punctuality> {
        let jobs = (rate * pace.seconds + JOBS_FAR).to_string();
        let (text, seconds) = (rate.to_string(), pace.seconds.to_string());
        let value = self.run(&["schedule", "--jobs", &jobs, "--rate", &text, "--seconds", &seconds])?;
        let count = |name: &str| value[name].as_u64().with_context(|| format!("{name} is a number"));
        let figures = figures(&value)?;
        Ok(Punctuality {
            rate,
            figures,
            lost: usize::try_from(count("lost")?)?,
            repeated: u32::try_from(count("repeated")?)?,
            early: usize::try_from(count("early")?)?,
        })
    }
}

fn figures(value: &Value) -> anyhow::Result<Figures> {
    let number = |name: &str| value[name].as_f64().with_context(|| format!("{name} is a number"));
    Ok(Figures { throughput: number("throughput")?, p50_ms: number("p50_ms")?, p99_ms: number("p99_ms")? })
}
