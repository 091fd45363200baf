//! The page of `sortie top`: the numbers first, then three panels, the one in front first.

#[cfg(test)]
mod tests;

use api_types::{FiringView, LatencyView, OverviewView, RunSummary, ServiceView, Time};

use super::TopData;
use crate::run::tone_of;
use crate::screen::{Screen, Tone};
use crate::service;
use crate::table::{Cell, Column, TextTable, clean};
use crate::when;

/// As many of the last stretches as are drawn beside a rate.
const SPARKS: usize = 30;

/// A list below the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Services,
    Attention,
    Firings,
}

/// All that is on the page.
pub struct TopPage<'a> {
    pub url: &'a str,
    pub picture: &'a TopData,
    pub front: Panel,
    pub note: &'a str,
}

impl Panel {
    const ALL: [Panel; 3] = [Panel::Services, Panel::Attention, Panel::Firings];

    pub fn next(self) -> Panel {
        Panel::ALL[(self.place() + 1) % Panel::ALL.len()]
    }

    pub fn previous(self) -> Panel {
        Panel::ALL[(self.place() + Panel::ALL.len() - 1) % Panel::ALL.len()]
    }

    fn place(self) -> usize {
        Panel::ALL.iter().position(|panel| *panel == self).expect("all panels are listed")
    }
}

impl TopPage<'_> {
    /// The page as lines of text.
    pub fn text(&self, screen: &Screen) -> String {
        let overview = &self.picture.overview;
        let at = when::second(overview.at);
        let mut out = format!("{} at {}, {at} UTC\n", screen.paint(Tone::Strong, "Sortie"), self.url);
        if !self.note.is_empty() {
            out += &format!("{}\n", screen.paint(Tone::Faint, &clean(self.note)));
        }
        out.push('\n');
        for (label, fact) in facts(overview, screen) {
            let label = screen.paint(Tone::Faint, &format!("{label:10}"));
            out += format!("  {label}  {fact}").trim_end();
            out.push('\n');
        }
        let mut panel = self.front;
        for _ in Panel::ALL {
            let (title, table) = self.panel(panel, screen);
            out += &format!("\n{}\n{table}", screen.paint(Tone::Strong, &title));
            panel = panel.next();
        }
        out
    }

    fn panel(&self, panel: Panel, screen: &Screen) -> (String, String) {
        let TopData { overview, attention } = self.picture;
        match panel {
            Panel::Services => ("Services".to_owned(), indented(&services(&overview.services, screen))),
            Panel::Attention => {
                ("Parked".to_owned(), parked(attention, overview.parked, overview.at, screen))
            }
            Panel::Firings => {
                ("Next firings".to_owned(), firings(&overview.firings.next, overview.at, screen))
            }
        }
    }
}

/// The numbers, each with its label.
fn facts(overview: &OverviewView, screen: &Screen) -> Vec<(&'static str, String)> {
    let OverviewView { rates, latency, firings, partitions, series, .. } = overview;
    let refused = match rates.refused {
        refused if refused > 0.0 => screen.paint(Tone::Bad, &format!(", {} refused", rate(refused))),
        _ => String::new(),
    };
    let mut facts = vec![
        ("in", format!("{:>9}  {}{refused}", rate(rates.accepted), sparks(&series.accepted))),
        ("out", format!("{:>9}  {}", rate(rates.ended), sparks(&series.ended))),
        ("attempts", format!("{:>9}", rate(rates.attempts))),
        ("latency", latencies(latency)),
        ("backlog", waiting(overview)),
        ("parked", parked_count(overview.parked, screen)),
    ];
    let late = if firings.late > 0 { Tone::Attention } else { Tone::Plain };
    let p99 = firings.lateness_p99_ms.map(|ms| format!(", p99 {} late", milliseconds(ms)));
    let late = screen.paint(late, &format!("{} late", firings.late));
    facts.push(("firings", format!("{late}{}", p99.unwrap_or_default())));
    let well = partitions.running == partitions.total;
    let mut text = format!("{} of {} running", partitions.running, partitions.total);
    for (count, what) in [(partitions.stopped, "stopped"), (partitions.unheld, "without owner")] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    facts.push(("partitions", screen.paint(if well { Tone::Plain } else { Tone::Bad }, &text)));
    if let Some(region) = &overview.region {
        let reached = if region.pair_reachable { "responds" } else { "does not respond" };
        let text = format!("{} is {}; {} {reached}", region.region, region.role, region.pair);
        let well = region.pair_reachable && region.role == "active";
        facts.push(("region", screen.paint(if well { Tone::Plain } else { Tone::Attention }, &clean(&text))));
    }
    facts
}

