//! The clients in Python and TypeScript: generated from what the real server says of itself, checked, packed, and their
//! examples run against it.

mod make_python;
mod make_typescript;

use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;

use crate::command;
use crate::dev_server::DevServer;

/// Which server they are made for.
#[derive(Debug, Args)]
pub struct Clients {
    /// A server that is built already, instead of building this one
    #[arg(long, value_name = "BINARY")]
    sortie: Option<PathBuf>,
}

impl Clients {
    /// What is part of the tests.
    pub fn of_this_build() -> Clients {
        Clients { sortie: None }
    }
}

/// Where the packed clients are.
#[derive(Debug)]
pub struct Done {
    wheel: PathBuf,
    package: PathBuf,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        write!(f, "{} and {} deliver", name(&self.wheel), name(&self.package))
    }
}

/// Makes both clients where something has changed since they were made, and runs their examples.
pub fn run(root: &Path, asked: &Clients) -> anyhow::Result<Done> {
    let binary = match &asked.sortie {
        Some(binary) => binary.clone(),
        None => command::build_all(root)?.join("sortie"),
    };
    let built = command::built("debug")?;
    let target = built.parent().context("finding the target directory")?;
    let place = target.join("clients");
    fs::create_dir_all(&place).with_context(|| format!("making {}", place.display()))?;
    let server = DevServer::start(&binary, target)?;
    let description = place.join("openapi.json");
    let text = fetch(&server.url, "/openapi.json")?;
    fs::write(&description, text).with_context(|| format!("writing {}", description.display()))?;
    let wheel = make_python::make(&root.join("clients/python"), &place, &description)?;
    let package = make_typescript::make(&root.join("clients/typescript"), &place, &description)?;
    make_python::deliver(&root.join("clients/python"), &place, &server.url)?;
    make_typescript::deliver(&place, &server.url)?;
    Ok(Done { wheel, package })
}

/// What stands at a path of a server on this machine.
fn fetch(url: &str, path: &str) -> anyhow::Result<String> {
    let address = url.strip_prefix("http://").context("the address of a server begins with http://")?;
    let mut stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).with_context(|| format!("reading {path}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer has a head")?;
    ensure!(head.contains(" 200 "), "{path}: {}", head.lines().next().unwrap_or_default());
    Ok(body.to_owned())
}

/// Something that is made of files, and made again when one of them has changed.
struct Made {
    stamp: PathBuf,
    inputs: String,
}

impl Made {
    fn of(stamp: PathBuf, inputs: &[PathBuf]) -> anyhow::Result<Made> {
        let read =
            |path: &PathBuf| fs::read_to_string(path).with_context(|| format!("reading {}", path.display()));
        let inputs = inputs.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?.join("\n");
        Ok(Made { stamp, inputs })
    }

    fn is_current(&self) -> bool {
        fs::read_to_string(&self.stamp).is_ok_and(|made| made == self.inputs)
    }

    /// Called last: what was not finished has no stamp.
    fn finish(self) -> anyhow::Result<()> {
        fs::write(&self.stamp, self.inputs).with_context(|| format!("writing {}", self.stamp.display()))
    }
}

/// The one file in a folder whose name ends so.
fn only(folder: &Path, end: &str) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut found = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let found = found.find(|path| path.to_string_lossy().ends_with(end));
    found.with_context(|| format!("no {end} in {}", folder.display()))
}
