//! Where `cargo xtask brokers` has put what is needed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

const INSTALL: &str = "run `cargo xtask brokers`, which installs it";

/// The Python that has the client libraries of the brokers.
pub fn python() -> anyhow::Result<PathBuf> {
    file(&folder()?.join("python/bin/python"))
}

/// Node, with the packages that scripts may require.
pub fn node() -> anyhow::Result<Command> {
    let packages = folder()?.join("node/node_modules");
    ensure!(packages.is_dir(), "{} is missing: {INSTALL}", packages.display());
    let mut node = Command::new(program("node", &[])?);
    node.env("NODE_PATH", packages);
    Ok(node)
}

/// The main file of Azurite's queue service, for Node.
pub(crate) fn azurite() -> anyhow::Result<PathBuf> {
    file(&folder()?.join("node/node_modules/azurite/dist/src/queue/main.js"))
}

/// A server of NATS that is new enough for clusters; `SORTIE_NATS_SERVER` names another one.
pub fn nats_server() -> anyhow::Result<PathBuf> {
    match env::var_os("SORTIE_NATS_SERVER") {
        Some(named) => file(Path::new(&named)),
        None => file(&folder()?.join("nats/bin/nats-server")),
    }
}

/// A program of a Debian package, which may lie where the path of a user does not lead.
pub(crate) fn program(name: &str, also: &[&str]) -> anyhow::Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(also.iter().map(PathBuf::from));
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    found.with_context(|| format!("{name} is missing: {INSTALL}"))
}

fn file(path: &Path) -> anyhow::Result<PathBuf> {
    ensure!(path.is_file(), "{} is missing: {INSTALL}", path.display());
    Ok(path.to_owned())
}

/// A folder beside those of cargo's profiles; a test lies in `deps` of its profile, other programs beside it.
fn folder() -> anyhow::Result<PathBuf> {
    let own = env::current_exe().context("asking for the place of this program")?;
    let built = own.parent().context("a program lies in a folder")?;
    let profile = if built.ends_with("deps") { built.parent() } else { Some(built) };
    let target = profile.and_then(Path::parent).context("finding the target directory")?;
    Ok(target.join("broker-peers"))
}
