//! Which crate may use which. The lines below are those of ARCHITECTURE.md.

use toml::{Table, Value};

use super::{File, Finding};

/// Our crates, lowest line first. A crate knows nothing of its own line and of those above it.
const LINES: [&[&str]; 8] = [
    &["words", "planted"],
    &["kernel", "definition", "jobs", "wire"],
    &["journal", "view", "vault", "host", "brokers"],
    &["cluster", "engine", "ingest"],
    &["rest", "dashboard", "effects", "sources", "journal-disk", "journal-nats"],
    &["server", "client"],
    &["drone-delivery", "peers"],
    &["cli", "torture", "sim", "fuzz", "ratchet", "xtask"],
];

/// Crates that stand for somebody else's programs: they use nothing of ours.
const STRANGERS: [&str; 3] = ["drone-delivery", "peers", "xtask"];

pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let manifests = files.iter().filter(|file| {
        file.path.ends_with("/Cargo.toml") || (file.path == "Cargo.toml" && file.text.contains("[package]"))
    });
    manifests.flat_map(check_manifest).collect()
}

fn check_manifest(file: &File) -> Vec<Finding> {
    let manifest: Table = match file.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Finding::refused(file, 0, format!("not readable: {error}"))],
    };
    let package = manifest.get("package").and_then(|package| package.get("name"));
    let Some(name) = package.and_then(Value::as_str) else {
        return vec![Finding::refused(file, 0, "a package has a name")];
    };
    let Some(line) = line_of(name) else {
        let message = format!("{name} has no place yet: add it to ARCHITECTURE.md and to the lines of tidy");
        return vec![Finding::refused(file, 0, message)];
    };
    let mut findings = Vec::new();
    for (kind, used, value) in dependencies(&manifest) {
        if let Some(fault) = fault(name, line, kind, used) {
            findings.push(Finding::refused(file, 0, fault));
        }
        if value.get("workspace").and_then(Value::as_bool) != Some(true) {
            let message =
                format!("{used}: versions and paths live in the root manifest: {used}.workspace = true");
            findings.push(Finding::refused(file, 0, message));
        }
    }
    findings
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    /// For tests only.
    Development,
}

fn fault(name: &str, line: usize, kind: Kind, used: &str) -> Option<String> {
    let used_line = line_of(used)?;
    if STRANGERS.contains(&name) {
        return Some(format!("{name} stands outside: it may not use {used}"));
    }
    // Tests may look sideways, and may call the example services, which know nobody.
    let for_tests = kind == Kind::Development && (used_line == line || STRANGERS.contains(&used));
    (used_line >= line && !for_tests)
        .then(|| format!("{name} may not use {used}: an arrow points down, to a lower line"))
}

fn line_of(name: &str) -> Option<usize> {
    LINES.iter().position(|line| line.contains(&name))
}

/// Every dependency of a manifest, whatever it is for and on whatever platform.
fn dependencies(manifest: &Table) -> Vec<(Kind, &str, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let per_target = targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table));
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(per_target) {
        let kinds = [
            ("dependencies", Kind::Normal),
            ("build-dependencies", Kind::Normal),
            ("dev-dependencies", Kind::Development),
        ];
        for (section, kind) in kinds {
            let used = table.get(section).and_then(Value::as_table);
            found.extend(used.into_iter().flatten().map(|(name, value)| (kind, name.as_str(), value)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn faults(name: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{name}\"\n{rest}");
        let files = [file("crates/a/Cargo.toml", &text)];
        check(&files).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn an_arrow_points_down() {
        assert_eq!(faults("engine", "[dependencies]\njournal.workspace = true\n"), [""; 0]);
        assert_eq!(
            faults("kernel", "[dependencies]\nengine.workspace = true\n"),
            ["kernel may not use engine: an arrow points down, to a lower line"]
        );
    }

    #[test]
    fn only_tests_may_look_sideways_and_none_may_look_up() {
        assert_eq!(faults("rest", "[dev-dependencies]\neffects.workspace = true\n"), [""; 0]);
        assert_eq!(faults("rest", "[dependencies]\neffects.workspace = true\n").len(), 1);
        assert_eq!(faults("rest", "[dev-dependencies]\nserver.workspace = true\n").len(), 1);
        assert_eq!(faults("rest", "[target.'cfg(unix)'.dependencies]\nserver.workspace = true\n").len(), 1);
    }

    #[test]
    fn any_test_may_call_the_example_services_and_only_artefacts_hold_them() {
        assert_eq!(faults("server", "[dev-dependencies]\ndrone-delivery.workspace = true\n"), [""; 0]);
        assert_eq!(faults("server", "[dependencies]\ndrone-delivery.workspace = true\n").len(), 1);
        assert_eq!(faults("cli", "[dependencies]\ndrone-delivery.workspace = true\n"), [""; 0]);
    }

    #[test]
    fn the_example_services_use_nothing_of_ours() {
        assert_eq!(
            faults("drone-delivery", "[dependencies]\nwords.workspace = true\n"),
            ["drone-delivery stands outside: it may not use words"]
        );
    }

    #[test]
    fn a_new_crate_needs_a_place() {
        assert_eq!(
            faults("novelty", ""),
            ["novelty has no place yet: add it to ARCHITECTURE.md and to the lines of tidy"]
        );
    }

    #[test]
    fn versions_live_in_the_root_manifest() {
        assert_eq!(
            faults("words", "[dependencies]\nserde = \"1\"\n"),
            ["serde: versions and paths live in the root manifest: serde.workspace = true"]
        );
    }
}
