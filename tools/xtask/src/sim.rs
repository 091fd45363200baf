//! Builds the simulator and runs it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::command;

/// Seeds that are part of the tests; a build without optimisation plays some dozens in a second.
const SEEDS: &str = "300";

/// Seeds of clusters that are part of the tests.
const CLUSTER_SEEDS: &str = "60";

/// The faults that every test run must catch: a simulator that misses these checks nothing. Both are in decorators of
/// the simulator, which need no second build.
const CANARY: &str = "ack-before-sync";
const CLUSTER_CANARY: &str = "unknown-taken-for-stored";

/// Builds it fast, then passes the arguments on.
pub fn run(root: &Path, arguments: &[OsString]) -> anyhow::Result<()> {
    command::run(command::cargo(root, ["build", "--locked", "--profile", "sim", "--package", "sim"]))?;
    let mut sim = Command::new(command::built("sim")?.join("sim"));
    sim.current_dir(root);
    command::run(command::with(sim, arguments))
}

/// The small round that is part of the tests, the pace, and the canaries. Returns a summary.
pub fn short(root: &Path) -> anyhow::Result<String> {
    let built = command::build_all(root)?;
    let sim = || {
        let mut sim = Command::new(built.join("sim"));
        sim.current_dir(root);
        sim
    };
    let mut closing = Vec::new();
    for (kind, seeds) in [("--alone", SEEDS), ("--cluster", CLUSTER_SEEDS)] {
        let seeds = command::with(sim(), [kind, "--seeds", seeds, "--lenient"]);
        command::run_noting(seeds, |line| {
            if line.starts_with("sim: ") && line.contains(" violations; ") {
                closing.push(line.trim_start_matches("sim: ").to_owned());
            }
        })?;
    }
    command::run(command::with(sim(), ["--pace"]))?;
    for canary in [CANARY, CLUSTER_CANARY] {
        command::run(command::with(sim(), ["--bug", canary, "--seeds", "100"]))?;
    }
    let closing = closing.join(", ");
    Ok(format!("{SEEDS} seeds and {CLUSTER_SEEDS} of clusters, {closing}, the canaries were caught"))
}
