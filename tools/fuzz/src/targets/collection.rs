//! Documents of collections, native and Azure's, and what a patch makes of them.

use schedule::{CollectionDocument, FrontEnd, read_collection, read_collection_patch};
use serde_json::Value;

use super::job::{check_problems, is_job, recorded};
use crate::Target;
use crate::input::{text, two_parts};

pub const TARGET: Target = Target {
    name: "collection",
    run,
    seeds,
    words: &[
        "\"location\"",
        "\"North Central US\"",
        "\"tags\"",
        "\"properties\"",
        "\"sku\"",
        "\"name\"",
        "\"Standard\"",
        "\"Free\"",
        "\"P20Premium\"",
        "\"Sortie\"",
        "\"state\"",
        "\"Enabled\"",
        "\"Suspended\"",
        "\"quota\"",
        "\"maxJobCount\"",
        "\"maxJobOccurrence\"",
        "\"maxRecurrence\"",
        "\"frequency\"",
        "\"second\"",
        "\"month\"",
        "\"interval\"",
        "null",
        "4294967295",
        "0",
        "-1",
    ],
    inputs: 2500,
};

fn run(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let (document, patch) = two_parts(text);
    let Ok(body) = serde_json::from_str::<Value>(document) else { return };
    for front_end in [FrontEnd::Azure, FrontEnd::Native] {
        let collection = match read_collection(&body, front_end) {
            Ok(collection) => collection,
            Err(problems) => {
                check_problems(&problems);
                continue;
            }
        };
        check(&collection);
        let patch = serde_json::from_str::<Value>(patch).unwrap_or_else(|_| body.clone());
        match read_collection_patch(&patch).and_then(|patch| collection.patched(&patch)) {
            Ok(patched) => check(&patched),
            Err(problems) => check_problems(&problems),
        }
    }
}

fn check(collection: &CollectionDocument) {
    let again = CollectionDocument::from_stored(&collection.stored()).expect("what is kept is read again");
    assert_eq!(again, *collection);
    assert_eq!(again.spec(), collection.spec());
    let shown = serde_json::to_value(collection).expect("a collection is JSON");
    let read =
        read_collection(&shown, FrontEnd::Native).unwrap_or_else(|problems| panic!("{problems}: {shown}"));
    assert_eq!(read, *collection, "what is shown reads the same");
}

fn seeds() -> Vec<Vec<u8>> {
    let mut found: Vec<String> = recorded(|path| path.contains("/jobCollections/") && !is_job(path));
    found.push(r#"{"location":"westus","tags":{"a":"b"},"properties":{"sku":{"name":"Free"},"quota":{"maxJobCount":3,"maxRecurrence":{"frequency":"hour","interval":2}}}}"#.to_owned());
    let first = found[0].clone();
    found.push(format!(
        "{first}\n---\n{{\"tags\":null,\"properties\":{{\"quota\":{{\"maxJobCount\":null}}}}}}"
    ));
    found.push("{}".to_owned());
    found.into_iter().map(String::into_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_accepted_by_one_of_the_interfaces() {
        for seed in seeds() {
            let (document, _) = two_parts(text(&seed).expect("seeds are text"));
            let body: Value = serde_json::from_str(document).unwrap();
            let read = |front_end| read_collection(&body, front_end).is_ok();
            assert!(read(FrontEnd::Azure) || read(FrontEnd::Native), "{document}");
        }
    }
}
