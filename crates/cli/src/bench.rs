//! `sortie bench`: how fast this machine takes requests in, runs workflows and fires jobs, beside a bare loop.

mod bare;
mod calls;
mod child;
mod comparison;
mod figures;
mod ingest;
mod load;
mod options;
mod progress;
mod request;
mod schedule;
mod services;
mod subject;
mod workflow;

use std::process::ExitCode;

use clap::Subcommand;

/// Measure this machine: ingest, whole workflows, and jobs on time
///
/// Each bench starts a server of its own on a temporary directory, and measures a bare loop beside it in the
/// same run, so that the ratio means something on any machine.
#[derive(Debug, Subcommand)]
pub enum Bench {
    Ingest(ingest::Ingest),
    Workflow(workflow::Workflow),
    Schedule(schedule::Schedule),
    #[command(hide = true)]
    BareServer(bare::BareServer),
    #[command(hide = true)]
    DroneServices(services::DroneServices),
}

impl Bench {
    pub async fn run(self, json: bool) -> anyhow::Result<ExitCode> {
        crate::machine::raise_files_limit();
        match self {
            Bench::Ingest(ingest) => ingest.run(json).await?,
            Bench::Workflow(workflow) => workflow.run(json).await?,
            Bench::Schedule(schedule) => schedule.run(json).await?,
            Bench::BareServer(server) => server.run().await?,
            Bench::DroneServices(services) => services.run().await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
