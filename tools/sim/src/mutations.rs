//! Bugs as changes of the source: a table of edits, and a build of the simulator that contains them, asleep.
//!
//! The source itself has none of them. All edits are made in a copy below `target/`, each with a switch, so that one
//! build serves every mutation: whichever name the environment variable [`SWITCH`] has is awake in that process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::mutants::Simulation;

/// The environment variable that names the mutation that is awake.
pub const SWITCH: &str = "SORTIE_MUTANT";

/// Stands for "this mutation is awake" in a replacement.
const MUTANT: &str = "MUTANT";

/// The package and the binary of the simulator in the copy; the plain simulator keeps its own binary.
const MUTATED: &str = "sim-mutants";

/// The crate that the copied crates ask which mutation is awake.
const SWITCH_MANIFEST: &str = "[package]\nname = \"mutant-switch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\ndoctest = false\n";
const SWITCH_SOURCE: &str = r#"//! Which mutation is awake in this process.

static AWAKE: std::sync::LazyLock<String> =
    std::sync::LazyLock::new(|| std::env::var("SORTIE_MUTANT").unwrap_or_default());

pub fn is(mutation: &str) -> bool {
    *AWAKE == mutation
}
"#;

/// A bug that is made by editing the source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// Its name on the command line.
    pub name: String,
    /// What goes wrong.
    pub breaks: String,
    /// The simulation that must catch it.
    #[serde(default)]
    pub simulation: Simulation,
    edit: Vec<Edit>,
}

/// `find` occurs exactly once in `file`, whatever its white space.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: String,
    find: String,
    /// What status there instead; [`MUTANT`] in it is true when the mutation is awake.
    replace: String,
}

#[derive(Deserialize)]
struct Table {
    mutation: Vec<Mutation>,
}

/// All mutations, in the order of the table.
pub fn all() -> anyhow::Result<Vec<Mutation>> {
    let table: Table =
        toml::from_str(include_str!("../mutations.toml")).context("reading tools/sim/mutations.toml")?;
    Ok(table.mutation)
}

/// Builds the simulator with every mutation in it, asleep. The path of its binary.
pub fn build(mutations: &[Mutation]) -> anyhow::Result<PathBuf> {
    let root = root();
    let program = std::env::current_exe()?;
    let folder = program.parent().context("the simulator is not in a folder")?;
    let target = folder.parent().context("the simulator is not in a target directory")?;
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let copy = target.join("mutants");
    // A directory of its own: Cargo names the artifacts of both workspaces alike, and each would spoil the other's.
    let built = target.join("mutants-target");
    copy_workspace(&root, &copy, &edited_files(&root, mutations)?)?;
    println!("sim: building the simulator with {} mutations in {}", mutations.len(), copy.display());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .current_dir(&copy)
        .args(["build", "--profile", profile, "--package", MUTATED, "--target-dir"])
        .arg(&built);
    ensure!(build.status().context("starting cargo")?.success(), "the mutated simulator does not build");
    Ok(built.join(folder.file_name().unwrap_or_default()).join(MUTATED))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files that differ from the source, by path, with their content in the copy.
fn edited_files(root: &Path, mutations: &[Mutation]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut edits: BTreeMap<&str, Vec<(&str, &Edit)>> = BTreeMap::new();
    for mutation in mutations {
        for edit in &mutation.edit {
            edits.entry(&edit.file).or_default().push((&mutation.name, edit));
        }
    }
    let mut files = BTreeMap::new();
    let mut crates = BTreeSet::new();
    for (file, edits) in edits {
        let source = fs::read_to_string(root.join(file))
            .with_context(|| format!("{file}, which mutation {} changes", edits[0].0))?;
        files.insert(file.to_owned(), apply(file, &source, &edits)?);
        let (own, _) =
            file.split_once("/src/").with_context(|| format!("{file} is not below a src folder"))?;
        crates.insert(own.to_owned());
    }
    for own in crates {
        let file = format!("{own}/Cargo.toml");
        let up = "../".repeat(own.split('/').count());
        let switch = format!("[dependencies]\nmutant-switch = {{ path = \"{up}tools/mutant-switch\" }}\n");
        let manifest = fs::read_to_string(root.join(&file))?;
        files.insert(file, manifest.replacen("[dependencies]\n", &switch, 1));
    }
    let manifest = fs::read_to_string(root.join("tools/sim/Cargo.toml"))?;
    let manifest = manifest.replacen("name = \"sim\"", &format!("name = \"{MUTATED}\""), 1);
    files.insert("tools/sim/Cargo.toml".to_owned(), manifest);
    files.insert("tools/mutant-switch/Cargo.toml".to_owned(), SWITCH_MANIFEST.to_owned());
    files.insert("tools/mutant-switch/src/lib.rs".to_owned(), SWITCH_SOURCE.to_owned());
    Ok(files)
}

/// The source with all edits made.
fn apply(file: &str, source: &str, edits: &[(&str, &Edit)]) -> anyhow::Result<String> {
    let mut places = Vec::new();
    for (name, edit) in edits {
        let found = locate(source, &edit.find);
        let [range] = &found[..] else {
            let (count, find) = (found.len(), &edit.find);
            bail!(
                "mutation {name}: its text is {count} times in {file}, not once; adapt tools/sim/mutations.toml:\n{find}"
            );
        };
        let awake = format!("mutant_switch::is(\"{name}\")");
        places.push((range.clone(), *name, edit.replace.trim_end().replace(MUTANT, &awake)));
    }
    places.sort_by_key(|(range, _, _)| range.start);
    let mut edited = String::new();
    let mut from = 0;
    for (range, name, replacement) in places {
        ensure!(from <= range.start, "mutation {name}: another one changes the same text of {file}");
        edited.push_str(&source[from..range.start]);
        edited.push_str(&replacement);
        from = range.end;
    }
    edited.push_str(&source[from..]);
    Ok(edited)
}

/// Where a text is, whatever its white space.
fn locate(source: &str, text: &str) -> Vec<Range<usize>> {
    let places: Vec<usize> =
        source.char_indices().filter(|(_, char)| !char.is_whitespace()).map(|(at, _)| at).collect();
    let compact: Vec<char> = source.chars().filter(|char| !char.is_whitespace()).collect();
    let wanted: Vec<char> = text.chars().filter(|char| !char.is_whitespace()).collect();
    let Some(last) = wanted.len().checked_sub(1) else { return Vec::new() };
    let found = compact.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted);
    found.map(|(at, _)| places[at]..places[at + last] + wanted[last].len_utf8()).collect()
}

