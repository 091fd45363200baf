//! `sortie partition`: the state of each partition.

use std::process::ExitCode;

use api_types::{ClusterView, PartitionView};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::page::Amount;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable, clean};
use crate::watch::WatchArgs;

const PARTITIONS: &str = "/v1/partitions";

/// The response of `GET /v1/partitions`.
#[derive(Debug, Deserialize)]
pub struct Partitions {
    pub items: Vec<PartitionView>,
}

/// Show the partitions
#[derive(Debug, Subcommand)]
pub enum PartitionCommand {
    List(List),
    Show(Show),
}

/// List the partitions: backlog, live runs, and state
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie partition list --watch")]
pub struct List {
    #[command(flatten)]
    amount: Amount<1000>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// Show a partition: backlog, live runs, and owner
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie partition show 7")]
pub struct Show {
    /// The number of the partition
    partition: u16,
    #[command(flatten)]
    watch: WatchArgs,
}

/// A partition with its owner.
#[derive(Debug, Serialize)]
struct PartitionDetail {
    #[serde(flatten)]
    partition: PartitionView,
    #[serde(flatten)]
    holding: PartitionOwner,
}

#[derive(Debug, Default, Serialize)]
struct PartitionOwner {
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
}

impl PartitionCommand {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            PartitionCommand::List(list) => {
                list.watch.each(session, async |session| list.show(session).await).await?;
            }
            PartitionCommand::Show(show) => {
                show.watch.each(session, async |session| show.show(session).await).await?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let found = self.amount.get(session, |_, _| PARTITIONS.to_owned()).await?;
        let partitions: Vec<PartitionView> = found.read()?;
        session.show_value(&found, || render(&partitions, &session.screen) + found.hint())
    }
}

impl Show {
    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let all: Partitions = session.client.get(PARTITIONS).await?;
        let count = all.items.len();
        let found = all.items.into_iter().find(|partition| partition.partition == self.partition);
        let Some(partition) = found else {
            let last = count.saturating_sub(1);
            return Err(Failure::No(format!(
                "no partition {}; valid numbers are 0 to {last}",
                self.partition
            ))
            .into());
        };
        let cluster: ClusterView = session.client.get("/v1/cluster").await?;
        let number = self.partition.to_string();
        let held = cluster.partitions.into_iter().find(|held| held.partition == number);
        let holding = held.map(|held| PartitionOwner { holder: held.holder, epoch: Some(held.epoch) });
        let whole = PartitionDetail { partition, holding: holding.unwrap_or_default() };
        session.show_value(&whole, || render_one(&whole, &session.screen))
    }
}

fn render_one(whole: &PartitionDetail, screen: &Screen) -> String {
    let PartitionDetail { partition, holding } = whole;
    let waiting = partition.inbox_tail.saturating_sub(partition.inbox_through);
    let mut facts = Vec::new();
    if let Some(reason) = &partition.reason {
        facts.push(("why", reason.clone()));
    }
    if let Some(holder) = &holding.holder {
        facts.push(("owner", holder.clone()));
    }
    if let Some(epoch) = holding.epoch {
        facts.push(("epoch", epoch.to_string()));
    }
    facts.push(("requests", format!("{} accepted, {waiting} waiting", partition.inbox_tail)));
    facts.push(("runs", format!("{} live, {} parked", partition.live_runs, partition.parked_runs)));
    facts.push(("calls", format!("{} in flight", partition.calls)));
    let number = screen.paint(Tone::Strong, &partition.partition.to_string());
    let state = screen.paint(state_tone(&partition.state), &clean(&partition.state));
    let mut out = format!("Partition {number} is {state}\n");
    for (label, fact) in facts {
        out += &format!("  {label:8}  {}\n", clean(&fact));
    }
    out
}

fn state_tone(state: &str) -> Tone {
    if state == "running" { Tone::Good } else { Tone::Bad }
}

fn render(partitions: &[PartitionView], screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::number("PARTITION"),
        Column::whole("STATE").major(),
        Column::number("ACCEPTED").minor(),
        Column::number("WAITING"),
        Column::number("LIVE"),
        Column::number("PARKED"),
        Column::number("CALLS").minor(),
        Column::text("WHY").major(),
    ]);
    for partition in partitions {
        let waiting = partition.inbox_tail.saturating_sub(partition.inbox_through);
        let parked = if partition.parked_runs > 0 { Tone::Attention } else { Tone::Plain };
        table.row([
            Cell::new(partition.partition.to_string()),
            Cell::toned(state_tone(&partition.state), &partition.state),
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
    fn one_partition_says_who_holds_it() {
        let json = r#"{"partition":3,"state":"running","inbox_tail":120,"inbox_through":100,"live_runs":12,
             "parked_runs":1,"calls":9}"#;
        let holding = PartitionOwner { holder: Some("east-2".to_owned()), epoch: Some(7) };
        let whole = PartitionDetail { partition: serde_json::from_str(json).unwrap(), holding };
        expect![[r#"
            Partition 3 is running
              owner     east-2
              epoch     7
              requests  120 accepted, 20 waiting
              runs      12 live, 1 parked
              calls     9 in flight
        "#]]
        .assert_eq(&render_one(&whole, &Screen { colour: false, width: Some(80) }));
        let json = serde_json::to_string(&whole).unwrap();
        assert!(json.contains(r#""partition":3"#) && json.contains(r#""holder":"east-2""#), "{json}");
    }

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
