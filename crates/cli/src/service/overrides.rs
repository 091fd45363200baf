//! `sortie service open|close|auto|limit`: manual overrides of a service.

use std::num::NonZeroU32;
use std::process::ExitCode;

use api_types::{ByHandView, ServiceRequest, ServiceView};
use clap::{Args, Subcommand};

use crate::client::{self, Call};
use crate::session::Session;
use crate::table::clean;

/// Active until changed, on every instance and across restarts.
#[derive(Debug, Subcommand)]
pub enum OverrideCommand {
    /// Pause calls to a service: they wait and do not fail
    #[command(after_help = "Example:\n  sortie service open drone --note 'new firmware until noon'")]
    Open(OverrideArgs),
    /// Force the breaker closed: calls go out even if they fail
    #[command(after_help = "Example:\n  sortie service close drone")]
    Close(OverrideArgs),
    /// Return to automatic control by the breaker
    #[command(after_help = "Example:\n  sortie service auto drone")]
    Auto(OverrideArgs),
    /// Limit the concurrent calls to a service, or remove the limit
    #[command(after_help = "Examples:\n  sortie service limit drone 5\n  sortie service limit drone auto")]
    Limit {
        #[command(flatten)]
        said: OverrideArgs,
        /// The number, or `auto` for the limit in the workflows
        #[arg(value_name = "N|auto", value_parser = calls)]
        calls: CallLimitArgs,
    },
}

#[derive(Debug, Args)]
pub struct OverrideArgs {
    /// The name of the service in workflows, `workflow/service`, or its address
    service: String,
    /// Why, for other operators
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// A limit, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimitArgs(Option<NonZeroU32>);

fn calls(text: &str) -> Result<CallLimitArgs, String> {
    match text {
        "auto" => Ok(CallLimitArgs(None)),
        _ => text
            .parse()
            .map(|calls| CallLimitArgs(Some(calls)))
            .map_err(|_| "must be a number from 1, or auto".to_owned()),
    }
}

impl OverrideCommand {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        let path = client::path("/v1/services/{}", &[&self.said().service]);
        let before: ServiceView = session.client.get(&path).await?;
        let body = serde_json::to_string(&self.request(before.by_hand.as_ref()))?;
        let answer = session.client.send(Call::put(path, "application/json", body)).await?;
        session.show(&answer, || Ok(render(&answer.value()?)))?;
        Ok(ExitCode::SUCCESS)
    }

    fn said(&self) -> &OverrideArgs {
        match self {
            OverrideCommand::Open(said)
            | OverrideCommand::Close(said)
            | OverrideCommand::Auto(said)
            | OverrideCommand::Limit { said, .. } => said,
        }
    }

    /// The new override: changes the breaker or the limit, and keeps the other one and the note.
    fn request(&self, before: Option<&ByHandView>) -> ServiceRequest {
        let breaker = match self {
            OverrideCommand::Open(_) => "open",
            OverrideCommand::Close(_) => "closed",
            OverrideCommand::Auto(_) => "auto",
            OverrideCommand::Limit { .. } => before.map_or("auto", |before| &before.breaker),
        };
        let limit = match self {
            OverrideCommand::Limit { calls, .. } => calls.0.map(NonZeroU32::get),
            _ => before.and_then(|before| before.limit),
        };
        let note = self.said().note.clone().or_else(|| before.and_then(|before| before.note.clone()));
        // An empty note removes the previous one.
        let note = note.filter(|note| !note.is_empty());
        ServiceRequest { breaker: breaker.to_owned(), limit, note }
    }
}

fn render(service: &ServiceView) -> String {
    let name = clean(service.names.first().unwrap_or(&service.service));
    let what = match service.breaker.as_str() {
        "held_open" => "is paused: its calls wait until `sortie service auto` or `close`",
        "held_closed" => "has its breaker forced closed: its calls go out even if they fail",
        _ => "is controlled by its breaker",
    };
    let limit = service.by_hand.as_ref().and_then(|said| said.limit);
    let limit = limit.map(|limit| format!(", with at most {limit} concurrent calls")).unwrap_or_default();
    format!("{name} {what}{limit}.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> OverrideArgs {
        OverrideArgs { service: "drone".to_owned(), note: Some("n".to_owned()) }
    }

    #[test]
    fn the_breaker_and_the_limit_are_set_separately() {
        let json = r#"{"breaker":"open","limit":5,"at":"2026-01-01T00:00:00Z","by":"ops"}"#;
        let before: ByHandView = serde_json::from_str(json).unwrap();
        let request = |by_hand: OverrideCommand, before| {
            let ServiceRequest { breaker, limit, note } = by_hand.request(before);
            assert_eq!(note.as_deref(), Some("n"));
            (breaker, limit)
        };
        let limit = |text| OverrideCommand::Limit { said: said(), calls: calls(text).unwrap() };
        assert_eq!(request(OverrideCommand::Auto(said()), Some(&before)), ("auto".to_owned(), Some(5)));
        assert_eq!(request(OverrideCommand::Close(said()), None), ("closed".to_owned(), None));
        assert_eq!(request(limit("7"), Some(&before)), ("open".to_owned(), Some(7)));
        assert_eq!(request(limit("auto"), Some(&before)), ("open".to_owned(), None));
        for bad in ["0", "-1", "many", ""] {
            assert!(calls(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_note_stays_until_another_is_given() {
        let json = r#"{"breaker":"open","note":"firmware","at":"2026-01-01T00:00:00Z","by":"ops"}"#;
        let before: ByHandView = serde_json::from_str(json).unwrap();
        let note = |note: Option<&str>| {
            let said = OverrideArgs { service: "drone".to_owned(), note: note.map(str::to_owned) };
            OverrideCommand::Close(said).request(Some(&before)).note
        };
        assert_eq!(note(None).as_deref(), Some("firmware"));
        assert_eq!(note(Some("done")).as_deref(), Some("done"));
        assert_eq!(note(Some("")), None);
    }

    #[test]
    fn what_was_done_is_reported_by_name() {
        let json = r#"{"service":"http://d","names":["w/drone"],"limit":5,"in_flight":0,"waiting":0,"breaker":"held_open",
            "p50_ms":null,"p99_ms":null,"by_hand":{"breaker":"open","limit":5,"at":"2026-01-01T00:00:00Z","by":"ops"}}"#;
        let text = render(&serde_json::from_str(json).unwrap());
        assert_eq!(
            text,
            "w/drone is paused: its calls wait until `sortie service auto` or `close`, with at most 5 concurrent calls.\n"
        );
    }
}
