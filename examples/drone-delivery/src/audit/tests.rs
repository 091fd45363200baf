//! The audit finds what it is there to find.

use super::{Service, Subject, audit};
use crate::ledger::{Effect, Entry};

/// Reads "drone create d-1 key k; package delete p claim d-1".
fn story(text: &str) -> Vec<Entry> {
    let entry = |(index, line): (usize, &str)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            Some(words[at + 1].to_owned())
        };
        let effect = match words[1] {
            "create" => Effect::Create,
            "update" => Effect::Update,
            "delete" => Effect::Delete,
            "tombstone" => Effect::Tombstone,
            other => panic!("{other} is not an effect"),
        };
        Entry {
            seq: index as u64 + 1,
            service: words[0].parse().unwrap(),
            id: words[2].to_owned(),
            claim: after("claim"),
            key: after("key"),
            effect,
            count: 1,
            at_ms: 0,
        }
    };
    text.split(';').enumerate().map(entry).collect()
}

fn doubles(text: &str) -> Vec<u64> {
    audit(&story(text)).doubles.iter().map(|entry| entry.seq).collect()
}

#[test]
fn one_effect_each_is_not_a_double() {
    assert_eq!(doubles("drone create a key 1; drone create b key 2; drone delete a key 3"), [0; 0]);
    assert_eq!(
        doubles("package create p claim a; package create p claim b; package delete p claim a"),
        [0; 0]
    );
    assert_eq!(doubles("drone create a key 1; delivery create a key 1"), [0; 0]);
}

#[test]
fn a_second_effect_is_a_double() {
    assert_eq!(doubles("drone create a key 1; drone create a key 2"), [2]);
    assert_eq!(doubles("drone create a key 1; drone update a key 1"), [2]);
    assert_eq!(doubles("drone create a; drone delete a; drone create a"), [3]);
    assert_eq!(doubles("drone tombstone a; drone create a"), [2]);
    assert_eq!(doubles("drone create a; drone delete a; drone delete a"), [3]);
}

#[test]
fn what_remains_is_known_by_run() {
    let found = audit(&story(
        "package create p claim a; package create p claim b; drone create a; drone create b; \
         package delete p claim b; drone delete b; delivery tombstone b; account update x",
    ));
    assert_eq!(found.services_of("a"), [Service::Package, Service::Drone]);
    assert_eq!(found.services_of("b"), []);
    assert_eq!(found.runs_at(Service::Package).into_iter().collect::<Vec<_>>(), ["a"]);
    assert_eq!(found.tombstones[&Service::Delivery].len(), 1);
    assert_eq!(found.effects, 7);
    let package = Subject { id: "p".to_owned(), claim: Some("a".to_owned()) };
    assert!(found.remaining[&Service::Package].contains(&package));
}
