//! The files that tidy looks at: text that people wrote, tracked or about to be.

use std::path::Path;

use anyhow::Context;

use super::File;

const KINDS: [&str; 14] =
    ["rs", "md", "toml", "yaml", "yml", "json", "sh", "lock", "html", "mjs", "cjs", "js", "ts", "py"];

/// Every file below the root, in the order of their paths.
pub(crate) fn files(root: &Path) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    enter(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn enter(directory: &Path, prefix: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
    let reading = || format!("reading {}", directory.display());
    for entry in std::fs::read_dir(directory).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type().with_context(reading)?.is_dir() {
            if !is_passed_over(prefix, &name) {
                enter(&entry.path(), &format!("{path}/"), files)?;
            }
        } else if is_text(&path) {
            let text = std::fs::read_to_string(entry.path()).with_context(|| format!("reading {path}"))?;
            files.push(File { path, text });
        } else if path.ends_with(".png") {
            // Documents show it: that it is there is all that is looked at.
            files.push(File { path, text: String::new() });
        }
    }
    Ok(())
}

/// What git passes over, and git itself.
fn is_passed_over(prefix: &str, name: &str) -> bool {
    let at_root = prefix.is_empty();
    name == ".git" || (at_root && (name == "target" || name.starts_with("target-") || name == "data"))
}

fn is_text(path: &str) -> bool {
    let kind = path.rsplit_once('.').map_or("", |(_, kind)| kind);
    KINDS.contains(&kind) || path.starts_with(".ci/") || path == "LICENSE"
}
