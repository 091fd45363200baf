//! The settings in the manifests of `deploy/` are settings that a server knows.

use super::parse;

/// The value of a key that is written as a block, without its indent.
fn block(text: &str, key: &str) -> String {
    let mut lines = text.lines().skip_while(|line| line.trim() != format!("{key}: |")).skip(1).peekable();
    let indent = lines.peek().map_or(0, |line| line.len() - line.trim_start().len());
    assert!(indent > 0, "{key} is not there");
    let inside = lines.take_while(|line| line.trim().is_empty() || line.starts_with(&" ".repeat(indent)));
    inside.map(|line| format!("{}\n", line.get(indent..).unwrap_or(""))).collect()
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

#[test]
fn the_manifests_for_kubernetes_have_settings_that_work() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes/sortie.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let (toml, variables) = (block(&text, "sortie.toml"), variables(&text));
    assert_eq!(variables.len(), 7, "{variables:?}");
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let config = parse(&toml, &variables).unwrap_or_else(|error| panic!("{error}"));
    assert!(config.cluster.is_on());
    assert_eq!(config.cluster.nats.len(), 3);
    assert_eq!(config.cluster.advertise.as_deref(), Some("http://$(POD_NAME).sortie-instances:7070"));
    let misspelt = toml.replace("replicas", "replicsa");
    assert!(parse(&misspelt, &variables).unwrap_err().contains("replicsa"));
}
