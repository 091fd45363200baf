//! Whether every type of the API has an example.

use std::collections::BTreeSet;

/// Of the types of the API, those without an example, each with its reason.
const WITHOUT: [&str; 6] = [
    // A summary that is written without a copy, a text.
    "AcceptedRun",
    "Time",
    // One of several members is there, never all.
    "CallView",
    "SentView",
    // How types are described.
    "Components",
    "ObjectSchema",
];

/// The names of the structs and enums that a module of the API makes public.
fn declared(source: &str) -> Vec<String> {
    let public = source.lines().filter_map(|line| {
        let item = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))?;
        item.split(|c: char| !c.is_alphanumeric()).next()
    });
    public.map(str::to_owned).collect()
}

#[test]
fn every_type_of_the_api_has_an_example() {
    let modules = concat!(env!("CARGO_MANIFEST_DIR"), "/../../core/api-types/src");
    let sources = std::fs::read_dir(modules).unwrap().map(|entry| entry.unwrap().path());
    let types: Vec<String> =
        sources.flat_map(|path| declared(&std::fs::read_to_string(path).unwrap())).collect();
    // The names that examples use, whatever stands before them.
    let examples = [include_str!("../examples.rs"), include_str!("people.rs"), include_str!("complete.rs")];
    let words = |text: &'static str| text.split(|c: char| !c.is_alphanumeric());
    let used: BTreeSet<&str> = examples.into_iter().flat_map(words).collect();
    let missing: Vec<&String> = types.iter().filter(|name| !used.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "add an example here of {missing:?}");
    assert!(WITHOUT.iter().all(|name| types.iter().any(|known| known == name)));
}
