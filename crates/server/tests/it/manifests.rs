//! What `deploy/` and the pages on operating give people to copy: it is well formed, and a real nats-server takes it.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The first block between fences behind this heading.
fn fenced(text: &str, heading: &str) -> String {
    let (_, behind) = text.split_once(heading).unwrap_or_else(|| panic!("{heading} is not there"));
    let block = behind.split("```").nth(1).expect("a block follows");
    // The first line says what kind of text it is.
    block.split_once('\n').expect("a block has lines").1.to_owned()
}

/// The value of a key that is written as a block, without its indent.
fn block(text: &str, key: &str) -> String {
    let mut lines = text.lines().skip_while(|line| line.trim() != format!("{key}: |")).skip(1).peekable();
    let indent = lines.peek().map_or(0, |line| line.len() - line.trim_start().len());
    let inside = lines.take_while(|line| line.trim().is_empty() || line.starts_with(&" ".repeat(indent)));
    inside.map(|line| format!("{}\n", line.get(indent..).unwrap_or(""))).collect()
}

/// What the server says of this configuration, if it refuses it.
fn refused(configuration: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nats.conf");
    std::fs::write(&file, configuration).unwrap();
    let mut server = Command::new(peers::nats_server().unwrap());
    server.arg("-t").arg("-c").arg(&file).env("POD_NAME", "nats-0");
    server.env("NATS_PASSWORD", "p1e5").env("NATS_SYSTEM_PASSWORD", "p2");
    let output = server.output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_manifest_is_yaml() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("deploy/kubernetes")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for event in granit_parser::Parser::new_from_str(&text) {
            event.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        seen += 1;
    }
    assert!(seen >= 4, "only {seen} files");
}

#[test]
fn a_real_server_takes_the_configuration_of_the_manifests() {
    let configuration = block(&read("deploy/kubernetes/nats.yaml"), "nats.conf");
    assert!(configuration.contains("sync_interval: always"), "{configuration}");
    assert_eq!(refused(&configuration), None);
    let misspelt = configuration.replace("sync_interval", "sync_intervall");
    assert!(refused(&misspelt).is_some(), "a server that takes anything proves nothing");
}

#[test]
fn a_real_server_takes_the_configurations_of_the_pages() {
    let one = fenced(&read("docs/operating/cluster.md"), "## The configuration of NATS");
    assert_eq!(refused(&one), None);
    let leaves = fenced(&read("docs/operating/regions.md"), "## NATS");
    let (east, west) = leaves.split_once("# west").expect("both regions are shown");
    for leaf in [east, west] {
        assert_eq!(refused(&format!("{one}{leaf}")), None, "{leaf}");
    }
}
