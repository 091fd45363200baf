//! `sortie partition`: where each partition stands.

use std::process::ExitCode;

use clap::Subcommand;
use serde::Deserialize;
use wire::PartitionView;

use crate::client::Call;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, Table};

/// See the partitions
#[derive(Debug, Subcommand)]
pub enum Partition {
    /// List the partitions: what waits in each, what runs, and whether it is well
    #[command(after_help = "Example:\n  sortie partition list")]
    List,
}

/// The answer of `GET /v1/partitions`.
#[derive(Debug, Deserialize)]
pub struct Partitions {
    pub items: Vec<PartitionView>,
}

impl Partition {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        let Partition::List = self;
        let answer = session.client.send(Call::get("/v1/partitions")).await?;
        session.show(&answer, || Ok(render(&answer.value::<Partitions>()?.items, &session.screen)))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn render(partitions: &[PartitionView], screen: &Screen) -> String {
    let mut table = Table::new([
        Column::number("PARTITION"),
        Column::whole("STATE"),
        Column::number("ACCEPTED"),
        Column::number("WAITING"),
        Column::number("LIVE"),
        Column::number("PARKED"),
        Column::number("CALLS"),
        Column::text("WHY"),
    ]);
    for partition in partitions {
        let waiting = partition.inbox_tail.saturating_sub(partition.inbox_through);
        let tone = if partition.state == "running" { Tone::Good } else { Tone::Bad };
        let parked = if partition.parked_runs > 0 { Tone::Attention } else { Tone::Plain };
        table.row([
            Cell::new(partition.partition.to_string()),
            Cell::toned(tone, &partition.state),
            Cell::new(partition.inbox_tail.to_string()),
            Cell::new(waiting.to_string()),
            Cell::new(partition.live_runs.to_string()),
            Cell::toned(parked, partition.parked_runs.to_string()),
            Cell::new(partition.calls.to_string()),
            Cell::toned(Tone::Bad, partition.reason.as_deref().unwrap_or_default()),
        ]);
    }
    table.render(screen)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_stopped_partition_says_why() {
        let json = r#"{"items":[
            {"partition":0,"state":"running","inbox_tail":120,"inbox_through":100,"live_runs":12,
             "parked_runs":1,"calls":9},
            {"partition":1,"state":"stopped","reason":"frame 7 is damaged","inbox_tail":0,"inbox_through":0,
             "live_runs":0,"parked_runs":0,"calls":0}]}"#;
        let partitions: Partitions = serde_json::from_str(json).unwrap();
        expect![[r#"
            PARTITION  STATE    ACCEPTED  WAITING  LIVE  PARKED  CALLS  WHY
                    0  running       120       20    12       1      9
                    1  stopped         0        0     0       0      0  frame 7 is damaged
        "#]]
        .assert_eq(&render(&partitions.items, &Screen { colour: false, width: Some(80) }));
    }
}
