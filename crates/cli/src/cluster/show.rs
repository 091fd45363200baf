//! `sortie cluster show`: the live instances, and the partitions each of them owns.

use std::process::ExitCode;

use api_types::ClusterView;
use clap::Args;

use crate::client::Call;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable, clean};
use crate::watch::WatchArgs;

/// Show the instances of a cluster and the partitions each of them owns
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie cluster show --watch")]
pub struct Show {
    #[command(flatten)]
    watch: WatchArgs,
}

impl Show {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        self.watch.each(session, show).await?;
        Ok(ExitCode::SUCCESS)
    }
}

async fn show(session: &mut Session) -> anyhow::Result<()> {
    let answer = session.client.send(Call::get("/v1/cluster")).await?;
    session.show(&answer, || Ok(render(&answer.value()?, &session.screen)))
}

fn render(cluster: &ClusterView, screen: &Screen) -> String {
    let Some(own) = &cluster.instance else {
        return "This is a single server: it owns all partitions.\n".to_owned();
    };
    let mut table = TextTable::new([
        Column::whole("INSTANCE"),
        Column::text("ADDRESS"),
        Column::text("VERSION").minor(),
        Column::text("ROLES").minor(),
        Column::number("HOLDS").major(),
        Column::text("PARTITIONS").minor(),
    ]);
    for instance in &cluster.instances {
        let held = cluster.partitions.iter().filter(|held| held.holder.as_ref() == Some(&instance.id));
        let held: Vec<&str> = held.map(|held| held.partition.as_str()).collect();
        table.row([
            Cell::toned(if instance.id == *own { Tone::Strong } else { Tone::Plain }, &instance.id),
            Cell::new(&instance.address),
            Cell::new(instance.version.as_deref().unwrap_or("-")),
            Cell::new(instance.roles.join(" ")),
            Cell::new(held.len().to_string()),
            Cell::new(held.join(" ")),
        ]);
    }
    let mut out = table.render(screen);
    let unheld: Vec<&str> = cluster
        .partitions
        .iter()
        .filter(|held| held.holder.is_none())
        .map(|held| held.partition.as_str())
        .collect();
    if !unheld.is_empty() && cluster.active {
        let text = format!("Without owner: {}", clean(&unheld.join(" ")));
        out += &format!("{}\n", screen.paint(Tone::Bad, &text));
    }
    if !cluster.active {
        out += "This region is not active: its instances own no partitions.\n";
    }
    out + &format!("{} answers.\n", clean(own))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn instances_say_what_they_hold() {
        let json = r#"{"instance":"east-1","known":true,"active":true,"instances":[
            {"id":"east-1","address":"127.0.0.1:7070","version":"0.2.0","roles":["ingest","engine","rest"]},
            {"id":"east-2","address":"127.0.0.1:7071","roles":["engine"]}],
            "partitions":[{"partition":"control","holder":"east-1","epoch":1},{"partition":"0","holder":"east-2","epoch":2},
            {"partition":"1","epoch":2}]}"#;
        let cluster: ClusterView = serde_json::from_str(json).unwrap();
        expect![[r#"
            INSTANCE  ADDRESS         VERSION  ROLES               HOLDS  PARTITIONS
            east-1    127.0.0.1:7070  0.2.0    ingest engine rest      1  control
            east-2    127.0.0.1:7071  -        engine                  1  0
            Without owner: 1
            east-1 answers.
        "#]]
        .assert_eq(&render(&cluster, &Screen { colour: false, width: Some(80) }));
        let alone = ClusterView { instance: None, ..cluster };
        assert!(render(&alone, &Screen { colour: false, width: None }).contains("single server"));
    }
}
