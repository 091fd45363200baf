//! Builds the real binaries and hands them to the torture program.

use std::path::Path;
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

/// Builds what is needed, then kills and audits.
pub fn kill(root: &Path, kill: &Kill) -> anyhow::Result<()> {
    let build =
        ["build", "--locked", "--package", "cli", "--package", "torture", "--package", "drone-delivery"];
    let (profile, release) = if kill.dev { ("debug", None) } else { ("release", Some("--release")) };
    command::run(command::with(command::cargo(root, build), ["--bins"].into_iter().chain(release)))?;
    let built = command::built(profile)?;
    let mut torture = Command::new(built.join("torture"));
    torture.arg("kill").arg("--n").arg(kill.n.to_string());
    torture.arg("--bin").arg(built.join("sortie")).arg("--drone").arg(built.join("drone-services"));
    if let Some(seed) = kill.seed {
        torture.arg("--seed").arg(seed.to_string());
    }
    if kill.keep {
        torture.arg("--keep");
    }
    torture.current_dir(root);
    command::run(torture)
}
