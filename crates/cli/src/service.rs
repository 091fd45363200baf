//! `sortie service`: the state of the services that runs call.

mod overrides;

use std::process::ExitCode;

use api_types::ServiceView;
use clap::{Args, Subcommand};
use serde::Deserialize;

use crate::failure::Failure;
use crate::names::nearest;
use crate::page::Amount;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable, clean};
use crate::watch::WatchArgs;

const SERVICES: &str = "/v1/services";

#[derive(Debug, Deserialize)]
struct ServiceList {
    items: Vec<ServiceView>,
}

/// Show the services that runs call, and override their breakers and limits
#[derive(Debug, Subcommand)]
pub enum Service {
    List(List),
    Show(Show),
    #[command(flatten)]
    ByHand(overrides::OverrideCommand),
}

/// List the services: calls in flight, the current limit, the breaker and the latency
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie service list --watch")]
pub struct List {
    #[command(flatten)]
    amount: Amount<1000>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// Show a service: its breaker, its limit, its calls and their latency
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie service show http://127.0.0.1:7104")]
pub struct Show {
    /// The name of the service, as in `sortie service list`
    service: String,
    #[command(flatten)]
    watch: WatchArgs,
}

impl Service {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            Service::List(list) => {
                list.watch.each(session, async |session| list.show(session).await).await?;
            }
            Service::Show(show) => {
                show.watch.each(session, async |session| show.show(session).await).await?;
            }
            Service::ByHand(by_hand) => return by_hand.run(session).await,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let found = self.amount.get(session, |_, _| SERVICES.to_owned()).await?;
        let services: Vec<ServiceView> = found.read()?;
        session.show_value(&found, || render(&services, &session.screen) + found.hint())
    }
}

impl Show {
    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let all: ServiceList = session.client.get(SERVICES).await?;
        let Some(service) = all.items.iter().find(|known| known.service == self.service) else {
            let names: Vec<String> = all.items.into_iter().map(|known| known.service).collect();
            let list = format!("; see them with: {} service list", session.program());
            let near = nearest(&self.service, &names);
            let hint = if near.is_empty() { &list } else { &near };
            let text = format!("no service '{}' has been called{hint}", clean(&self.service));
            return Err(Failure::No(text).into());
        };
        session.show_value(service, || render_one(service, &session.screen))
    }
}

fn render_one(service: &ServiceView, screen: &Screen) -> String {
    let name = screen.paint(Tone::Strong, &clean(&service.service));
    let breaker = screen.paint(breaker_tone(&service.breaker), &service.breaker.replace('_', " "));
    let ServiceView { in_flight, limit, waiting, .. } = service;
    format!(
        "Service {name}\n  breaker  {breaker}\n  calls    {in_flight} in flight, limit {limit}, {waiting} waiting\n  \
         latency  p50 {}, p99 {}\n",
        latency(service.p50_ms),
        latency(service.p99_ms),
    )
}

fn breaker_tone(breaker: &str) -> Tone {
    match breaker {
        "closed" | "held_closed" => Tone::Good,
        "half_open" => Tone::Attention,
        _ => Tone::Bad,
    }
}

fn latency(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"))
}

/// Services with their breaker, limit and latency.
pub fn render(services: &[ServiceView], screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::whole("SERVICE"),
        Column::whole("BREAKER").major(),
        Column::number("IN FLIGHT").minor(),
        Column::number("LIMIT"),
        Column::number("WAITING"),
        Column::number("P50").minor(),
        Column::number("P99"),
    ]);
    for service in services {
        table.row([
            Cell::new(&service.service),
            Cell::toned(breaker_tone(&service.breaker), service.breaker.replace('_', " ")),
            Cell::new(service.in_flight.to_string()),
            Cell::new(service.limit.to_string()),
            Cell::new(service.waiting.to_string()),
            Cell::new(latency(service.p50_ms)),
            Cell::new(latency(service.p99_ms)),
        ]);
    }
    if table.is_empty() {
        return "No service has been called yet.\n".to_owned();
    }
    table.render(screen)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn services_show_their_breaker_and_latency() {
        let json = r#"{"items":[
            {"service":"drone-delivery/drone","limit":512,"in_flight":3,"waiting":0,"breaker":"closed",
             "p50_ms":1.25,"p99_ms":40.0},
            {"service":"drone-delivery/package","limit":1,"in_flight":0,"waiting":77,"breaker":"open",
             "p50_ms":null,"p99_ms":null}]}"#;
        let services: ServiceList = serde_json::from_str(json).unwrap();
        expect![[r#"
            SERVICE                 BREAKER  IN FLIGHT  LIMIT  WAITING     P50      P99
            drone-delivery/drone    closed           3    512        0  1.2 ms  40.0 ms
            drone-delivery/package  open             0      1       77       -        -
        "#]]
        .assert_eq(&render(&services.items, &Screen { colour: false, width: Some(80) }));
    }
}
