//! Real brokers for the tests, and external clients that receive from them: installed by package name when missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::peers::install::{apt, on_path};
use crate::{command, node, python};

/// Makes sure that everything is there that `peers` starts: packages of Debian, of npm and of PyPI.
pub fn ensure(root: &Path) -> anyhow::Result<()> {
    install_server("rabbitmq-server")?;
    install_server("nats-server")?;
    apt("nodejs", || on_path("node"))?;
    let (listed, place) = (root.join("tests/brokers"), place()?);
    python::environment(&place.join("python"), &listed.join("requirements.txt"))?;
    ensure_nats(root)?;
    node::packages(&listed, &place.join("node"))
}

/// The NATS server that a cluster needs, which is newer than Debian's.
pub fn ensure_nats(root: &Path) -> anyhow::Result<()> {
    python::environment(&place()?.join("nats"), &root.join("tests/brokers/nats-server.txt")).map(drop)
}

/// Where the crate `peers` looks: beside the profiles of cargo.
fn place() -> anyhow::Result<PathBuf> {
    let built = command::built("debug")?;
    Ok(built.parent().context("finding the target directory")?.join("broker-peers"))
}

/// A server of Debian, whose own service is not wanted.
fn install_server(package: &str) -> anyhow::Result<()> {
    let look = || on_path(package).or_else(|| existing(&format!("/usr/sbin/{package}")));
    if look().is_some() {
        return Ok(());
    }
    apt(package, look)?;
    // The package starts it on machines that have a service manager; elsewhere there is nothing to stop.
    let mut stop = Command::new("service");
    stop.args([package, "stop"]).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = stop.status();
    Ok(())
}

fn existing(file: &str) -> Option<PathBuf> {
    Some(PathBuf::from(file)).filter(|file| file.is_file())
}