fn latencies(latency: &LatencyView) -> String {
    let pair = |p50: Option<f64>, p99: Option<f64>| match (p50, p99) {
        (Some(p50), Some(p99)) => format!("p50 {}, p99 {}", milliseconds(p50), milliseconds(p99)),
        _ => "-".to_owned(),
    };
    format!(
        "accept {}; run {}",
        pair(latency.accept_p50_ms, latency.accept_p99_ms),
        pair(latency.run_p50_ms, latency.run_p99_ms)
    )
}

fn waiting(overview: &OverviewView) -> String {
    let backlog = &overview.backlog;
    if backlog.unfinished == 0 {
        return "nothing".to_owned();
    }
    let drained = match backlog.drain_seconds {
        Some(seconds) => {
            let ms = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
            format!("; drained in {}", when::length(ms))
        }
        None if backlog.waiting > 0 => "; not draining".to_owned(),
        None => String::new(),
    };
    let counts = format!("{} waiting, {} running", backlog.waiting, backlog.live);
    format!("{} unfinished: {counts}{drained}", backlog.unfinished)
}

fn parked_count(count: u64, screen: &Screen) -> String {
    match count {
        0 => "none".to_owned(),
        count => screen.paint(Tone::Bad, &format!("{count}: see them with sortie parked")),
    }
}

fn services(services: &[ServiceView], screen: &Screen) -> String {
    service::render(services, &Screen { width: screen.width.map(|width| width.saturating_sub(2)), ..*screen })
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn parked(runs: &[RunSummary], count: u64, now: Time, screen: &Screen) -> String {
    if runs.is_empty() {
        return "  No parked runs.\n".to_owned();
    }
    let mut table = TextTable::new([
        Column::whole("ID"),
        Column::text("WORKFLOW"),
        Column::number("ACCEPTED").minor(),
        Column::text("WHY").major(),
    ])
    .indented(2);
    for run in runs {
        table.row([
            Cell::toned(tone_of(run.status), &run.id),
            Cell::new(&run.workflow),
            Cell::new(format!("{} ago", when::between(run.accepted_at, now))),
            Cell::new(run.reason.as_deref().unwrap_or_default()),
        ]);
    }
    let more = count.saturating_sub(runs.len() as u64);
    let more = if more > 0 { format!("  and {more} more\n") } else { String::new() };
    table.render(screen) + &more
}

fn firings(next: &[FiringView], now: Time, screen: &Screen) -> String {
    if next.is_empty() {
        return "  No scheduled firings.\n".to_owned();
    }
    let mut table = TextTable::new([
        Column::whole("JOB"),
        Column::whole("NEXT (UTC)").minor(),
        Column::number("IN").major(),
    ])
    .indented(2);
    for firing in next {
        table.row([
            Cell::toned(Tone::Strong, format!("{}/{}", firing.collection, firing.job)),
            Cell::new(when::second(firing.at)),
            Cell::new(when::between(now, firing.at)),
        ]);
    }
    table.render(screen)
}

fn rate(per_second: f64) -> String {
    if per_second > 0.0 && per_second < 10.0 {
        format!("{per_second:.1}/s")
    } else {
        format!("{per_second:.0}/s")
    }
}

fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms < 100.0 => format!("{ms:.1} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms => when::length(ms as i64),
    }
}

/// The last values as a line of little bars, the highest one full.
fn sparks(values: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = &values[values.len().saturating_sub(SPARKS)..];
    let highest = last.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| match highest > 0.0 {
        true => BARS[((value / highest) * 7.0).round().clamp(0.0, 7.0) as usize],
        false => BARS[0],
    };
    last.iter().map(bar).collect()
}
