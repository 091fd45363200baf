//! Options that several benches have.

use std::path::PathBuf;

use clap::Args;

/// Where the server under test keeps its data.
#[derive(Debug, Clone, Args)]
pub struct DataDirectory {
    /// Create the temporary data directory here; its disk is the one that is measured
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// What is measured in place of a server of its own.
#[derive(Debug, Clone, Default, Args)]
pub struct Running {
    /// Measure a running server or cluster at these addresses, with --token. Submitted runs
    /// stay there, so use a dedicated one
    #[arg(long, value_name = "URL")]
    pub cluster: Vec<String>,
}

/// How often the whole is measured.
#[derive(Debug, Clone, Args)]
pub struct Repeats {
    /// Repeat the measurement this many times with a new server each; the figures are medians, with minimum and maximum
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: u32,
}

/// Where a chart goes.
#[derive(Debug, Clone, Args)]
pub struct Picture {
    /// Write a chart over time to this SVG file
    #[arg(long, value_name = "FILE")]
    pub chart: Option<PathBuf>,
}
