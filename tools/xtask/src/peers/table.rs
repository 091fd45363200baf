//! The table: one row for each system, and beneath it how each was set.

use serde_json::{Value, json};

use super::figures::Figures;
use super::machine::Machine;
use super::measure::{Closed, Timed};
use super::target::Punctuality;
use super::{Asked, Peer};

/// A cell, or why it is empty.
type Cell<T> = Result<T, String>;

/// The figures of one system.
pub struct Row {
    pub title: &'static str,
    pub version: String,
    pub durability: &'static str,
    pub client: &'static str,
    pub workflow: Cell<Closed>,
    pub ingest: Cell<Closed>,
    /// Ingest with more requests in flight than connections, where that differs.
    pub pipelined: Option<Closed>,
    pub timed: Cell<Timed>,
}

impl Row {
    /// A row with nothing measured yet.
    pub fn of(peer: &Peer, version: String) -> Row {
        let reason = |asked: &Asked| match asked {
            Asked::Yes(_) => "not measured".to_owned(),
            Asked::No(reason) => (*reason).to_owned(),
        };
        Row {
            title: peer.title,
            version,
            durability: peer.durability,
            client: peer.client,
            workflow: Err(reason(&peer.workflow)),
            ingest: Err(reason(&peer.ingest)),
            pipelined: None,
            timed: Err(reason(&peer.timed)),
        }
    }
}

/// The row of the loops that make the same calls and write nothing down.
pub fn bare() -> Row {
    Row {
        title: "nothing durable",
        version: String::new(),
        durability: "none",
        client: "bare hyper loops of `sortie bench`, as the limit of this machine",
        workflow: Err("not measured".to_owned()),
        ingest: Err("not measured".to_owned()),
        pipelined: None,
        timed: Err("the bare timers are in the table of `sortie bench schedule`".to_owned()),
    }
}

/// The whole of it in Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| system | workflows/s | p50 ms | p99 ms | ingest acks/s | p50 ms | p99 ms | late p99 ms at 100/s | timed calls/s held | late p50 ms | late p99 ms |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let closed = |cell: &Cell<Closed>| match cell {
            Ok(closed) => numbers(closed.median()),
            Err(_) => ["-", "-", "-"].map(str::to_owned),
        };
        let timed = match &row.timed {
            Ok(timed) => {
                let high = timed.median();
                let [_, p50, p99] = numbers(high);
                [milliseconds(timed.low.figures.p99_ms), count(f64::from(timed.high[0].rate)), p50, p99]
            }
            Err(_) => ["-", "-", "-", "-"].map(str::to_owned),
        };
        let cells = [closed(&row.workflow).to_vec(), closed(&row.ingest).to_vec(), timed.to_vec()].concat();
        text.push_str(&format!("| {} | {} |\n", row.title, cells.join(" | ")));
    }
    text.push('\n');
    for row in rows {
        text.push_str(&beneath(row));
    }
    text
}

/// Version, settings and reasons of one row.
fn beneath(row: &Row) -> String {
    let name = [row.title, &row.version].join(" ");
    let mut text = format!("- {}: {}. {}.", name.trim_end(), row.durability, row.client);
    if let Ok(workflow) = &row.workflow
        && workflow.at_once > 0
    {
        text.push_str(&format!(" Workflows: {} at once.", workflow.at_once));
    }
    if let Some(pipelined) = &row.pipelined {
        let Figures { throughput, p50_ms, p99_ms } = pipelined.median();
        let [throughput, p50, p99] = [count(throughput), milliseconds(p50_ms), milliseconds(p99_ms)];
        let at_once = pipelined.at_once;
        text.push_str(&format!(
            " Ingest with {at_once} in flight: {throughput}/s, p50 {p50} ms, p99 {p99} ms."
        ));
    }
    let reasons = [
        ("workflows", row.workflow.as_ref().err()),
        ("ingest", row.ingest.as_ref().err()),
        ("timed calls", row.timed.as_ref().err()),
    ];
    for (work, reason) in reasons {
        if let Some(reason) = reason {
            text.push_str(&format!(" No {work}: {reason}."));
        }
    }
    text.push('\n');
    text
}

