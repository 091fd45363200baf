//! What JetStream's API is asked and what it answers, as far as the journal needs it.

use serde::{Deserialize, Serialize};

use crate::names;
use crate::wire::{Bounds, PublishError};

pub(crate) const PREFIX: &str = "$JS.API";

pub(super) const NO_MESSAGE: u16 = 10037;
const WRONG_LAST: u16 = 10071;
/// Insufficient storage; insufficient resources; the account's limit.
const FULL: [u16; 3] = [10047, 10023, 10002];
/// The store failed, for whatever reason; only a limit of the stream is a refusal for good.
const STORE_FAILED: u16 = 10077;
const LIMITS: [&str; 3] =
    ["maximum bytes exceeded", "maximum messages exceeded", "maximum messages per subject"];
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
        STORE_FAILED if LIMITS.iter().any(|limit| error.description.contains(limit)) => PublishError::Full,
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
    state: State,
    config: InfoConfig,
}

#[derive(Debug, Deserialize)]
struct InfoConfig {
    #[serde(default)]
    subjects: Vec<String>,
}

impl Info {
    /// `subject` is the stream's own before any change of regions.
    pub(super) fn bounds(&self, subject: &str) -> Bounds {
        let State { messages, bytes, first_seq, last_seq } = self.state;
        let first = if messages == 0 { last_seq + 1 } else { first_seq };
        let opened = self.config.subjects.first().and_then(|opened| names::opened_at(subject, opened));
        Bounds { first, last: last_seq, bytes, opened }
    }
}

/// How a stream of the other region is configured.
#[derive(Debug, Deserialize)]
pub(super) struct Mirrored {
    config: MirrorConfig,
}

#[derive(Debug, Deserialize)]
struct MirrorConfig {
    mirror: Option<Origin>,
}

#[derive(Debug, Deserialize)]
struct Origin {
    name: String,
    external: Option<External>,
}

#[derive(Debug, Deserialize)]
struct External {
    api: String,
}

impl Mirrored {
    /// Whether it is a mirror of the stream of this name in this domain.
    pub(super) fn mirrors(&self, stream: &str, domain: Option<&str>) -> bool {
        let is_ours =
            |external: &External| domain.is_none_or(|ours| external.api == format!("$JS.{ours}.API"));
        let origin = self.config.mirror.as_ref().filter(|origin| origin.name == stream);
        origin.is_some_and(|origin| origin.external.as_ref().is_some_and(is_ours))
    }
}

#[derive(Debug, Deserialize)]
struct State {
    messages: u64,
    bytes: u64,
    first_seq: u64,
    last_seq: u64,
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
        meaning_of(code, "x")
    }

    fn meaning_of(code: u16, said: &str) -> PublishError {
        let text = format!(
            r#"{{"error":{{"code":400,"err_code":{code},"description":"{said}"}},"stream":"S","seq":0}}"#
        );
        match serde_json::from_str::<Answer<Stored>>(&text).unwrap() {
            Answer::Refused { error } => publish_error(&error),
            Answer::Done(_) => panic!("an error is not a success"),
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
    fn only_a_mirror_of_our_stream_is_ours() {
        let mirror = |config: &str| {
            let info = format!(r#"{{"config":{config}}}"#);
            serde_json::from_str::<Mirrored>(&info).unwrap().mirrors("S", Some("east"))
        };
        assert!(mirror(r#"{"mirror":{"name":"S","external":{"api":"$JS.east.API","deliver":""}}}"#));
        assert!(
            !mirror(r#"{"mirror":{"name":"S","external":{"api":"$JS.north.API"}}}"#),
            "of another region"
        );
        assert!(!mirror(r#"{"mirror":{"name":"S"}}"#), "of its own region");
        assert!(!mirror(r#"{"mirror":{"name":"T","external":{"api":"$JS.east.API"}}}"#), "of another stream");
        assert!(!mirror(r#"{"subjects":["s"]}"#), "a stream of its own");
    }

    #[test]
    fn only_what_is_certain_is_a_refusal() {
        assert_eq!(meaning(10071), PublishError::WrongLast);
        assert_eq!(meaning(10047), PublishError::Full);
        assert_eq!(meaning_of(10077, "maximum bytes exceeded"), PublishError::Full);
        let failed = meaning_of(10077, "write 1.blk: input/output error");
        assert!(matches!(failed, PublishError::Unknown(_)), "{failed:?}");
        for unknown in [10077, 10164, 10008, 10158, 10060, 1] {
            assert!(matches!(meaning(unknown), PublishError::Unknown(_)), "{unknown}");
        }
    }
}
