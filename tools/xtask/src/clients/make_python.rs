//! The client in Python, by openapi-python-client; mypy reads it and its example, and it is packed as a wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::{Made, only};
use crate::{command, python};

/// What the generator leaves out, and we know of: definitions in YAML are given as JSON.
const KNOWN: [&str; 1] = ["Unsupported content type application/yaml"];

/// The wheel, rebuilt if its sources have changed.
pub fn make(listed: &Path, place: &Path, description: &Path) -> anyhow::Result<PathBuf> {
    let [settings, requirements, example] =
        ["openapi-python-client.yml", "requirements.txt", "examples/first_run.py"]
            .map(|name| listed.join(name));
    let python = environment(listed, place)?;
    let made = Made::of(
        place.join("python.made"),
        &[description.to_owned(), settings.clone(), requirements, example.clone()],
    )?;
    let package = place.join("python");
    let wheels = package.join("dist");
    if made.is_current() {
        return only(&wheels, ".whl");
    }
    println!("generating the client in Python into {}", package.display());
    if package.exists() {
        fs::remove_dir_all(&package).with_context(|| format!("removing {}", package.display()))?;
    }
    generate(&python, &settings, description, &package)?;
    let pip = |words: &[&str]| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(words);
        pip
    };
    let packing = pip(&["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir"]);
    command::run(command::with(packing, [&wheels, &package]))?;
    let wheel = only(&wheels, ".whl")?;
    command::run(command::with(pip(&["install", "--no-deps", "--force-reinstall"]), [&wheel]))?;
    let mut check = Command::new(&python);
    check.args(["-m", "mypy", "--strict", "--no-error-summary", "--cache-dir"]).arg(place.join("mypy-cache"));
    command::run(command::with(check, [&package.join("sortie_client"), &example]))?;
    made.finish()?;
    Ok(wheel)
}

/// Runs the example against a server.
pub fn deliver(listed: &Path, place: &Path, url: &str) -> anyhow::Result<()> {
    let mut example = Command::new(environment(listed, place)?);
    example.arg(listed.join("examples/first_run.py")).env("SORTIE_URL", url);
    command::run(example)
}

fn environment(listed: &Path, place: &Path) -> anyhow::Result<PathBuf> {
    python::environment(&place.join("python-venv"), &listed.join("requirements.txt"))
}

fn generate(python: &Path, settings: &Path, description: &Path, package: &Path) -> anyhow::Result<()> {
    let tools = python.parent().context("finding the tools of the environment")?;
    let mut generator = Command::new(tools.join("openapi-python-client"));
    generator.arg("generate").arg("--path").arg(description).arg("--config").arg(settings);
    generator.arg("--output-path").arg(package);
    // It formats what it makes with a tool that it looks for.
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(tools.to_owned()).chain(std::env::split_paths(&others));
    generator.env("PATH", std::env::join_paths(all).context("naming the tools of the environment")?);
    let output = generator.output().context("starting openapi-python-client")?;
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    ensure!(output.status.success(), "openapi-python-client failed: {said}");
    let unknown = complaints(&said);
    ensure!(unknown.is_empty(), "openapi-python-client left something out: {unknown:?}");
    Ok(())
}

/// What the generator skipped, except for what is known: its reasons follow its warnings.
fn complaints(said: &str) -> Vec<&str> {
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with("WARNING") || line.starts_with("ERROR") {
            found.push(lines.next().unwrap_or(line));
        }
    }
    found.retain(|reason| !KNOWN.contains(reason));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_noticed_unless_it_is_known() {
        let said = "Generating x\nWarning(s) encountered\n\nWARNING parsing POST /v1/workflows within workflows.\n\n\
                    Unsupported content type application/yaml\n\n{ }\n\nERROR parsing GET /x\n\nno such schema\n";
        assert_eq!(complaints(said), ["no such schema"]);
        assert_eq!(complaints("Generating x\n"), [""; 0]);
    }
}