fn numbers(figures: Figures) -> [String; 3] {
    [count(figures.throughput), milliseconds(figures.p50_ms), milliseconds(figures.p99_ms)]
}

/// `12,345`
fn count(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

fn milliseconds(number: f64) -> String {
    if number < 100.0 { format!("{number:.1}") } else { count(number) }
}

/// All rounds, for machines.
pub fn to_json(rows: &[Row], machine: &Machine) -> Value {
    let closed = |cell: &Cell<Closed>| match cell {
        Ok(closed) => closed_json(closed),
        Err(reason) => json!({ "missing": reason }),
    };
    let rows = rows.iter().map(|row| {
        let timed = match &row.timed {
            Ok(timed) => {
                let high: Vec<Value> = timed.high.iter().map(punctuality_json).collect();
                json!({ "low": punctuality_json(&timed.low), "high": high })
            }
            Err(reason) => json!({ "missing": reason }),
        };
        json!({
            "system": row.title,
            "version": row.version,
            "durability": row.durability,
            "client": row.client,
            "workflow": closed(&row.workflow),
            "ingest": closed(&row.ingest),
            "ingest_pipelined": row.pipelined.as_ref().map(closed_json),
            "timed": timed,
        })
    });
    json!({ "rows": rows.collect::<Vec<_>>(), "machine": machine.to_json() })
}

fn closed_json(closed: &Closed) -> Value {
    let rounds: Vec<Value> = closed.rounds.iter().map(|figures| figures.to_json()).collect();
    json!({ "at_once": closed.at_once, "median": closed.median().to_json(), "rounds": rounds })
}

fn punctuality_json(found: &Punctuality) -> Value {
    let Punctuality { rate, figures, lost, repeated, early } = found;
    json!({ "rate": rate, "figures": figures.to_json(), "lost": lost, "repeated": repeated, "early": early })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn figures(throughput: f64) -> Figures {
        Figures { throughput, p50_ms: 1.25, p99_ms: 1234.5 }
    }

    fn row() -> Row {
        let round = |throughput| Punctuality {
            rate: 500,
            figures: figures(throughput),
            lost: 0,
            repeated: 0,
            early: 0,
        };
        Row {
            title: "One",
            version: "1.2".to_owned(),
            durability: "synced",
            client: "by hand",
            workflow: Ok(Closed {
                at_once: 32,
                rounds: vec![figures(10.0), figures(1234.4), figures(99_999.0)],
            }),
            ingest: Err("takes nothing in".to_owned()),
            pipelined: Some(Closed { at_once: 9, rounds: vec![figures(7.0)] }),
            timed: Ok(Timed { low: round(100.0), high: vec![round(500.0)] }),
        }
    }

    #[test]
    fn a_row_shows_medians_and_says_why_a_cell_is_empty() {
        expect![[r#"
            | system | workflows/s | p50 ms | p99 ms | ingest acks/s | p50 ms | p99 ms | late p99 ms at 100/s | timed calls/s held | late p50 ms | late p99 ms |
            |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
            | One | 1,234 | 1.2 | 1,234 | - | - | - | 1,234 | 500 | 1.2 | 1,234 |

            - One 1.2: synced. by hand. Workflows: 32 at once. Ingest with 9 in flight: 7/s, p50 1.2 ms, p99 1,234 ms. No ingest: takes nothing in.
        "#]]
        .assert_eq(&markdown(&[row()]));
    }

    #[test]
    fn machines_get_every_round() {
        let value = to_json(&[row()], &Machine::default());
        let row = &value["rows"][0];
        assert_eq!(row["workflow"]["rounds"].as_array().map(Vec::len), Some(3));
        assert_eq!(row["workflow"]["median"]["throughput"], 1234.4);
        assert_eq!(row["ingest"]["missing"], "takes nothing in");
    }
}
