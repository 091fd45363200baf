//! `sortie queue receive`: receives messages, prints and completes them.

use clap::Args;
use serde::Deserialize;
use serde_json::{Map, Value};
use types::Span;

use super::name::QueueName;
use crate::client::{self, Call};
use crate::failure::Failure;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::clean;

/// Receive messages, print them and complete them
///
/// A message is completed after it has been printed. Without --wait, no message is not an error; with it
/// the exit code is 1 if none arrived in time.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie queue receive orders --wait 30s\n  sortie queue receive events/audit --max 20 --keep"
)]
pub struct Receive {
    /// The queue, or a subscription as TOPIC/SUBSCRIPTION
    queue: QueueName,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    max: u32,
    /// Wait this long for the first message; at most 5m
    #[arg(long, value_name = "SPAN", value_parser = wait)]
    wait: Option<Span>,
    /// Only messages of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Lock them for this long, instead of the queue's lock duration
    #[arg(long, value_name = "SPAN", conflicts_with = "delete")]
    lock: Option<Span>,
    /// Receive dead letters
    #[arg(long)]
    dead: bool,
    /// Release them after printing: others can receive them, and the delivery counts
    #[arg(long)]
    keep: bool,
    /// Delete them on receipt: a message lost in transit is lost
    #[arg(long, conflicts_with = "keep")]
    delete: bool,
}

fn wait(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: types::time::InvalidSpan| error.to_string())?;
    if span > Span::from_secs(300) {
        return Err("the server waits at most 5m".to_owned());
    }
    Ok(span)
}

/// A message as the API returns it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReceivedMessage {
    body: String,
    #[serde(default)]
    body_encoding: Option<String>,
    broker_properties: Map<String, Value>,
    #[serde(default)]
    user_properties: Map<String, Value>,
}

impl Receive {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        // The server takes whole seconds; a fraction is rounded up.
        let wait = Span::from_secs(self.wait.unwrap_or(Span::ZERO).as_ms().div_ceil(1000));
        let parameters = [
            ("timeout", Some((wait.as_ms() / 1000).to_string())),
            ("max", Some(self.max.to_string())),
            ("session", self.session.clone()),
            ("lock", self.lock.map(|span| span.to_string())),
        ];
        let path = client::query(&self.queue.messages(self.dead, "/head"), &parameters);
        let call = if self.delete { Call::delete(path) } else { Call::post_nothing(path) };
        let answer = self.queue.send(&mut session, call.waiting(wait.as_std())).await?;
        let items: Vec<ReceivedMessage> = if answer.body.is_empty() { Vec::new() } else { answer.value()? };
        if items.is_empty() {
            if self.wait.is_some() {
                return Err(Failure::No(format!("no message arrived from {}", self.queue)).into());
            }
            return session.show_value(&Vec::<Value>::new(), || "No messages.\n".to_owned());
        }
        session.show(&answer, || Ok(items.iter().map(|item| render(item, &session.screen)).collect()))?;
        if !self.delete {
            self.settle(&mut session, &items).await?;
        }
        Ok(())
    }

    /// After printing: a message printed twice is better than one that nobody saw.
    async fn settle(&self, session: &mut Session, items: &[ReceivedMessage]) -> anyhow::Result<()> {
        for item in items {
            let [number, token] = ["SequenceNumber", "LockToken"].map(|name| text_of(item, name));
            let path = self.queue.messages(self.dead, &client::path("/{}/{}", &[&number, &token]));
            let call = if self.keep { Call::put_nothing(path) } else { Call::delete(path) };
            session.client.send(call).await?;
        }
        Ok(())
    }
}

fn text_of(item: &ReceivedMessage, name: &str) -> String {
    match item.broker_properties.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

fn render(item: &ReceivedMessage, screen: &Screen) -> String {
    let known = |name: &str| Some(text_of(item, name)).filter(|text| !text.is_empty());
    let mut out = screen.paint(Tone::Strong, &clean(&text_of(item, "MessageId")));
    for (label, name) in [
        ("number", "SequenceNumber"),
        ("label", "Label"),
        ("session", "SessionId"),
        ("correlation", "CorrelationId"),
        ("delivery", "DeliveryCount"),
    ] {
        if let Some(text) = known(name) {
            out += &format!("  {} {}", screen.paint(Tone::Faint, label), clean(&text));
        }
    }
    out.push('\n');
    for (name, value) in &item.user_properties {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        out += &format!("  {} = {}\n", clean(name), clean(&text));
    }
    match item.body_encoding {
        Some(_) => out += &format!("(base64) {}\n", item.body),
        None => {
            for line in item.body.lines() {
                out += &format!("{}\n", clean(line));
            }
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_message_shows_what_is_known_of_it_and_its_body() {
        let json = r#"{"Body":"{\"order\":7,\n \"x\":\"\u001b[31m\"}","BrokerProperties":{"MessageId":"m-1",
            "SequenceNumber":7,"DeliveryCount":2,"Label":"paid","LockToken":"t"},
            "UserProperties":{"country":"NO","amount":5}}"#;
        let item: ReceivedMessage = serde_json::from_str(json).unwrap();
        expect![[r#"
            m-1  number 7  label paid  delivery 2
              amount = 5
              country = NO
            {"order":7,
             "x":" [31m"}

        "#]]
        .assert_eq(&render(&item, &Screen { colour: false, width: None }));
    }
}
