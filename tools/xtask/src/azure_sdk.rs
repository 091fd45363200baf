//! The published Python client of Azure Scheduler, unchanged, against the real binary.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::dev_server::DevServer;
use crate::{command, python};

/// Builds the binary, makes the client's environment where it is missing or old, and runs its tests. How many.
pub fn run(root: &Path) -> anyhow::Result<u64> {
    // As the tests build it: after them nothing is left to do.
    command::build_all(root)?;
    let built = command::built("debug")?;
    let target = built.parent().context("finding the target directory")?;
    let tests = root.join("tests/azure-sdk");
    let python = python::environment(&target.join("azure-sdk-venv"), &tests.join("requirements.txt"))?;
    let sortie = DevServer::start(&built.join("sortie"), target)?;
    let mut test = Command::new(python);
    test.arg(tests.join("test_scheduler.py")).current_dir(&tests);
    test.env("SORTIE_URL", &sortie.url).env("PYTHONDONTWRITEBYTECODE", "1");
    let mut passed = 0;
    command::run_noting(test, |line| passed = passed.max(tests_of(line)))?;
    ensure!(passed > 0, "the client's tests did not say how many they are");
    Ok(passed)
}

/// The number in `Ran 16 tests in 10.6s`.
fn tests_of(line: &str) -> u64 {
    let number = line.strip_prefix("Ran ").and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_tests_is_read_from_what_is_said() {
        assert_eq!(tests_of("Ran 16 tests in 10.583s"), 16);
        assert_eq!(tests_of("Ran 1 test in 0.1s"), 1);
        assert_eq!(tests_of("OK"), 0);
    }
}
