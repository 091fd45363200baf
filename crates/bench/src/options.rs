//! Options that several benches have.

use std::path::PathBuf;

use clap::Args;

/// Where the server under test keeps its data.
#[derive(Debug, Clone, Args)]
pub struct DataDirectory {
    /// Put the temporary data directory in here; the disk it is on is the one that is measured
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// What is measured in place of a server of its own.
#[derive(Debug, Clone, Default, Args)]
pub struct Running {
    /// Measure a server or cluster that runs already, at these addresses; its token comes by --token. What is handed in
    /// stays there, so use one that is made for it
    #[arg(long, value_name = "URL")]
    pub cluster: Vec<String>,
}

/// How often the whole is measured.
#[derive(Debug, Clone, Args)]
pub struct Repeats {
    /// Measure this many times, with a new server each; the figures are medians, beside the lowest and highest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: u32,
}

/// Where a chart goes.
#[derive(Debug, Clone, Args)]
pub struct Picture {
    /// Draw how it went over time into this SVG file
    #[arg(long, value_name = "FILE")]
    pub chart: Option<PathBuf>,
}
