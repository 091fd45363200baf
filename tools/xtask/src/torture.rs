//! Builds the real binaries and passes them to the torture program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{brokers, command};

/// Which build is tortured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    Release,
    /// What the tests have built already.
    Development,
}

/// Builds what is needed, then passes the arguments on; `--dev` among them chooses the build.
pub fn run(root: &Path, arguments: &[OsString]) -> anyhow::Result<()> {
    let build =
        if arguments.iter().any(|word| word == "--dev") { Build::Development } else { Build::Release };
    // A torture of a cluster starts nats-servers.
    if arguments.iter().any(|word| word == "cluster" || word == "region" || word == "all") {
        brokers::ensure_nats(root)?;
    }
    let handed_on = arguments.iter().filter(|word| *word != "--dev");
    command::run(command::with(torture(root, build)?, handed_on))
}

/// The small round of every fault that is part of the tests. Its closing line, without its name.
pub fn short(root: &Path) -> anyhow::Result<String> {
    let all = command::with(torture(root, Build::Development)?, ["all", "--short"]);
    let mut closing = String::new();
    command::run_noting(all, |line| {
        if let Some(figures) = line.strip_prefix("torture all: ") {
            closing = figures.to_owned();
        }
    })?;
    Ok(closing)
}

fn torture(root: &Path, build: Build) -> anyhow::Result<Command> {
    let mut torture = Command::new(built(root, build)?.join("torture"));
    torture.current_dir(root);
    Ok(torture)
}

fn built(root: &Path, build: Build) -> anyhow::Result<PathBuf> {
    match build {
        Build::Release => {
            let packages = ["--package", "cli", "--package", "torture", "--package", "drone-delivery"];
            let build = command::cargo(root, ["build", "--locked", "--release", "--bins"]);
            command::run(command::with(build, packages))?;
            command::built("release")
        }
        Build::Development => command::build_all(root),
    }
}
