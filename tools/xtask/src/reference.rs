//! `cargo xtask reference`: the parts of docs/reference that are made of the code, compared or written.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::command;

const MARK: &str = "<!-- generated: ";
const END: &str = "<!-- end -->";

#[derive(Args)]
pub struct Reference {
    /// Write what has changed, instead of refusing it.
    #[arg(long)]
    write: bool,
}

/// Describes what happened to the pages.
pub fn run(root: &Path, asked: &Reference) -> anyhow::Result<String> {
    command::run(command::cargo(root, ["build", "--package", "cli", "--locked"]))?;
    let sortie = command::built("debug")?.join("sortie");
    let folder = root.join("docs/reference");
    let mut stale = Vec::new();
    let mut parts = 0;
    for entry in std::fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let page = entry.context("reading docs/reference")?.path();
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&page).with_context(|| format!("reading {}", page.display()))?;
        let fresh = filled(&text, |part| {
            parts += 1;
            generate(&sortie, part)
        });
        let fresh = fresh.with_context(|| format!("filling {}", page.display()))?;
        if fresh == text {
            continue;
        }
        stale.push(page.file_name().unwrap_or_default().to_string_lossy().into_owned());
        if asked.write {
            std::fs::write(&page, fresh).with_context(|| format!("writing {}", page.display()))?;
        }
    }
    stale.sort();
    match (stale.is_empty(), asked.write) {
        (true, _) => Ok(format!("{parts} parts are as the code has them")),
        (false, true) => Ok(format!("wrote {}", stale.join(", "))),
        (false, false) => bail!("{} are stale; run: cargo xtask reference --write", stale.join(", ")),
    }
}

fn generate(sortie: &Path, part: &str) -> anyhow::Result<String> {
    let output = Command::new(sortie).args(["reference", part]).output().context("starting sortie")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "sortie reference {part} failed: {said}");
    String::from_utf8(output.stdout).context("reading what sortie printed")
}

/// The text with every generated part replaced.
fn filled(text: &str, mut generate: impl FnMut(&str) -> anyhow::Result<String>) -> anyhow::Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        let (part, after) = after.split_once(" -->\n").context("a mark ends with ' -->' and a line break")?;
        let (_, after) = after.split_once(END).with_context(|| format!("{part} has no {END}"))?;
        out += &format!("{before}{MARK}{part} -->\n\n{}\n{END}", generate(part)?);
        rest = after;
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_filled_and_prose_stays() {
        let text = "# A\n\n<!-- generated: a -->\nold\n<!-- end -->\n\nprose\n\n<!-- generated: b -->\n<!-- end -->\n";
        let fresh = filled(text, |part| Ok(format!("new {part}\n"))).expect("filled");
        let wanted = "# A\n\n<!-- generated: a -->\n\nnew a\n\n<!-- end -->\n\nprose\n\n<!-- generated: b -->\n\nnew b\n\n<!-- end -->\n";
        assert_eq!(fresh, wanted);
        assert_eq!(filled(&fresh, |part| Ok(format!("new {part}\n"))).expect("filled"), fresh);
        assert!(filled("<!-- generated: a -->\n", |_| Ok(String::new())).is_err());
    }
}
