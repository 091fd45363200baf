//! Python environments for the tools that are written in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::command;

/// The Python of an environment that holds what the list requires. Rebuilt when the list has changed.
pub fn environment(place: &Path, requirements: &Path) -> anyhow::Result<PathBuf> {
    let python = place.join("bin/python");
    let wanted =
        fs::read_to_string(requirements).with_context(|| format!("reading {}", requirements.display()))?;
    // Written last: an environment that was not finished has none.
    let stamp = place.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(python);
    }
    println!("installing what {} lists into {}", requirements.display(), place.display());
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(place);
    command::run(make).context("python3 with its venv module is needed")?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    command::run(command::with(install, [requirements]))?;
    fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))?;
    Ok(python)
}
