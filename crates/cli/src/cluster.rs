//! `sortie cluster`: shows a cluster, or runs one with NATS on this machine for development.

mod child;
mod dev;
mod keys;
mod nats;
mod plan;
mod report;
mod settings;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::session::{Options, Session};

/// Show the instances of a cluster, or run a development cluster on this machine
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    Dev(dev::Dev),
    Show(show::Show),
}

impl ClusterCommand {
    pub async fn run(self, options: Options) -> anyhow::Result<ExitCode> {
        match self {
            ClusterCommand::Dev(dev) => dev.run(options.json).await,
            ClusterCommand::Show(show) => show.run(Session::new(&options)?).await,
        }
    }
}
