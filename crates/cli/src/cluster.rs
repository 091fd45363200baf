//! `sortie cluster`: several instances with their NATS on this machine, to play with.

mod child;
mod dev;
mod keys;
mod nats;
mod plan;
mod settings;

use std::process::ExitCode;

use clap::Subcommand;

/// Try a cluster on this machine
#[derive(Debug, Subcommand)]
pub enum Cluster {
    Dev(dev::Dev),
}

impl Cluster {
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Cluster::Dev(dev) => dev.run().await,
        }
    }
}
