//! Puts the files that a definition names into its text, so that it can travel alone.

use std::path::{Path, PathBuf};

use crate::limits::SOURCE_BYTES_MAX;
use crate::yaml::{self, Node, YamlKind};
use types::problem::{Problems, Report};

/// Why a definition's files cannot be put in.
#[derive(Debug, thiserror::Error)]
pub enum InlineError {
    #[error("{0}")]
    Definition(Problems),
    #[error("line {line}: accept.schema: cannot read {}: {source}", path.display())]
    Read { line: u32, path: PathBuf, source: std::io::Error },
    #[error("{}: {problems}", path.display())]
    Schema { path: PathBuf, problems: Problems },
    #[error("with its files the definition is larger than {SOURCE_BYTES_MAX} bytes")]
    TooLarge,
}

/// `source` with the file that `accept.schema` names, read from `base_dir`, in its place. Everything else,
/// comments and lines included, stays as it is.
pub fn inline_files(source: &str, base_dir: &Path) -> Result<String, InlineError> {
    let root = read(source).map_err(InlineError::Definition)?;
    let schema = field(&root, "accept").and_then(|accept| field(accept, "schema"));
    let Some(Node { at, bytes, kind: YamlKind::Text(file) }) = schema else { return Ok(source.to_owned()) };

    let path = base_dir.join(file);
    let text = std::fs::read_to_string(&path);
    let text =
        text.map_err(|error| InlineError::Read { line: at.line, path: path.clone(), source: error })?;
    let schema = read(&text).map_err(|problems| InlineError::Schema { path, problems })?;

    // JSON on one line is a YAML value wherever a scalar is one.
    let inlined = format!("{}{}{}", &source[..bytes.start], schema.to_json(), &source[bytes.end..]);
    if inlined.len() > SOURCE_BYTES_MAX {
        return Err(InlineError::TooLarge);
    }
    Ok(inlined)
}

fn read(source: &str) -> Result<Node, Problems> {
    let mut report = Report::default();
    let node = if source.len() > SOURCE_BYTES_MAX {
        report.add("", format!("larger than {SOURCE_BYTES_MAX} bytes"));
        None
    } else {
        yaml::read(source, &mut report)
    };
    report.finish(node)
}

fn field<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match &node.kind {
        YamlKind::Map(entries) => entries.iter().find(|entry| entry.key == name).map(|entry| &entry.value),
        _ => None,
    }
}
