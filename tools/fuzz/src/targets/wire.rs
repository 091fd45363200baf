//! The JSON that clients of the API read and write: what is read is written, and reads the same.

use api_types::{
    AppliedView, BatchAnswer, DecisionRequest, PartitionView, Problem, RunDetail, RunPage, ServiceView,
    WorkflowList,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Target;

pub const TARGET: Target = Target {
    name: "wire",
    run,
    seeds,
    words: &[
        "\"id\"",
        "\"workflow\"",
        "\"version\"",
        "\"status\"",
        "\"accepted\"",
        "\"running\"",
        "\"parked\"",
        "\"accepted_at\"",
        "\"2026-11-15T10:00:00Z\"",
        "\"steps\"",
        "\"timeline\"",
        "\"decision\"",
        "\"by_hand\"",
        "\"instead\"",
        "\"output\"",
        "\"action\"",
        "\"note\"",
        "\"items\"",
        "\"next\"",
        "\"line\"",
        "\"problem\"",
        "null",
    ],
    inputs: 3000,
};

fn run(bytes: &[u8]) {
    check::<RunDetail>(bytes);
    check::<RunPage>(bytes);
    check::<DecisionRequest>(bytes);
    check::<BatchAnswer>(bytes);
    check::<Problem>(bytes);
    check::<PartitionView>(bytes);
    check::<ServiceView>(bytes);
    check::<WorkflowList>(bytes);
    check::<AppliedView>(bytes);
}

fn check<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<T>(bytes) else { return };
    let written = serde_json::to_string(&value).expect("what was read can be written");
    let again: T = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(serde_json::to_string(&again).expect("it was written before"), written);
}

fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"decision":"by_hand","step":"drone","output":{"a":[1]},"note":"done by phone"}"#,
        r#"{"decision":"instead","step":"drone","action":{"method":"PUT","url":"http://a.test/"}}"#,
        r#"{"decision":"give_up"}"#,
        r#"{"line":1,"status":422,"problem":{"type":"about:blank","title":"no","status":422,"code":"invalid","detail":"x"}}"#,
        r#"{"items":[{"id":"a","workflow":"w","version":1,"status":"completed","key":"a","accepted_at":"2026-11-15T10:00:00Z"}],"next":"00"}"#,
        r#"{"partition":0,"state":"running","inbox_tail":1,"inbox_through":1,"live_runs":0,"parked_runs":0,"calls":0}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads<T: DeserializeOwned>(bytes: &[u8]) -> bool {
        serde_json::from_slice::<T>(bytes).is_ok()
    }

    #[test]
    fn every_seed_is_accepted_as_one_of_the_types() {
        for seed in seeds() {
            let accepted = [
                reads::<DecisionRequest>(&seed),
                reads::<BatchAnswer>(&seed),
                reads::<RunPage>(&seed),
                reads::<PartitionView>(&seed),
            ];
            assert!(accepted.contains(&true), "{}", String::from_utf8_lossy(&seed));
        }
    }
}
