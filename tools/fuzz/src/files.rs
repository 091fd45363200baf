//! Where inputs are: committed with this crate, and in the test data of other crates.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The root of the repository.
pub fn root() -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in tools/");
    tools.parent().expect("tools/ is in the root").to_owned()
}

/// Inputs that are kept because they reach something that mutations seldom do.
pub fn corpus(target: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target))
}

/// Inputs that once broke something.
pub fn regressions(target: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target))
}

/// The files of a directory, by name; none when there is no such directory.
pub fn read_all(directory: &Path) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_file() {
            files.push((path.clone(), fs::read(path)?));
        }
    }
    files.sort();
    Ok(files)
}

/// A file of the repository as text.
pub fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("reading {path}: {error}"))
}

/// The cases of a fixture that is divided by `### name` and `==>`: the text between them.
pub fn cases(path: &str) -> Vec<String> {
    let text = text(path);
    let cases = text.split("\n### ").filter_map(|case| case.split_once('\n')).map(|(_, case)| case);
    cases.map(|case| case.split("\n==>").next().unwrap_or(case).to_owned()).collect()
}
