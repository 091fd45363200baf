//! `torture`: faults on the real binary, and an audit of every promise afterwards.

mod all;
mod audit;
mod bitrot;
mod client;
mod clock;
mod cluster;
mod descriptors;
mod dice;
mod firings;
mod full;
mod iofaults;
mod kill;
mod load;
mod loop_disk;
mod memory;
mod posts;
mod powercut;
mod process;
mod queue;
mod regions;
mod report;
mod rig;
mod scratch;
mod slow;
mod slow_disk;
mod target;
mod targets;
mod tools;
mod trial;
mod workflow;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Injects faults into the real binary and audits its promises.
#[derive(Parser)]
#[command(name = "torture")]
struct Arguments {
    #[command(subcommand)]
    fault: Fault,
}

#[derive(Subcommand)]
enum Fault {
    All(all::All),
    Kill(kill::Kill),
    Firings(firings::Firings),
    Queue(queue::Queue),
    Full(full::Full),
    Iofaults(iofaults::Iofaults),
    Powercut(powercut::Powercut),
    Slow(slow_disk::Slow),
    Targets(targets::Targets),
    Descriptors(descriptors::Descriptors),
    Memory(memory::Memory),
    Clock(clock::ClockJumps),
    Bitrot(bitrot::Bitrot),
    Cluster(cluster::Cluster),
    Region(regions::Regions),
    #[command(hide = true)]
    OpenDamaged(bitrot::OpenDamaged),
}

fn main() -> ExitCode {
    let fault = Arguments::parse().fault;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(async {
            match fault {
                Fault::All(all) => all.run(),
                Fault::Kill(kill) => kill.run().await,
                Fault::Firings(firings) => firings.run().await,
                Fault::Queue(queue) => queue.run().await,
                Fault::Full(full) => full.run().await,
                Fault::Iofaults(iofaults) => iofaults.run().await,
                Fault::Powercut(powercut) => powercut.run().await,
                Fault::Slow(slow) => slow.run().await,
                Fault::Targets(targets) => targets.run().await,
                Fault::Descriptors(descriptors) => descriptors.run().await,
                Fault::Memory(memory) => memory.run().await,
                Fault::Clock(clock) => clock.run().await,
                Fault::Bitrot(bitrot) => bitrot.run().await,
                Fault::Cluster(cluster) => cluster.run().await,
                Fault::Region(regions) => regions.run().await,
                Fault::OpenDamaged(open) => open.run().await,
            }
        })
    });
    match outcome {
        Ok(report::RoundResult::Kept) => ExitCode::SUCCESS,
        Ok(report::RoundResult::Broken) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("torture: {error:#}");
            ExitCode::from(2)
        }
    }
}
