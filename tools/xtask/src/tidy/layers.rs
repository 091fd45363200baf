//! Which crate may use which. The folder of a crate is its layer: a crate uses crates of its own layer and of lower ones.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{File, Finding};

/// The layers, lowest first, by the folder that holds the crates or is the crate.
const LAYERS: [&str; 7] = [
    "crates/core",
    "crates/storage",
    "crates/runtime",
    "crates/edge",
    "crates/server",
    "crates/bench",
    "crates/cli",
];

/// Developer tools: above every layer, and used by none of them.
const TOOLS: &str = "tools";

/// Crates that stand for external programs or must build without the product. They use no crate of the workspace.
const INDEPENDENT: [&str; 3] = ["drone-delivery", "test-brokers", "xtask"];

/// Arrows against the order of the layers: who, what, and why.
const EXCEPTIONS: [(&str, &str, &str); 3] = [
    ("journal-disk", "host", "every layer that does I/O needs the process's clock and supervised tasks"),
    ("journal-nats", "host", "every layer that does I/O needs the process's clock and supervised tasks"),
    ("snapshots", "host", "every layer that does I/O needs the process's clock and supervised tasks"),
];

pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let manifests: Vec<Manifest<'_>> = files.iter().filter_map(Manifest::read).collect();
    let folders = manifests.iter().filter_map(|manifest| Some((manifest.name()?, manifest.folder())));
    let folders: BTreeMap<&str, &str> = folders.collect();
    manifests.iter().flat_map(|manifest| manifest.check(&folders)).collect()
}

struct Manifest<'a> {
    file: &'a File,
    table: Result<Table, toml::de::Error>,
}

