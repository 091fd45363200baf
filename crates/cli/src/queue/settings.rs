//! The options that say what a queue or a subscription promises.

use clap::Args;
use serde_json::{Map, Value};
use types::Span;

#[derive(Debug, Default, Args)]
pub struct Settings {
    /// How long a message stays with its consumer; 60s without it
    #[arg(long, value_name = "SPAN")]
    lock: Option<Span>,
    /// How long a message waits at most
    #[arg(long, value_name = "SPAN")]
    ttl: Option<Span>,
    /// How often a message is delivered before it becomes a dead letter; 10 without it
    #[arg(long, value_name = "N")]
    max_deliveries: Option<u32>,
    /// Keep messages that were not received in time as dead letters
    #[arg(long)]
    dead_letter_expired: bool,
    /// Handle the messages of each session in order, one consumer at a time
    #[arg(long)]
    sessions: bool,
    /// What it holds at most, dead letters included
    #[arg(long, value_name = "N")]
    max_messages: Option<u32>,
    /// Bytes that it holds at most
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
}

impl Settings {
    /// What is said, as the API takes it.
    pub fn json(&self) -> Map<String, Value> {
        let span = |span: Option<Span>| span.map(|span| span.to_string().into());
        let fields = [
            ("lock", span(self.lock)),
            ("time_to_live", span(self.ttl)),
            ("deliveries_max", self.max_deliveries.map(Value::from)),
            ("dead_letter_expired", self.dead_letter_expired.then_some(true.into())),
            ("sessions", self.sessions.then_some(true.into())),
            ("messages_max", self.max_messages.map(Value::from)),
            ("bytes_max", self.max_bytes.map(Value::from)),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}
