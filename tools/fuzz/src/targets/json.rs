//! JSON of clients and services: what is accepted is JSON to other parsers too, and never too deep for them.

use serde_json::Value;
use workflow::json::check;

use crate::Target;
use crate::files;

pub const TARGET: Target = Target {
    name: "json",
    run,
    seeds,
    words: &["null", "true", "\"\\ud800\"", "\\u0000", "[[[[[[[[", "]]]]]]]]", "{\"a\":", "1e400", "-0.0"],
    inputs: 6000,
};

fn run(bytes: &[u8]) {
    match check(bytes) {
        Ok(text) => {
            assert_eq!(text.trim(), std::str::from_utf8(bytes).expect("it was taken as text").trim());
            // A number may be too large for others; nothing else may trouble them.
            if let Err(error) = serde_json::from_slice::<Value>(bytes) {
                assert!(error.to_string().contains("number out of range"), "{error}");
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let own = ["{}", "[1, 2.5e3, -0]", r#"{"a": {"b": ["\u00fc\n", null, true]}}"#, "  3  ", "\"\""];
    let recorded = ["05_job_http_create_replace.json", "09_job_servicebus_queue_erroraction_topic.json"];
    let recorded = recorded.map(|name| files::text(&format!("testdata/azure-scheduler/{name}")));
    own.iter().map(|text| text.to_string()).chain(recorded).map(String::into_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_accepted() {
        for seed in seeds() {
            check(&seed).unwrap();
        }
    }
}
