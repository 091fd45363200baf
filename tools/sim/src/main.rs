//! `sim`: thousands of simulated installations, each with its own faults, checked against every promise.

mod campaign;
mod checkers;
mod clients;
mod cluster;
mod corruption;
mod coverage;
mod editors;
mod faults;
mod figures;
mod history;
mod job_model;
mod life;
mod mutants;
mod mutations;
mod observation;
mod observed_journal;
mod panics;
mod plan;
mod process;
mod queue_model;
mod replay;
mod rng;
mod services;
mod shrink;
mod simulate;
mod simulator;
mod traffic;
mod workflows;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::campaign::Campaign;
use crate::cluster::Clusters;
use crate::mutants::Simulation;
use crate::simulate::SingleInstance;

/// Most of the time goes into small allocations of many short lives.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Simulates installations of Sortie with faults, and checks every promise.
#[derive(Parser)]
#[command(name = "sim")]
struct Arguments {
    /// Simulate only clusters: several instances on NATS, and sometimes two regions.
    #[arg(long, conflicts_with = "alone")]
    cluster: bool,
    /// Simulate only single instances.
    #[arg(long)]
    alone: bool,
    /// How many seeds to simulate.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// How many threads to use.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Succeed even if some situation is never met; for few seeds.
    #[arg(long)]
    lenient: bool,
    /// Measure clusters at a steady rate of requests in simulated time, and compare them with the calculations of
    /// docs/operating/scale.md.
    #[arg(long)]
    pace: bool,
    /// Activate each known bug in turn, and count those that are caught. Most of them are edits in a copy of the source,
    /// which is built first.
    #[arg(long)]
    mutants: bool,
    /// Activate one known bug; it must be caught.
    #[arg(long, value_name = "NAME")]
    bug: Option<String>,
    /// Simulate seeds until a promise breaks, and print that in one line.
    #[arg(long, hide = true)]
    hunt: bool,
    /// Simulate one plan again: a file, or a seed.
    #[arg(long, value_name = "PLAN")]
    replay: Option<String>,
    /// Print every observation of a replay.
    #[arg(long)]
    trace: bool,
    /// Make the replayed plan as small as possible, as long as it still fails, and print it.
    #[arg(long)]
    shrink: bool,
    /// Where failing plans are written.
    #[arg(long, default_value = "target/sim")]
    out: PathBuf,
}

fn main() -> ExitCode {
    panics::note_them();
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("sim: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// True when nothing failed.
fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let campaign =
        Campaign { from: arguments.from, seeds: arguments.seeds, threads: arguments.threads.max(1) };
    if let Some(plan) = &arguments.replay {
        return replay(arguments, plan);
    }
    if arguments.pace {
        return cluster::measure();
    }
    if arguments.mutants {
        return mutants::catch_all(campaign);
    }
    if let Some(bug) = &arguments.bug {
        return mutants::catch_one(bug, campaign);
    }
    if arguments.hunt {
        let simulation = if arguments.cluster { Simulation::Cluster } else { Simulation::Single };
        return mutants::hunt(simulation, campaign);
    }
    let single = arguments.cluster || campaign.run(&SingleInstance, arguments.lenient, &arguments.out)?;
    let clusters = arguments.alone || campaign.run(&Clusters::new()?, arguments.lenient, &arguments.out)?;
    Ok(single && clusters)
}

fn replay(arguments: &Arguments, plan: &str) -> anyhow::Result<bool> {
    if let Some(bug) = &arguments.bug
        && let Some(succeeded) = mutants::wake_for_replay(bug)?
    {
        return Ok(succeeded);
    }
    let Arguments { trace, shrink, out, .. } = arguments;
    if arguments.cluster {
        return replay::replay(&Clusters::new()?, plan, *trace, *shrink, out);
    }
    replay::replay(&SingleInstance, plan, *trace, *shrink, out)
}
