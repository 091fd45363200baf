//! The divergent tail of a replaced region: which requests it lists, and which its files contain.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::report::Closing;

/// The text before the id of a request in its body.
const ID: &[u8] = b"\"deliveryId\":\"";
/// Ids that a finding names.
const SHOWN_MAX: usize = 20;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tail {
    pub messages: u64,
    pub streams: usize,
    /// Requests that the region names when it is asked.
    listed: BTreeSet<String>,
    /// Those in the files, which hold more than is listed when a stream has much.
    filed: BTreeSet<String>,
}

impl Tail {
    /// What a region says of it. The files are on this machine.
    pub fn of(status: &Value) -> anyhow::Result<Tail> {
        let mut tail = Tail::default();
        let said = &status["tail"];
        for stream in said["streams"].as_array().into_iter().flatten() {
            tail.streams += 1;
            tail.messages += stream["messages"].as_u64().unwrap_or(0);
            let lines = stream["contents"].as_array().into_iter().flatten().filter_map(Value::as_str);
            tail.listed.extend(lines.filter_map(|line| line.strip_prefix("run ")).map(str::to_owned));
            let name = stream["stream"].as_str().context("a stream has a name")?;
            if name.contains("_ING_") {
                let folder = Path::new(said["folder"].as_str().context("a tail has a folder")?);
                let file = folder.join(format!("{name}.jsonl"));
                let text =
                    fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
                tail.filed.extend(ids_in(&text)?);
            }
        }
        Ok(tail)
    }

    /// Each of these was acknowledged and is not in the active region: it must be here.
    pub fn check(&self, lost: &BTreeSet<String>, closing: &mut Closing) {
        let listed = lost.intersection(&self.listed).count();
        let filed = lost.iter().filter(|id| !self.listed.contains(*id) && self.filed.contains(*id)).count();
        println!(
            "  divergent tail: {} messages in {} streams; of {} lost it lists {listed}, and has {filed} in files alone",
            self.messages,
            self.streams,
            lost.len()
        );
        closing.count(self.messages, "messages in divergent tails");
        let missing = self.missing(lost);
        if !missing.is_empty() {
            let shown = &missing[..missing.len().min(SHOWN_MAX)];
            closing.add_finding(format!("{} lost, and not in the divergent tail: {shown:?}", missing.len()));
        }
    }

    fn missing<'a>(&self, lost: &'a BTreeSet<String>) -> Vec<&'a String> {
        lost.iter().filter(|id| !self.listed.contains(*id) && !self.filed.contains(*id)).collect()
    }
}

/// The ids in a file of an inbox: a message in each line, with requests in its bytes.
fn ids_in(text: &str) -> anyhow::Result<Vec<String>> {
    let mut ids = Vec::new();
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).context("reading a line of a tail")?;
        let data = STANDARD.decode(message["data"].as_str().context("a message has data")?)?;
        let mut rest = &data[..];
        while let Some(at) = rest.windows(ID.len()).position(|window| window == ID) {
            rest = &rest[at + ID.len()..];
            let end = rest.iter().position(|byte| *byte == b'"').context("an id has an end")?;
            ids.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn ids_are_found_in_messages_of_several_requests() {
        let data = STANDARD.encode(b"\x01{\"deliveryId\":\"t-1\",\"a\":1}\x02{\"deliveryId\":\"t-12\"}\xff");
        assert_eq!(ids_in(&json!({ "data": data }).to_string()).unwrap(), ["t-1", "t-12"]);
        assert!(ids_in("{}").is_err());
    }

    #[test]
    fn an_id_is_not_taken_for_a_longer_one() {
        let tail = Tail { listed: of(&["t-12"]), filed: of(&["t-3"]), ..Tail::default() };
        assert!(tail.missing(&of(&["t-12", "t-3"])).is_empty());
        assert_eq!(tail.missing(&of(&["t-1", "t-12"])), ["t-1"]);
    }

    #[test]
    fn a_region_that_was_never_overtaken_has_none() {
        assert_eq!(Tail::of(&json!({ "tail": null })).unwrap(), Tail::default());
    }
}
