//! What `deploy/` and the pages on operating give people to copy: it is well formed, and a real nats-server takes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The first block between fences after this heading.
fn fenced(text: &str, heading: &str) -> String {
    let (_, rest) = text.split_once(heading).unwrap_or_else(|| panic!("{heading} is not there"));
    let block = rest.split("```").nth(1).expect("a block follows");
    // The first line says what kind of text it is.
    block.split_once('\n').expect("a block has lines").1.to_owned()
}

/// All files below a folder whose names end like this, with their text.
fn files(folder: &Path, end: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, end));
        } else if path.extension().is_some_and(|extension| extension == end) {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// What the server says of this configuration, if it refuses it.
fn refused(configuration: &str, leaf: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nats.conf");
    std::fs::write(&file, configuration).unwrap();
    std::fs::write(folder.path().join("leaf.conf"), leaf).unwrap();
    let mut server = Command::new(test_brokers::nats_server().unwrap());
    server.arg("-t").arg("-c").arg(&file).env("NATS_SERVER", "east-nats-0").env("NATS_REGION", "east");
    server.env("NATS_PASSWORD", "p1e5").env("NATS_SYSTEM_PASSWORD", "p2");
    server.env("NATS_LEAF_URL", leaf_url().replace("$(NATS_PASSWORD)", "p1e5"));
    let output = server.output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Where the second region connects, as its manifest says.
fn leaf_url() -> String {
    let manifest = read("deploy/kubernetes/regions/west/nats.yaml");
    let (before, rest) = manifest.split_once("name: NATS_LEAF_URL, value: '").expect("the variable is set");
    // Kubernetes puts into a value only what was set before it.
    assert!(before.contains("name: NATS_PASSWORD"), "{before}");
    rest.split('\'').next().expect("it has a value").to_owned()
}

#[test]
fn every_manifest_is_yaml() {
    let manifests = files(&root().join("deploy"), "yaml");
    for (path, text) in &manifests {
        for event in granit_parser::Parser::new_from_str(text) {
            event.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
    assert!(manifests.len() >= 16, "only {} files", manifests.len());
}

#[test]
fn no_pod_gets_variables_of_services() {
    let mut pods = 0;
    for (path, text) in files(&root().join("deploy/kubernetes"), "yaml") {
        for document in text.split("\n---\n").filter(|document| document.contains(" image: ")) {
            let alone = document.lines().any(|line| line.trim() == "enableServiceLinks: false");
            assert!(alone, "{}: a Service named sortie would set SORTIE_PORT there", path.display());
            pods += 1;
        }
    }
    assert_eq!(pods, 4, "instances, NATS, and two for people");
}

#[test]
fn a_real_server_takes_the_configurations_of_the_manifests() {
    let configuration = read("deploy/kubernetes/base/nats.conf");
    assert!(configuration.contains("sync_interval: always"), "{configuration}");
    for leaf in ["base", "regions/east", "regions/west"] {
        let leaf = read(&format!("deploy/kubernetes/{leaf}/leaf.conf"));
        assert_eq!(refused(&configuration, &leaf), None, "{leaf}");
    }
    for (configuration, leaf) in [
        (configuration.replace("sync_interval", "sync_intervall"), ""),
        (configuration, "leafnodes { listeen: \"0.0.0.0:7422\" }"),
    ] {
        assert!(refused(&configuration, leaf).is_some(), "a server that takes anything proves nothing");
    }
}

#[test]
fn a_real_server_takes_the_configurations_of_the_pages() {
    let one = fenced(&read("docs/operating/cluster.md"), "## The configuration of NATS");
    assert_eq!(refused(&one, ""), None);
    let leaves = fenced(&read("docs/operating/regions.md"), "## NATS");
    let (east, west) = leaves.split_once("# west").expect("both regions are shown");
    for leaf in [east, west] {
        assert_eq!(refused(&format!("{one}{leaf}"), ""), None, "{leaf}");
    }
    // What the page says about the link is what the manifest does.
    let lists =
        |text: &str| text.lines().filter(|line| line.contains("deny_")).map(str::trim).collect::<String>();
    assert_eq!(lists(west), lists(&read("deploy/kubernetes/regions/west/leaf.conf")));
}

/// The names under which the series of all metrics are found, by the page that is made of the metrics themselves.
fn series() -> BTreeSet<String> {
    let page = read("docs/reference/metrics.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| sortie_")?.split_once(" | "));
    rows.flat_map(|(name, rest)| {
        let ends: &[&str] = match rest.split(' ').next() {
            Some("counter") => &["_total"],
            Some("gauge") => &[""],
            Some("histogram") => &["_bucket", "_count", "_sum"],
            kind => panic!("sortie_{name} is of no known kind: {kind:?}"),
        };
        ends.iter().map(|end| format!("sortie_{name}{end}")).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn every_alert_is_about_a_metric_that_there_is() {
    let (rules, series) = (read("deploy/prometheus/rules.yaml"), series());
    let mut alerts = 0;
    for expression in rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")) {
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let names: Vec<&str> = words.filter(|word| word.starts_with("sortie_")).collect();
        assert!(!names.is_empty(), "{expression} asks for nothing of ours");
        for name in names {
            assert!(series.contains(name), "{name} is not in docs/reference/metrics.md");
        }
        alerts += 1;
    }
    assert_eq!(alerts, rules.matches("- alert: ").count(), "each alert has its expression in one line");
    let partitions = read("deploy/kubernetes/base/sortie.toml").contains("partitions = 32\n");
    assert!(partitions && rules.contains("sum(sortie_partitions_held) < 33"), "and control is one more");
}
