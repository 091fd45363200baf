//! A PostgreSQL cluster of our own, in the data directory, with every commit synced.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use super::install::{Place, apt, program_version};
use super::process::{End, Process, bound, free_address};
use crate::command;

/// The user that the Debian package makes; PostgreSQL refuses to run as root.
const USER: &str = "postgres";
const CONNECTIONS_MAX: &str = "200";

/// A running cluster; it ends with its process.
pub struct Cluster {
    pub process: Process,
    pub version: String,
    port: u16,
    programs: PathBuf,
}

impl Cluster {
    pub fn start(place: &Place) -> anyhow::Result<Cluster> {
        let programs = apt("postgresql", programs)?;
        let folder = place.data_of("postgres")?;
        let data = folder.join("cluster");
        if is_root() {
            command::run(command::with(Command::new("chown"), [USER.as_ref(), folder.as_os_str()]))?;
        }
        let mut initialise = unprivileged(&programs.join("initdb"));
        initialise.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--pgdata"]);
        initialise.arg(&data).stdout(Stdio::null());
        command::run(initialise).context("making a cluster")?;

        let address = free_address()?;
        let mut server = unprivileged(&programs.join("postgres"));
        server.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &address.port().to_string()]);
        for setting in [
            "fsync=on",
            "synchronous_commit=on",
            "full_page_writes=on",
            "unix_socket_directories=",
            "shared_buffers=512MB",
            "max_wal_size=4GB",
        ] {
            server.args(["-c", setting]);
        }
        server.args(["-c", &format!("max_connections={CONNECTIONS_MAX}")]);
        let mut process = Process::server("postgres", server, &place.data, End::Interrupt)?;
        process.listens(address)?;
        let version = program_version(&programs.join("postgres"), "--version")?;
        Ok(Cluster { process, version, port: address.port(), programs })
    }

    /// Makes a database; gives what follows the scheme in its address.
    pub fn database(&self, name: &str) -> anyhow::Result<String> {
        let port = self.port.to_string();
        let mut create = Command::new(self.programs.join("createdb"));
        create.args(["-h", "127.0.0.1", "-p", &port, "-U", "postgres", name]);
        command::run(create)?;
        Ok(format!("postgres@127.0.0.1:{port}/{name}"))
    }
}

/// Where Debian puts the programs of the newest version that is there.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.flatten().map(|version| version.path().join("bin"));
    folders.filter(|folder| folder.join("initdb").is_file()).max()
}

/// A command under the user of PostgreSQL where this program is root.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return bound(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--pdeathsig", "INT", "--"]);
    command.arg(program).current_dir("/");
    command
}

fn is_root() -> bool {
    let asked = Command::new("id").arg("-u").output();
    asked.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
