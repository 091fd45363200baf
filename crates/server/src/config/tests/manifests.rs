//! The settings in the manifests of `deploy/` are settings that a server knows.

use super::parse;
use crate::config::Config;
use crate::config::load::NOT_SETTINGS;

fn read(path: &str) -> String {
    let path = format!("{}/../../deploy/kubernetes/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The variables that begin like settings: one that has a value gets it, one from a secret gets some.
fn variables(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| line.contains("name: SORTIE_")) {
        let rest = line.split_once("name: ").expect("it was looked for").1;
        let name: String =
            rest.chars().take_while(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_').collect();
        let given =
            line.split_once("value: ").map(|(_, value)| value.trim_matches([' ', '}', '"']).to_owned());
        // 64 hexadecimal digits will do for every secret.
        found.push((name, given.unwrap_or_else(|| "ab".repeat(32))));
    }
    found
}

/// What an instance is started with, if a patch is laid over the manifest.
fn settings(toml: &str, patch: &str) -> Result<Config, String> {
    let variables = variables(&format!("{}{patch}", read("base/sortie.yaml")));
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    parse(toml, &variables)
}

#[test]
fn the_manifests_for_kubernetes_have_settings_that_work() {
    let toml = read("base/sortie.toml");
    let known = variables(&read("base/sortie.yaml"));
    let settings_alone = known.iter().filter(|(name, _)| !NOT_SETTINGS.contains(&name.as_str()));
    assert_eq!(settings_alone.count(), 9, "{known:?}");
    let config = settings(&toml, "").unwrap_or_else(|error| panic!("{error}"));
    assert!(config.cluster.is_on());
    assert_eq!(config.cluster.nats.len(), 3);
    assert_eq!(config.cluster.advertise.as_deref(), Some("http://$(POD_NAME).sortie-instances:7070"));
    assert_eq!(config.tokens["viewer"].role, "viewer");
    assert_eq!(config.egress.names, ["*.svc.cluster.local"]);
    let misspelt = toml.replace("replicas", "replicsa");
    assert!(settings(&misspelt, "").unwrap_err().contains("replicsa"));
}

#[test]
fn the_manifests_of_two_regions_name_each_other() {
    let toml = read("base/sortie.toml");
    let region = |name: &str| {
        let patch = read(&format!("regions/{name}/sortie.yaml"));
        let config = settings(&toml, &patch).unwrap_or_else(|error| panic!("{name}: {error}"));
        let region = config.region_settings().unwrap().expect("there is a region");
        // Their NATS has the domain that the other one asks for.
        let nats = read(&format!("regions/{name}/nats.yaml"));
        assert!(nats.contains(&format!("{{ name: NATS_REGION, value: {} }}", region.domain)), "{nats}");
        (region.name, region.pair, region.home)
    };
    let names = |name: &str, pair: &str| (name.to_owned(), pair.to_owned(), "east".to_owned());
    assert_eq!([region("east"), region("west")], [names("east", "west"), names("west", "east")]);
}
