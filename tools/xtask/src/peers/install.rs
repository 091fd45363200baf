//! How peers are installed: by package name, each into its own directory, which git ignores.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::{command, python};

/// Where scripts are, where packages go, and where data is while something runs.
pub struct Place {
    /// `bench/peers`.
    pub scripts: PathBuf,
    pub installed: PathBuf,
    pub data: PathBuf,
}

impl Place {
    /// An empty folder for the data of one peer, gone with all others at the end.
    pub fn data_of(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.data.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(folder)
    }

    /// The folder that holds `node_modules` of the packages that a peer's folder lists.
    pub fn npm(&self, name: &str) -> anyhow::Result<PathBuf> {
        let listed = self.scripts.join(name).join("package.json");
        let wanted = fs::read_to_string(&listed).with_context(|| format!("reading {}", listed.display()))?;
        let folder = self.installed.join(name);
        // Written last: an installation that was not finished has none.
        let stamp = folder.join("installed.json");
        if fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
            return Ok(folder);
        }
        println!("installing what {} lists into {}", listed.display(), folder.display());
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        fs::write(folder.join("package.json"), &wanted)?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--package-lock=false", "--loglevel=error"]);
        npm.current_dir(&folder);
        command::run(npm).context("npm is needed")?;
        fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))?;
        Ok(folder)
    }

    /// The Python of an environment with the packages that a peer's folder lists.
    pub fn pip(&self, name: &str) -> anyhow::Result<PathBuf> {
        let requirements = self.scripts.join(name).join("requirements.txt");
        python::environment(&self.installed.join(name), &requirements)
    }

    /// The version of a package of such an environment.
    pub fn pip_version(&self, name: &str, package: &str) -> anyhow::Result<String> {
        let code = format!("import importlib.metadata as m; print(m.version({package:?}))");
        let output = Command::new(self.pip(name)?).args(["-c", &code]).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// A script of a peer, run by a Node that is new enough for all of them, with the peer's packages.
    pub fn node(&self, name: &str, script: &str) -> anyhow::Result<Command> {
        let cpu = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let node = self.npm("node")?.join(format!("node_modules/node-linux-{cpu}/bin/node"));
        let mut command = super::process::bound(node);
        command.arg(self.scripts.join(name).join(script));
        command.env("NODE_PATH", self.npm(name)?.join("node_modules")).env("NODE_ENV", "production");
        Ok(command)
    }
}

/// The version of an installed npm package.
pub fn npm_version(folder: &Path, package: &str) -> anyhow::Result<String> {
    let file = folder.join("node_modules").join(package).join("package.json");
    let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let value: serde_json::Value = serde_json::from_str(&text)?;
    let version = value["version"].as_str().context("a package has a version")?;
    Ok(version.to_owned())
}

/// What a program says about itself: the first word with a digit and a dot in it.
pub fn program_version(program: &Path, argument: &str) -> anyhow::Result<String> {
    let output = Command::new(program).arg(argument).output();
    let output = output.with_context(|| format!("asking {} for its version", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.split([' ', '\n', '=', '(']).map(|word| word.trim_start_matches('v'));
    let version =
        words.find(|word| word.contains('.') && word.starts_with(|first: char| first.is_ascii_digit()));
    version.map(str::to_owned).with_context(|| format!("no version in {text:?}"))
}

/// A program of a Debian package, which is installed when it is missing.
pub fn apt(package: &str, look: impl Fn() -> Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(found) = look() {
        return Ok(found);
    }
    println!("installing the Debian package {package}");
    if apt_install(package).is_err() {
        // A machine that has never installed anything has no list of packages.
        let mut update = Command::new("apt-get");
        update.arg("update").stdout(Stdio::null());
        command::run(update)?;
        apt_install(package).with_context(|| format!("install the Debian package {package}, as root"))?;
    }
    let found = look();
    ensure!(found.is_some(), "{package} is installed, but its program is not where it should be");
    found.context("just looked at")
}

fn apt_install(package: &str) -> anyhow::Result<()> {
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends", package]);
    // Runlevel 1 keeps the package from starting its own service.
    install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").stdout(Stdio::null());
    command::run(install)
}

/// Where the shell would find a program.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
