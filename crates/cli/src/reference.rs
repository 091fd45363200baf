//! `sortie reference`: the tables of docs/reference, generated from the code. `cargo xtask reference` inserts them.

mod brokers;
mod commands;
mod limits;
mod tables;

use std::process::ExitCode;

use clap::{Args, CommandFactory, ValueEnum};

use crate::screen;

/// Print a part of the reference in Markdown
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Reference {
    part: ReferencePage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReferencePage {
    /// Every command
    Cli,
    /// Every setting
    Config,
    /// Every metric of a server
    Metrics,
    /// Metrics of an instance in a cluster
    MetricsCluster,
    /// Metrics of an instance in a region with a pair
    MetricsRegions,
    /// Every error code
    Errors,
    /// Limits
    Limits,
    /// Every external broker
    Brokers,
    /// The fields of messages for external brokers, and of sources
    BrokerFields,
}

impl Reference {
    pub fn run<C: CommandFactory>(self) -> anyhow::Result<ExitCode> {
        let text = match self.part {
            ReferencePage::Cli => commands::render(C::command()),
            ReferencePage::Config => tables::config(),
            ReferencePage::Metrics => tables::metrics(&server::reference::metrics()),
            ReferencePage::MetricsCluster => tables::metrics(&server::reference::cluster_metrics()),
            ReferencePage::MetricsRegions => tables::metrics(&server::reference::region_metrics()),
            ReferencePage::Errors => tables::errors(),
            ReferencePage::Limits => limits::render(),
            ReferencePage::Brokers => brokers::types(),
            ReferencePage::BrokerFields => brokers::fields(),
        };
        screen::print(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A table in Markdown; bars inside cells are escaped.
fn table<const N: usize>(titles: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |")
    };
    let mut out = line(&titles.map(str::to_owned));
    out += &format!("|{}\n", "---|".repeat(N));
    rows.into_iter().for_each(|row| out += &line(&row));
    out
}
