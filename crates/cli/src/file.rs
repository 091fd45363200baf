//! Input files of commands; `-` is standard input.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::failure::Failure;

pub fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let reading = || format!("reading {}", file.display());
    if file != Path::new("-") {
        return std::fs::read(file).with_context(reading);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).with_context(reading)?;
    Ok(bytes)
}

pub fn read_text(file: &Path) -> anyhow::Result<String> {
    String::from_utf8(read(file)?).map_err(|_| {
        let line = format!("{}: not UTF-8 text", file.display());
        Failure::Definition(vec![line]).into()
    })
}

pub fn read_json(file: &Path) -> anyhow::Result<Value> {
    serde_json::from_slice(&read(file)?).map_err(|error| {
        let line = format!("{}:{}: not valid JSON: {error}", file.display(), error.line());
        Failure::Definition(vec![line]).into()
    })
}
