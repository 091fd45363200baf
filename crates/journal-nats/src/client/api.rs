//! What JetStream's API is asked and what it answers, as far as the journal needs it.

use serde::{Deserialize, Serialize};

use crate::wire::{Bounds, PublishError};

pub(crate) const PREFIX: &str = "$JS.API";

pub(super) const NO_MESSAGE: u16 = 10037;
const WRONG_LAST: u16 = 10071;
/// Maximum bytes of the stream; insufficient storage; insufficient resources; the account's limit.
const FULL: [u16; 4] = [10077, 10047, 10023, 10002];
const LARGER_THAN_THE_STREAM_TAKES: u16 = 10054;

/// An answer, or a refusal.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Answer<A> {
    Refused { error: ApiError },
    Done(A),
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApiError {
    #[serde(default)]
    pub(crate) code: u16,
    #[serde(default)]
    pub(crate) err_code: u16,
    #[serde(default)]
    pub(crate) description: String,
}

/// What a refused publish means. What is not known to be a refusal for good may be stored yet.
pub(super) fn publish_error(error: &ApiError) -> PublishError {
    match error.err_code {
        WRONG_LAST => PublishError::WrongLast,
        LARGER_THAN_THE_STREAM_TAKES => PublishError::TooLarge,
        code if FULL.contains(&code) => PublishError::Full,
        code => PublishError::Unknown(format!("{} ({code})", error.description)),
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Get {
    pub(super) seq: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Got {
    pub(super) message: GotMessage,
}

#[derive(Debug, Deserialize)]
pub(super) struct GotMessage {
    pub(super) seq: u64,
    #[serde(default)]
    pub(super) data: String,
}

#[derive(Debug, Serialize)]
pub(super) struct GetRange {
    pub(super) seq: u64,
    pub(super) batch: u64,
    pub(super) max_bytes: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Purge {
    pub(super) seq: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Purged {
    #[serde(rename = "success")]
    _success: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Stored {
    seq: u64,
    /// The domain of who stored it, when it has one.
    #[serde(default)]
    domain: Option<String>,
}

impl Stored {
    /// The sequence, when it was stored in this domain. Regions that are joined without `deny_imports` and
    /// `deny_exports` carry messages to each other, and the other one's sequence says nothing about ours.
    pub(super) fn here(self, domain: Option<&str>) -> Result<u64, PublishError> {
        match (self.domain, domain) {
            (Some(there), Some(here)) if there != here => Err(PublishError::Unknown(format!(
                "domain {there} answered instead of {here}: leaf connections must deny these subjects"
            ))),
            _ => Ok(self.seq),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Info {
    pub(super) state: State,
}

#[derive(Debug, Deserialize)]
pub(super) struct State {
    messages: u64,
    bytes: u64,
    first_seq: u64,
    last_seq: u64,
}

impl State {
    pub(super) fn bounds(&self) -> Bounds {
        let first = if self.messages == 0 { self.last_seq + 1 } else { self.first_seq };
        Bounds { first, last: self.last_seq, bytes: self.bytes }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Account {
    pub(super) storage: u64,
    pub(super) limits: AccountLimits,
}

#[derive(Debug, Deserialize)]
pub(super) struct AccountLimits {
    pub(super) max_storage: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(code: u16) -> PublishError {
        let text =
            format!(r#"{{"error":{{"code":400,"err_code":{code},"description":"x"}},"stream":"S","seq":0}}"#);
        match serde_json::from_str::<Answer<Stored>>(&text).unwrap() {
            Answer::Refused { error } => publish_error(&error),
            Answer::Done(_) => panic!("an error is no success"),
        }
    }

    #[test]
    fn an_answer_from_the_other_region_says_nothing() {
        let stored = || serde_json::from_str::<Stored>(r#"{"stream":"S","domain":"west","seq":7}"#).unwrap();
        assert_eq!(stored().here(Some("west")), Ok(7));
        assert_eq!(stored().here(None), Ok(7));
        assert!(matches!(stored().here(Some("east")), Err(PublishError::Unknown(_))));
    }

    #[test]
    fn only_what_is_certain_is_a_refusal() {
        assert_eq!(meaning(10071), PublishError::WrongLast);
        assert_eq!(meaning(10077), PublishError::Full);
        for unknown in [10164, 10008, 10158, 10060, 1] {
            assert!(matches!(meaning(unknown), PublishError::Unknown(_)), "{unknown}");
        }
    }
}