impl<'a> Manifest<'a> {
    fn read(file: &'a File) -> Option<Manifest<'a>> {
        let is_package = file.path.ends_with("/Cargo.toml")
            || (file.path == "Cargo.toml" && file.text.contains("[package]"));
        is_package.then(|| Manifest { file, table: file.text.parse() })
    }

    fn name(&self) -> Option<&str> {
        self.table.as_ref().ok()?.get("package")?.get("name")?.as_str()
    }

    fn folder(&self) -> &str {
        self.file.path.trim_end_matches("/Cargo.toml")
    }

    fn check(&self, folders: &BTreeMap<&str, &str>) -> Vec<Finding> {
        let table = match &self.table {
            Ok(table) => table,
            Err(error) => return vec![Finding::refused(self.file, 0, format!("not readable: {error}"))],
        };
        let Some(name) = self.name() else {
            return vec![Finding::refused(self.file, 0, "a package has a name")];
        };
        let Some(level) = level_of(self.folder()) else {
            let message = format!("{name} is in none of the layers {}", LAYERS.join(", "));
            return vec![Finding::refused(self.file, 0, message)];
        };
        let mut findings = Vec::new();
        for (purpose, used, value) in dependencies(table) {
            let used_level = folders.get(used).and_then(|folder| level_of(folder));
            if let Some(fault) =
                used_level.and_then(|used_level| fault(name, level, purpose, used, used_level))
            {
                findings.push(Finding::refused(self.file, 0, fault));
            }
            if value.get("workspace").and_then(Value::as_bool) != Some(true) {
                let message =
                    format!("{used}: versions and paths live in the root manifest: {used}.workspace = true");
                findings.push(Finding::refused(self.file, 0, message));
            }
        }
        findings
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Product,
    Tests,
}

fn fault(name: &str, level: usize, purpose: Purpose, used: &str, used_level: usize) -> Option<String> {
    if INDEPENDENT.contains(&name) {
        return Some(format!("{name} is independent of the product: it may not use {used}"));
    }
    // Tests may start the example services and external programs, and may use the server to test a client of it.
    let for_tests = purpose == Purpose::Tests && (INDEPENDENT.contains(&used) || used == "server");
    let for_tools = level >= level_of("crates/bench").unwrap_or(usize::MAX) && INDEPENDENT.contains(&used);
    let excepted = EXCEPTIONS.iter().any(|(from, to, _)| (*from, *to) == (name, used));
    let allowed = (used_level <= level && !INDEPENDENT.contains(&used)) || for_tests || for_tools || excepted;
    (!allowed).then(|| format!("{name} may not use {used}: it is in a higher layer"))
}

fn level_of(folder: &str) -> Option<usize> {
    let parent = folder.rsplit_once('/').map_or(folder, |(parent, _)| parent);
    let layer = LAYERS.iter().position(|layer| *layer == parent || *layer == folder);
    layer.or_else(|| matches!(parent, TOOLS | "examples").then_some(LAYERS.len()))
}

/// Every dependency of a manifest, whatever it is for and on whatever platform.
fn dependencies(manifest: &Table) -> Vec<(Purpose, &str, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let per_target = targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table));
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(per_target) {
        let sections = [
            ("dependencies", Purpose::Product),
            ("build-dependencies", Purpose::Product),
            ("dev-dependencies", Purpose::Tests),
        ];
        for (section, purpose) in sections {
            let used = table.get(section).and_then(Value::as_table);
            found.extend(used.into_iter().flatten().map(|(name, value)| (purpose, name.as_str(), value)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    const OTHERS: [(&str, &str); 7] = [
        ("crates/core/kernel", "kernel"),
        ("crates/storage/journal", "journal"),
        ("crates/runtime/engine", "engine"),
        ("crates/runtime/host", "host"),
        ("crates/edge/rest", "rest"),
        ("crates/server", "server"),
        ("examples/drone-delivery", "drone-delivery"),
    ];

    fn faults(folder: &str, name: &str, rest: &str) -> Vec<String> {
        let mut files: Vec<File> = OTHERS
            .iter()
            .filter(|(_, other)| *other != name)
            .map(|(folder, name)| {
                file(&format!("{folder}/Cargo.toml"), &format!("[package]\nname = \"{name}\"\n"))
            })
            .collect();
        files.push(file(&format!("{folder}/Cargo.toml"), &format!("[package]\nname = \"{name}\"\n{rest}")));
        check(&files).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_crate_uses_its_own_layer_and_lower_ones() {
        let engine = |rest| faults("crates/runtime/engine", "engine", rest);
        assert_eq!(engine("[dependencies]\njournal.workspace = true\nhost.workspace = true\n"), [""; 0]);
        assert_eq!(
            faults("crates/core/kernel", "kernel", "[dependencies]\nengine.workspace = true\n"),
            ["kernel may not use engine: it is in a higher layer"]
        );
        assert_eq!(engine("[target.'cfg(unix)'.dependencies]\nrest.workspace = true\n").len(), 1);
        assert_eq!(engine("[dev-dependencies]\nrest.workspace = true\n").len(), 1);
    }

    #[test]
    fn an_exception_is_for_one_arrow_alone() {
        let disk = |used: &str| {
            let rest = format!("[dependencies]\n{used}.workspace = true\n");
            faults("crates/storage/journal-disk", "journal-disk", &rest)
        };
        assert_eq!(disk("host"), [""; 0]);
        assert_eq!(disk("engine").len(), 1);
    }

    #[test]
    fn any_test_may_call_the_example_services_and_only_the_binary_contains_them() {
        let example = "drone-delivery.workspace = true\n";
        let server = |section: &str| faults("crates/server", "server", &format!("[{section}]\n{example}"));
        assert_eq!(server("dev-dependencies"), [""; 0]);
        assert_eq!(server("dependencies").len(), 1);
        assert_eq!(faults("crates/cli", "cli", &format!("[dependencies]\n{example}")), [""; 0]);
    }

    #[test]
    fn the_example_services_use_nothing_of_ours() {
        assert_eq!(
            faults("examples/drone-delivery", "drone-delivery", "[dependencies]\nkernel.workspace = true\n"),
            ["drone-delivery is independent of the product: it may not use kernel"]
        );
    }

    #[test]
    fn a_crate_outside_of_the_layers_is_refused() {
        let layers = "crates/core, crates/storage, crates/runtime, crates/edge, crates/server, crates/bench, crates/cli";
        assert_eq!(
            faults("crates/novelty", "novelty", ""),
            [format!("novelty is in none of the layers {layers}")]
        );
    }

    #[test]
    fn versions_live_in_the_root_manifest() {
        assert_eq!(
            faults("crates/core/types", "types", "[dependencies]\nserde = \"1\"\n"),
            ["serde: versions and paths live in the root manifest: serde.workspace = true"]
        );
    }
}
