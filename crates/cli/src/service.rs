//! `sortie service`: how the services that runs call are doing.

mod by_hand;

use std::process::ExitCode;

use clap::Subcommand;
use serde::Deserialize;
use wire::ServiceView;

use crate::client::Call;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, Table};

/// See the services that runs call, and hold them by hand
#[derive(Debug, Subcommand)]
pub enum Service {
    /// List the services: calls under way, the limit in force, the breaker and the latency
    #[command(after_help = "Example:\n  sortie service list")]
    List,
    #[command(flatten)]
    ByHand(by_hand::ByHand),
}

#[derive(Debug, Deserialize)]
struct Services {
    items: Vec<ServiceView>,
}

impl Service {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        if let Service::ByHand(by_hand) = self {
            return by_hand.run(session).await;
        }
        let answer = session.client.send(Call::get("/v1/services")).await?;
        session.show(&answer, || Ok(render(&answer.value::<Services>()?.items, &session.screen)))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn render(services: &[ServiceView], screen: &Screen) -> String {
    let mut table = Table::new([
        Column::whole("SERVICE"),
        Column::whole("BREAKER"),
        Column::number("IN FLIGHT"),
        Column::number("LIMIT"),
        Column::number("WAITING"),
        Column::number("P50"),
        Column::number("P99"),
    ]);
    let latency = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1} ms"));
    for service in services {
        let tone = match service.breaker.as_str() {
            "closed" => Tone::Good,
            "half_open" => Tone::Attention,
            _ => Tone::Bad,
        };
        table.row([
            Cell::new(&service.service),
            Cell::toned(tone, &service.breaker),
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
        let services: Services = serde_json::from_str(json).unwrap();
        expect![[r#"
            SERVICE                 BREAKER  IN FLIGHT  LIMIT  WAITING     P50      P99
            drone-delivery/drone    closed           3    512        0  1.2 ms  40.0 ms
            drone-delivery/package  open             0      1       77       -        -
        "#]]
        .assert_eq(&render(&services.items, &Screen { colour: false, width: Some(80) }));
    }
}