/// Brings the copy to the state of the workspace. Files that are equal are not written, so that builds stay incremental.
fn copy_workspace(root: &Path, copy: &Path, edited: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let mut list = Command::new("git");
    list.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = list.output().context("starting git")?;
    ensure!(list.status.success(), "git does not list the files of {}", root.display());
    let list = String::from_utf8(list.stdout)?;
    let mut wanted: BTreeSet<&str> = edited.keys().map(String::as_str).collect();
    for file in list.split_terminator('\0').filter(|file| !edited.contains_key(*file)) {
        let from = root.join(file);
        // A file that was deleted is listed until that is committed.
        if from.is_file() && file != "Cargo.lock" {
            write_if_changed(&copy.join(file), &fs::read(&from)?)?;
            wanted.insert(file);
        }
    }
    for (file, content) in edited {
        write_if_changed(&copy.join(file), content.as_bytes())?;
    }
    // Cargo adds the switch to it; it must not be set back each time.
    fs::copy(root.join("Cargo.lock"), copy.join("Cargo.lock"))?;
    wanted.insert("Cargo.lock");
    remove_others(copy, copy, &wanted)
}

fn write_if_changed(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(());
    }
    let folder = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder)?;
    fs::write(path, content).with_context(|| path.display().to_string())
}

/// Removes what the workspace does not have any more.
fn remove_others(copy: &Path, folder: &Path, wanted: &BTreeSet<&str>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(copy, &path, wanted)?;
        } else if !path.strip_prefix(copy)?.to_str().is_some_and(|path| wanted.contains(path)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mutation_fits_the_source() {
        let mutations = all().unwrap();
        for mutation in &mutations {
            let switched = mutation.edit.iter().any(|edit| edit.replace.contains(MUTANT));
            assert!(switched, "{}: no replacement has {MUTANT}", mutation.name);
        }
        // Names every mutation whose text is missing, not only the first.
        let each = mutations.iter().map(|one| edited_files(&root(), std::slice::from_ref(one)));
        let stale: Vec<String> = each.filter_map(Result::err).map(|error| format!("{error:#}")).collect();
        assert!(stale.is_empty(), "{} mutations are stale:\n{}", stale.len(), stale.join("\n"));
        edited_files(&root(), &mutations).unwrap();
    }

    #[test]
    fn a_text_is_found_whatever_its_white_space() {
        let source = "if a\n    && b {\n    c();\n}\nif a && d {}";
        assert_eq!(locate(source, "if a && b {"), vec![0..15]);
        assert_eq!(locate(source, "if a").len(), 2);
        assert!(locate(source, "x").is_empty());
        assert!(locate(source, "").is_empty());
    }

    #[test]
    fn an_edit_that_does_not_fit_names_its_mutation() {
        let edit = |find: &str| Edit {
            file: "a.rs".to_owned(),
            find: find.to_owned(),
            replace: format!("{find} && !MUTANT"),
        };
        let (one, two) = (edit("x > 1"), edit("x > 2"));
        assert_eq!(
            apply("a.rs", "if x > 1 {}", &[("big", &one)]).unwrap(),
            "if x > 1 && !mutant_switch::is(\"big\") {}"
        );
        let stale = apply("a.rs", "if x > 1 {}", &[("bigger", &two)]).unwrap_err().to_string();
        assert!(stale.contains("mutation bigger") && stale.contains("0 times"), "{stale}");
    }
}
