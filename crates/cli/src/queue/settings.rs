//! The options for the settings of a queue or subscription.

use clap::Args;
use serde_json::{Map, Value};
use types::Span;

#[derive(Debug, Default, Args)]
pub struct Settings {
    /// The lock duration of a received message; default 60s
    #[arg(long, value_name = "SPAN")]
    lock: Option<Span>,
    /// The time to live of messages
    #[arg(long, value_name = "SPAN")]
    ttl: Option<Span>,
    /// Deliveries before a message is dead-lettered; default 10
    #[arg(long, value_name = "N")]
    max_deliveries: Option<u32>,
    /// Dead-letter expired messages
    #[arg(long)]
    dead_letter_expired: bool,
    /// Handle the messages of each session in order, one consumer at a time
    #[arg(long)]
    sessions: bool,
    /// At most this many messages, including dead letters
    #[arg(long, value_name = "N")]
    max_messages: Option<u32>,
    /// At most this many bytes
    #[arg(long, value_name = "N")]
    max_bytes: Option<u64>,
}

impl Settings {
    /// The options as the API takes them.
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
