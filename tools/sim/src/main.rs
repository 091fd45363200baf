//! `sim`: thousands of simulated installations, each with its own faults, held against every promise.

mod book;
mod campaign;
mod checkers;
mod clients;
mod cluster;
mod coverage;
mod depot;
mod dice;
mod editors;
mod events;
mod faults;
mod history;
mod life;
mod mutants;
mod mutations;
mod occasions;
mod panics;
mod plan;
mod process;
mod regressions;
mod report;
mod rot;
mod services;
mod shrink;
mod sighting;
mod simulate;
mod traffic;
mod watch;
mod workflows;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::campaign::Campaign;
use crate::mutants::Simulation;

/// Most of the time goes into small allocations of many short lives.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Simulates installations of Sortie with faults, and holds them against every promise.
#[derive(Parser)]
#[command(name = "sim")]
struct Arguments {
    /// Play clusters alone: several instances on NATS, and sometimes two regions.
    #[arg(long, conflicts_with = "alone")]
    cluster: bool,
    /// Play single instances alone.
    #[arg(long)]
    alone: bool,
    /// How many seeds to play.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Threads that play.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Situations that are never met are not a failure; for few seeds.
    #[arg(long)]
    lenient: bool,
    /// Measure clusters at a steady pace in simulated time, and hold them against the sums of docs/operating/scale.md.
    #[arg(long)]
    pace: bool,
    /// Play with every known bug, one after another, and count those that are caught. Most of them are edits in a copy
    /// of the source, which is built first.
    #[arg(long)]
    mutants: bool,
    /// Play with one known bug; it must be caught.
    #[arg(long, value_name = "NAME")]
    bug: Option<String>,
    /// Play until something breaks, and print that in one line.
    #[arg(long, hide = true)]
    hunt: bool,
    /// Play one plan again: a file, or a seed.
    #[arg(long, value_name = "PLAN")]
    replay: Option<String>,
    /// Print everything that is seen while a plan is played again.
    #[arg(long)]
    trace: bool,
    /// Make the plan that is played again as small as it can be and still fail; print it.
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

/// True when all is as it should be.
fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let campaign =
        Campaign { from: arguments.from, seeds: arguments.seeds, threads: arguments.threads.max(1) };
    if let Some(plan) = &arguments.replay {
        if let Some(bug) = &arguments.bug
            && let Some(succeeded) = mutants::wake_for_replay(bug)?
        {
            return Ok(succeeded);
        }
        if arguments.cluster {
            return cluster::replay(plan, arguments.trace, arguments.shrink, &arguments.out);
        }
        return regressions::replay(plan, arguments.trace, arguments.shrink, &arguments.out);
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
    let one = arguments.cluster || campaign::play(campaign, arguments.lenient, &arguments.out)?;
    let several = arguments.alone || cluster::play(campaign, arguments.lenient, &arguments.out)?;
    Ok(one && several)
}
