//! Builds the real binaries and hands them to the torture program.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::command;

/// How to torture by kills.
#[derive(Args)]
pub struct Kill {
    /// How often to kill.
    #[arg(long, default_value_t = 100)]
    n: u32,
    /// Where the dice start; drawn and printed when it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Torture the development build instead of the release build.
    #[arg(long)]
    dev: bool,
    /// Keep the data directory, also when all is well.
    #[arg(long)]
    keep: bool,
}

impl Kill {
    /// A round that is part of the tests: few kills, of what the tests have built already.
    pub fn small(n: u32) -> Kill {
        Kill { n, seed: None, dev: true, keep: false }
    }
}

/// How to kill while jobs fire.
#[derive(Args)]
pub struct Firings {
    /// How often to kill.
    #[arg(long, default_value_t = 30)]
    n: u32,
    /// Jobs that fire every second.
    #[arg(long, default_value_t = 100)]
    jobs: u32,
    /// Where the dice start; drawn and printed when it is not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Torture the development build instead of the release build.
    #[arg(long)]
    dev: bool,
    /// Keep the data directory, also when all is well.
    #[arg(long)]
    keep: bool,
}

impl Firings {
    /// A round that is part of the tests: few kills, of what the tests have built already.
    pub fn small(n: u32) -> Firings {
        Firings { n, jobs: 50, seed: None, dev: true, keep: false }
    }
}

/// Builds what is needed, then kills and audits.
pub fn kill(root: &Path, kill: &Kill) -> anyhow::Result<()> {
    let built = build(root, kill.dev)?;
    let mut torture = Command::new(built.join("torture"));
    torture.arg("kill").arg("--n").arg(kill.n.to_string());
    torture.arg("--bin").arg(built.join("sortie")).arg("--drone").arg(built.join("drone-services"));
    finish(torture, root, kill.seed, kill.keep)
}

/// Builds what is needed, then kills while jobs fire and audits.
pub fn firings(root: &Path, firings: &Firings) -> anyhow::Result<()> {
    let built = build(root, firings.dev)?;
    let mut torture = Command::new(built.join("torture"));
    torture.arg("firings").arg("--n").arg(firings.n.to_string()).arg("--jobs").arg(firings.jobs.to_string());
    torture.arg("--bin").arg(built.join("sortie"));
    finish(torture, root, firings.seed, firings.keep)
}

fn build(root: &Path, dev: bool) -> anyhow::Result<PathBuf> {
    let build =
        ["build", "--locked", "--package", "cli", "--package", "torture", "--package", "drone-delivery"];
    let (profile, release) = if dev { ("debug", None) } else { ("release", Some("--release")) };
    command::run(command::with(command::cargo(root, build), ["--bins"].into_iter().chain(release)))?;
    command::built(profile)
}

fn finish(mut torture: Command, root: &Path, seed: Option<u64>, keep: bool) -> anyhow::Result<()> {
    if let Some(seed) = seed {
        torture.arg("--seed").arg(seed.to_string());
    }
    if keep {
        torture.arg("--keep");
    }
    torture.current_dir(root);
    command::run(torture)
}
