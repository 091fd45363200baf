//! `sortie cluster`: several instances with their NATS on this machine, to play with.

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

/// See the instances of a cluster, or try one on this machine
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
