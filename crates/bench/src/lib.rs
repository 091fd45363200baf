//! `sortie bench`: measures this machine under load, at rest and after a crash, beside the most that it could do.

mod ingest;
mod journal;
mod memory;
mod overload;
mod queue;
mod recovery;
mod schedule;
mod soak;
mod spike;
mod workflow;

mod alone;
mod bare;
mod calls;
mod deliveries;
mod running;
mod services;
mod subject;
mod waiting;

mod load;
mod request;
mod submit;

mod backlog;
mod series;
mod watch;

mod chart;
mod comparison;
mod figures;

mod child;
mod client;
mod options;
mod progress;

use std::process::ExitCode;

use clap::Subcommand;

/// Benchmark this machine: ingest, workflows, scheduled jobs, messages, overload, recovery
///
/// Each benchmark starts its own server on a temporary directory, and measures a bare loop next to it in the
/// same run, so that the ratio means something on any machine.
#[derive(Debug, Subcommand)]
pub enum Bench {
    Ingest(ingest::Ingest),
    Workflow(workflow::Workflow),
    Schedule(schedule::Schedule),
    Spike(spike::Spike),
    Overload(overload::Overload),
    Recovery(recovery::Recovery),
    Memory(memory::Memory),
    Journal(journal::Journal),
    Queue(queue::Queue),
    Soak(soak::Soak),
    #[command(hide = true)]
    BareServer(bare::BareServer),
    #[command(hide = true)]
    DroneServices(services::DroneServices),
}

/// A combination of options that a bench cannot measure.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

impl Bench {
    /// The token is for servers that run already.
    pub async fn run(self, json: bool, token: Option<&str>) -> anyhow::Result<ExitCode> {
        terminal::machine::raise_files_limit();
        match self {
            Bench::Ingest(ingest) => ingest.run(json, token).await?,
            Bench::Workflow(workflow) => workflow.run(json, token).await?,
            Bench::Schedule(schedule) => schedule.run(json).await?,
            Bench::Spike(spike) => spike.run(json).await?,
            Bench::Overload(overload) => overload.run(json).await?,
            Bench::Recovery(recovery) => recovery.run(json).await?,
            Bench::Memory(memory) => memory.run(json).await?,
            Bench::Journal(journal) => journal.run(json).await?,
            Bench::Queue(queue) => queue.run(json).await?,
            Bench::Soak(soak) => soak.run(json).await?,
            Bench::BareServer(server) => server.run().await?,
            Bench::DroneServices(services) => services.run().await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
