//! The client in TypeScript: types by openapi-typescript, calls by openapi-fetch; compiled strictly and packed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::{Made, only};
use crate::peers::install::{apt, on_path};
use crate::{command, node};

/// The hand-written files, besides the package and its lock.
const SOURCES: [&str; 4] =
    ["tsconfig.json", "src/index.ts", "examples/tsconfig.json", "examples/first-run.ts"];

/// The package, rebuilt if its sources have changed.
pub fn make(listed: &Path, place: &Path, description: &Path) -> anyhow::Result<PathBuf> {
    let package = place.join("typescript");
    apt("nodejs", || on_path("node"))?;
    node::packages(listed, &package)?;
    let mut inputs: Vec<PathBuf> = SOURCES.iter().map(|name| listed.join(name)).collect();
    inputs.extend([listed.join("package.json"), listed.join("package-lock.json"), description.to_owned()]);
    let made = Made::of(place.join("typescript.made"), &inputs)?;
    if made.is_current() {
        return only(&package, ".tgz");
    }
    println!("generating the client in TypeScript into {}", package.display());
    for name in SOURCES.iter().chain(&["package.json"]) {
        let to = package.join(name);
        let folder = to.parent().context("a file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        fs::copy(listed.join(name), &to).with_context(|| format!("copying {name}"))?;
    }
    let tool = |name: &str| {
        let mut tool = Command::new(package.join("node_modules/.bin").join(name));
        tool.current_dir(&package);
        tool
    };
    // A member with a default is optional in a request.
    let mut generator = tool("openapi-typescript");
    generator.arg(description).args(["--default-non-nullable", "false", "--output", "src/schema.ts"]);
    command::run(generator)?;
    for project in [".", "examples"] {
        command::run(command::with(tool("tsc"), ["--project", project]))?;
    }
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", "--loglevel=error"]).current_dir(&package);
    command::run(pack)?;
    made.finish()?;
    only(&package, ".tgz")
}

/// Runs the example against a server.
pub fn deliver(place: &Path, url: &str) -> anyhow::Result<()> {
    let mut example = Command::new("node");
    example.arg("examples-dist/first-run.js").current_dir(place.join("typescript")).env("SORTIE_URL", url);
    command::run(example)
}
