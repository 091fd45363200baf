//! Packages of npm, in a directory of their own.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::command;
use crate::peers::install::{apt, on_path};

/// Installs exactly what the lock file lists, again when it has changed.
pub fn packages(listed: &Path, place: &Path) -> anyhow::Result<()> {
    let lock = listed.join("package-lock.json");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("reading {}", lock.display()))?;
    // Written last: an installation that was not finished has none.
    let stamp = place.join("installed.json");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    println!("installing what {} lists into {}", lock.display(), place.display());
    fs::create_dir_all(place).with_context(|| format!("making {}", place.display()))?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(listed.join(name), place.join(name)).with_context(|| format!("copying {name}"))?;
    }
    apt("npm", || on_path("npm"))?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(place);
    command::run(npm).context("npm is needed")?;
    fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))
}
