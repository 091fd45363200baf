//! The dashboard in a real browser: tests that use every page, and pictures of them for the docs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;

use crate::peers::install::{apt, on_path};
use crate::{command, node};

#[derive(Args)]
pub struct Browser {
    /// Instead of the tests: measures the size and first paint of the pages of the release binary with so many runs stored
    #[arg(long, value_name = "RUNS", num_args = 0..=1, default_missing_value = "100000")]
    measure: Option<u64>,
}

impl Browser {
    pub fn run(&self, root: &Path) -> anyhow::Result<()> {
        match self.measure {
            None => tests(root).map(|tests| println!("\nxtask browser: {tests} tests passed")),
            Some(runs) => measure(root, runs),
        }
    }
}

fn measure(root: &Path, runs: u64) -> anyhow::Result<()> {
    command::run(command::cargo(root, ["build", "--release", "--locked", "--package", "cli"]))?;
    let mut script = script(root, &command::built("release")?)?;
    script.arg("measure.mjs").arg(runs.to_string());
    command::run(script)
}

/// Drives every page. How many tests passed.
pub fn tests(root: &Path) -> anyhow::Result<u64> {
    command::build_all(root)?;
    let mut tests = script(root, &command::built("debug")?)?;
    // Two at once: each starts a server and a browser of its own.
    tests
        .args(["--test", "--test-concurrency=2", "--test-reporter=spec"])
        .args(files(&root.join("tests/browser"))?);
    let mut passed = 0;
    command::run_noting(tests, |line| passed = passed.max(tests_of(line)))?;
    ensure!(passed > 0, "the browser tests did not say how many they are");
    Ok(passed)
}

/// The files with tests. Not every Node finds them by itself.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    Ok(files)
}

/// Takes a picture of every page, light and dark, into `docs/screenshots`.
pub fn screenshots(root: &Path) -> anyhow::Result<()> {
    command::build_all(root)?;
    let mut script = script(root, &command::built("debug")?)?;
    script.arg("screenshots.mjs").arg(root.join("docs/screenshots"));
    command::run(script)
}

/// A run of Node that has the built program, the browser and the packages.
fn script(root: &Path, built: &Path) -> anyhow::Result<Command> {
    let place = built.parent().context("finding the target directory")?.join("browser");
    let listed = root.join("tests/browser");
    let chromium = chromium()?;
    apt("nodejs", || on_path("node"))?;
    node::packages(&listed, &place)?;
    // Variables with our own prefix would be taken for settings.
    let mut script = Command::new("node");
    script.current_dir(&listed);
    script.env("TESTED_BINARY", built.join("sortie")).env("TESTED_BROWSER", chromium);
    script.env("TESTED_PACKAGES", place.join("node_modules"));
    script.env("TESTED_DELIVERY", root.join("examples/drone-delivery/requests/delivery.json"));
    Ok(script)
}

fn chromium() -> anyhow::Result<PathBuf> {
    // A browser without letters shows nothing.
    let letters = || Some(PathBuf::from("/usr/share/fonts/truetype/dejavu")).filter(|folder| folder.is_dir());
    apt("fonts-dejavu-core", letters)?;
    apt("chromium", || on_path("chromium"))
}

/// The number in `# pass 16` and `ℹ pass 16`.
fn tests_of(line: &str) -> u64 {
    let number = line.split_once(" pass ").map(|(_, number)| number.trim());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_tests_is_read_from_what_is_said() {
        assert_eq!(tests_of("ℹ pass 16"), 16);
        assert_eq!(tests_of("# pass 3"), 3);
        assert_eq!(tests_of("✔ a run is seen to pass (12ms)"), 0);
    }
}
