//! `sortie queue send` and `sortie topic send`: sends a message.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::Context;
use api_types::Time;
use clap::Args;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value};
use types::Span;

use super::name::EntityName;
use super::property::Property;
use crate::client::{self, Call};
use crate::failure::Failure;
use crate::session::Session;
use crate::{file, when};

const BROKER_PROPERTIES: HeaderName = HeaderName::from_static("brokerproperties");

/// Send a message
///
/// The body is the argument, the file after @, or standard input.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie queue send orders '{\"order\":7}' --id order-7 --label paid\n  sortie queue send orders @order.json --property country=NO --in 10m\n  sortie topic send events @order.json --label paid"
)]
pub struct Send {
    /// The queue or topic
    to: EntityName,
    /// The body; @FILE reads a file, - standard input
    body: Option<String>,
    /// The message id; a duplicate is dropped
    #[arg(long)]
    id: Option<String>,
    /// The label (subject)
    #[arg(long, value_name = "WORD")]
    label: Option<String>,
    /// Messages of one session are handled in order
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The correlation id
    #[arg(long, value_name = "ID")]
    correlation: Option<String>,
    /// Where to send a reply
    #[arg(long, value_name = "NAME")]
    reply_to: Option<String>,
    /// The receiver
    #[arg(long, value_name = "NAME")]
    to_whom: Option<String>,
    /// The content type, for example application/json
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// A custom property, which filters can use
    #[arg(long = "property", value_name = "NAME=VALUE")]
    properties: Vec<Property>,
    /// The time to live
    #[arg(long, value_name = "SPAN")]
    ttl: Option<Span>,
    /// Schedule it for this time
    #[arg(long, value_name = "TIME", conflicts_with = "in_")]
    at: Option<Time>,
    /// Schedule it after this delay
    #[arg(long = "in", id = "in_", value_name = "SPAN")]
    in_: Option<Span>,
}

#[derive(Serialize)]
struct SentReport<'a> {
    sent: &'a str,
    bytes: usize,
}

impl Send {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let body = self.body()?;
        let bytes = body.len();
        let mut call = Call::post_bytes(client::path("/{}/messages", &[&self.to.0]), body);
        let broker = Value::Object(self.broker_properties()).to_string();
        call = call.header(BROKER_PROPERTIES, header("the properties", &broker)?);
        if let Some(kind) = &self.content_type {
            call = call.header(CONTENT_TYPE, header("--content-type", kind)?);
        }
        for Property { name, value } in &self.properties {
            let refused = || Failure::Usage(format!("--property: {name:?} is not a valid header name"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
            call = call.header(name, header("--property", &value.to_string())?);
        }
        session.client.send(call).await?;
        let sent = SentReport { sent: &self.to.0, bytes };
        session.show_value(&sent, || format!("sent {bytes} bytes to {}\n", self.to.0))
    }

    fn broker_properties(&self) -> Map<String, Value> {
        let later = |span: Span| Time(when::now() + span);
        let fields = [
            ("MessageId", self.id.clone().map(Value::from)),
            ("Label", self.label.clone().map(Value::from)),
            ("SessionId", self.session.clone().map(Value::from)),
            ("CorrelationId", self.correlation.clone().map(Value::from)),
            ("ReplyTo", self.reply_to.clone().map(Value::from)),
            ("To", self.to_whom.clone().map(Value::from)),
            ("TimeToLive", self.ttl.map(|span| (span.as_ms() as f64 / 1000.0).into())),
            ("ScheduledEnqueueTimeUtc", self.at.or(self.in_.map(later)).map(|time| time.to_string().into())),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    fn body(&self) -> anyhow::Result<Vec<u8>> {
        match self.body.as_deref() {
            Some("-") => file::read(Path::new("-")),
            Some(text) => match text.strip_prefix('@') {
                Some(path) => file::read(Path::new(path)),
                None => Ok(text.as_bytes().to_vec()),
            },
            None if std::io::stdin().is_terminal() => {
                let hint = "pass the body as an argument, as @FILE, or on standard input";
                Err(Failure::Usage(hint.to_owned()).into())
            }
            None => {
                let mut body = Vec::new();
                std::io::stdin().read_to_end(&mut body).context("reading standard input")?;
                Ok(body)
            }
        }
    }
}

fn header(what: &str, text: &str) -> Result<HeaderValue, Failure> {
    HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| Failure::Usage(format!("{what}: contains characters that are not allowed in a header")))
}
