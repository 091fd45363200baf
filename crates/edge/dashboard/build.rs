//! Lists the files under docs, so that they are compiled into the binary.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Documents at the root of the repository that pages under docs link to.
const AT_THE_ROOT: [&str; 4] = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "STYLE.md"];
const IMAGES: [&str; 4] = ["png", "svg", "webp", "jpg"];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the folder of the crate"));
    let root = here.join("../../..").canonicalize().expect("the crate lies in the repository");
    let mut files: Vec<String> = AT_THE_ROOT.iter().map(|name| (*name).to_owned()).collect();
    enter(&root, "docs", &mut files);
    files.sort();
    let kind = |file: &String| file.rsplit_once('.').map_or("", |(_, kind)| kind).to_owned();
    let mut code = String::from("pub(super) const TEXTS: &[(&str, &str)] = &[\n");
    for file in files.iter().filter(|file| kind(file) == "md") {
        writeln!(code, "({file:?}, include_str!({:?})),", root.join(file)).expect("text grows");
    }
    code.push_str("];\npub(super) const IMAGES: &[(&str, &[u8])] = &[\n");
    // Images that no document shows would only make the binary larger.
    let texts = files.iter().filter(|file| kind(file) == "md");
    let text: String =
        texts.map(|file| fs::read_to_string(root.join(file)).expect("docs can be read")).collect();
    let is_shown = |file: &str| text.contains(file.rsplit('/').next().unwrap_or(file));
    let images = files.iter().filter(|file| IMAGES.contains(&kind(file).as_str()) && is_shown(file));
    for file in images {
        writeln!(code, "({file:?}, include_bytes!({:?})),", root.join(file)).expect("text grows");
    }
    code.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder for the output"));
    fs::write(out.join("docs.rs"), code).expect("the folder for the output can be written");
    // Cargo watches a folder recursively.
    println!("cargo:rerun-if-changed={}", root.join("docs").display());
    println!("cargo:rerun-if-changed=build.rs");
}

fn enter(root: &Path, folder: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder)).expect("docs can be read") {
        let entry = entry.expect("docs can be read");
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().expect("docs can be read").is_dir() {
            enter(root, &path, files);
        } else {
            files.push(path);
        }
    }
}
