//! Schemathesis over the real binary: requests made up from the description of the API, answers held against it.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::Args;

use crate::{command, python};

/// How many requests are made up, and which.
#[derive(Debug, Args)]
pub struct Schemathesis {
    /// Generated requests per operation, in addition to those that cover its description
    #[arg(long, default_value_t = EXAMPLES)]
    examples: u32,
    /// The same seed, the same requests
    #[arg(long, default_value_t = SEED)]
    seed: u64,
}

const EXAMPLES: u32 = 8;
const SEED: u64 = 2016;

impl Schemathesis {
    /// What is part of the tests.
    pub fn small() -> Schemathesis {
        Schemathesis { examples: EXAMPLES, seed: SEED }
    }
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Requests(u64),
    /// This machine does not allow network namespaces.
    Skipped,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Done::Requests(requests) => write!(f, "{requests} requests of schemathesis"),
            Done::Skipped => f.write_str("schemathesis SKIPPED"),
        }
    }
}

/// Builds the binary, makes the environment where it is missing or old, and runs it.
pub fn run(root: &Path, asked: &Schemathesis) -> anyhow::Result<Done> {
    // The jobs that it makes up call addresses that it makes up: none of them may be reached.
    let Some(mut alone) = alone() else {
        println!(
            "SKIPPED: schemathesis: unshare cannot create a network namespace here, and without one it could call any host"
        );
        return Ok(Done::Skipped);
    };
    // As the tests build it: after them nothing is left to do.
    command::build_all(root)?;
    let built = command::built("debug")?;
    let target = built.parent().context("finding the target directory")?;
    let tests = root.join("tests/schemathesis");
    let python = python::environment(&target.join("schemathesis-venv"), &tests.join("requirements.txt"))?;
    let scratch = target.join(format!("schemathesis-{}", std::process::id()));
    println!("seed {} (--seed {} repeats it)", asked.seed, asked.seed);
    alone.arg(python).arg(tests.join("run.py"));
    alone.arg("--sortie").arg(built.join("sortie")).arg("--scratch").arg(&scratch);
    alone.arg("--azure").arg(root.join("testdata/azure-scheduler/scheduler-2016-03-01.json"));
    alone.args(["--seed", &asked.seed.to_string(), "--examples", &asked.examples.to_string()]);
    alone.env("PYTHONDONTWRITEBYTECODE", "1");
    let mut requests = 0;
    command::run_noting(alone, |line| requests += requests_of(line))?;
    ensure!(requests > 0, "schemathesis did not say how many requests it made");
    // Kept when something was found: the log of the server and the reports are in it.
    std::fs::remove_dir_all(&scratch).with_context(|| format!("removing {}", scratch.display()))?;
    Ok(Done::Requests(requests))
}

/// A command that runs what follows it in a network namespace, if possible: as root, or in a user namespace.
fn alone() -> Option<Command> {
    let ways: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];
    ways.into_iter().find_map(|flags| {
        let mut trial = Command::new("unshare");
        trial.args(flags).arg("true").stdout(Stdio::null()).stderr(Stdio::null());
        let mut alone = Command::new("unshare");
        alone.args(flags);
        trial.status().is_ok_and(|status| status.success()).then_some(alone)
    })
}

/// The number in `schemathesis native: 3417 requests, nothing found`.
fn requests_of(line: &str) -> u64 {
    let Some((name, rest)) = line.split_once(": ") else { return 0 };
    let number = rest.split_once(" requests").map(|(number, _)| number);
    number.filter(|_| name.starts_with("schemathesis ")).and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_summed_over_both_descriptions() {
        assert_eq!(requests_of("schemathesis native: 3417 requests, nothing found"), 3417);
        assert_eq!(requests_of("schemathesis azure: 12 requests, 1 failures"), 12);
        assert_eq!(requests_of("  Test cases: 3417 generated"), 0);
    }
}
