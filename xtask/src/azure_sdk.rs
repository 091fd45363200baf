//! The published Python client of Azure Scheduler, unchanged, against the real binary.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};

use crate::{command, python};

/// Builds the binary, makes the client's environment where it is missing or old, and runs its tests. How many.
pub fn run(root: &Path) -> anyhow::Result<u64> {
    // As the tests build it: after them nothing is left to do.
    command::build_all(root)?;
    let built = command::built("debug")?;
    let target = built.parent().context("finding the target directory")?;
    let tests = root.join("tests/azure-sdk");
    let python = python::environment(&target.join("azure-sdk-venv"), &tests.join("requirements.txt"))?;
    let sortie = Sortie::start(&built.join("sortie"), target)?;
    let mut test = Command::new(python);
    test.arg(tests.join("test_scheduler.py")).current_dir(&tests);
    test.env("SORTIE_URL", &sortie.url).env("PYTHONDONTWRITEBYTECODE", "1");
    let mut passed = 0;
    command::run_noting(test, |line| passed = passed.max(tests_of(line)))?;
    ensure!(passed > 0, "the client's tests did not say how many they are");
    Ok(passed)
}

/// A running `sortie dev` with data of its own; it ends, and they go, with this.
struct Sortie {
    child: Child,
    /// Kept open: a closed one would fail what the process says later.
    output: BufReader<ChildStdout>,
    data: PathBuf,
    url: String,
}

impl Sortie {
    fn start(binary: &Path, target: &Path) -> anyhow::Result<Sortie> {
        let data = target.join(format!("azure-sdk-data-{}", std::process::id()));
        let mut dev = Command::new(binary);
        dev.args(["dev", "--port", "0", "--drone-port-base", "0", "--data"]).arg(&data);
        let started = dev.stdout(Stdio::piped()).spawn();
        let mut child = started.with_context(|| format!("starting {}", binary.display()))?;
        let output = BufReader::new(child.stdout.take().expect("the output was asked for"));
        let mut sortie = Sortie { child, output, data, url: String::new() };
        let mut line = String::new();
        while sortie.url.is_empty() {
            line.clear();
            let bytes = sortie.output.read_line(&mut line).context("reading what sortie dev says")?;
            ensure!(bytes > 0, "sortie dev ended before it was ready");
            sortie.url = url_of(&line).unwrap_or_default();
        }
        Ok(sortie)
    }
}

impl Drop for Sortie {
    fn drop(&mut self) {
        // It may have ended already, and its data may never have been written: both are well.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.data);
    }
}

/// The address in the line that says that the API is there.
fn url_of(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("API")?.trim();
    rest.strip_suffix("/v1").map(str::to_owned)
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
    fn the_address_and_the_number_of_tests_are_read_from_what_is_said() {
        assert_eq!(
            url_of("  API        http://127.0.0.1:7070/v1\n").as_deref(),
            Some("http://127.0.0.1:7070")
        );
        assert_eq!(url_of("  metrics    http://127.0.0.1:7070/metrics\n"), None);
        assert_eq!(tests_of("Ran 16 tests in 10.583s"), 16);
        assert_eq!(tests_of("Ran 1 test in 0.1s"), 1);
        assert_eq!(tests_of("OK"), 0);
    }
}
