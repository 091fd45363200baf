//! Builds the simulator and runs it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::command;

/// Seeds that are part of the tests; a build without optimisation plays some dozens in a second.
const SEEDS: &str = "300";

/// The planted bug that every test run must catch: who misses this one sees nothing.
const CANARY: &str = "ack-before-sync";

/// Builds it fast, then hands the arguments on.
pub fn run(root: &Path, arguments: &[OsString]) -> anyhow::Result<()> {
    command::run(command::cargo(root, ["build", "--locked", "--profile", "sim", "--package", "sim"]))?;
    let mut sim = Command::new(command::built("sim")?.join("sim"));
    sim.current_dir(root);
    command::run(command::with(sim, arguments))
}

/// The small round that is part of the tests, and its canary. What it came to.
pub fn short(root: &Path) -> anyhow::Result<String> {
    let built = command::build_all(root)?;
    let sim = || {
        let mut sim = Command::new(built.join("sim"));
        sim.current_dir(root);
        sim
    };
    let mut closing = String::new();
    let seeds = command::with(sim(), ["--seeds", SEEDS, "--lenient"]);
    command::run_noting(seeds, |line| {
        if line.starts_with("sim: ") && line.contains(" violations; ") {
            closing = line.trim_start_matches("sim: ").to_owned();
        }
    })?;
    command::run(command::with(sim(), ["--bug", CANARY, "--seeds", "100"]))?;
    Ok(format!("{SEEDS} seeds, {closing}, the canary was caught"))
}
