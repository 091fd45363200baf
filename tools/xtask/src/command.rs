//! External commands: how they are started, and what the error says when one fails.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

/// A cargo command in the root of the repository.
pub fn cargo<'a>(root: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments);
    if std::env::var_os("CI").is_some() {
        // What makes the next build faster costs time and gigabytes, and nothing is built again in a clone of CI.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

pub fn with(mut command: Command, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    command.args(arguments);
    command
}

/// Runs a command to its end; its failure is an error that names it.
pub fn run(mut command: Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("starting {}", describe(&command)))?;
    ensure!(status.success(), "{} failed: {status}", describe(&command));
    Ok(())
}

/// Like [`run`], and passes every line of its output to `note` as well.
pub fn run_noting(mut command: Command, mut note: impl FnMut(&str)) -> anyhow::Result<()> {
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.with_context(|| format!("starting {}", describe(&command)))?;
    let output = child.stdout.take().expect("the output was asked for");
    for line in BufReader::new(output).split(b'\n') {
        let line = line.with_context(|| format!("reading from {}", describe(&command)))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        note(&line);
    }
    let status = child.wait().with_context(|| format!("waiting for {}", describe(&command)))?;
    ensure!(status.success(), "{} failed: {status}", describe(&command));
    Ok(())
}

/// Makes sure that a tool of the Rust distribution is there; installs it where it is not.
pub fn need_component(root: &Path, subcommand: &str, component: &str) -> anyhow::Result<()> {
    let found = cargo(root, [subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["component", "add", component]).current_dir(root);
    if run(rustup).is_err() {
        bail!("cargo {subcommand} is missing; install the {component} component of your Rust toolchain");
    }
    Ok(())
}

/// Builds every program for development. All at once: what a package is built with depends on what is built beside
/// it, and building them one by one would build what they share again and again.
pub fn build_all(root: &Path) -> anyhow::Result<PathBuf> {
    run(cargo(root, ["build", "--workspace", "--bins", "--locked"]))?;
    built("debug")
}

/// Where cargo puts what it builds in a profile: this program itself was put there.
pub fn built(profile: &str) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("asking for the place of this program")?;
    let target = own.parent().and_then(Path::parent).context("finding the target directory")?;
    Ok(target.join(profile))
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
