//! The overview: first what needs attention, then figures, charts, and the state of the cluster.

mod attention;
mod partitions;
#[cfg(test)]
mod tests;

use api_types::{
    ClusterView, FiringsView, OverviewView, PartitionView, RegionBrief, SeriesView, WorkflowList,
};
use maud::{Markup, html};

use crate::components;
use crate::components::chart::{self, ChartLine};
use crate::context::{PageContext, encoded};
use crate::error::PageError;
use crate::page::{NavSection, Page};
use crate::pages::services;

/// The minimum number of intervals in a chart; it grows to everything the server keeps, fifteen minutes.
const STRETCHES_MIN: usize = 12;

#[derive(serde::Deserialize)]
struct Partitions {
    items: Vec<PartitionView>,
}

pub(super) async fn show(ctx: &PageContext) -> Result<Page, PageError> {
    let overview: OverviewView = ctx.get("/v1/overview").await?;
    let cluster: ClusterView = ctx.get("/v1/cluster").await?;
    let page = Page::new("Overview", NavSection::Overview);
    if let Some(region) = overview.region.as_ref().filter(|region| region.role != "active") {
        return Ok(page
            .live("standing-by", standing_by(region))
            .live("places", places(&overview, &[], &cluster)));
    }
    let Partitions { items } = ctx.get("/v1/partitions").await?;
    let WorkflowList { items: workflows } = ctx.get("/v1/workflows").await?;
    let is_new = workflows.is_empty() && overview.firings.next.is_empty() && overview.backlog.unfinished == 0;
    Ok(page
        .live("attention", attention::needed(&overview, &items))
        .live(
            "greeting",
            if is_new {
                greeting()
            } else {
                html! {}
            },
        )
        .live("figures", figures(&overview))
        .live("charts", charts(&overview.series))
        .live("soon", soon(&overview))
        .live("places", places(&overview, &items, &cluster)))
}

/// The first steps, on an empty server.
fn greeting() -> Markup {
    html! {
        section.card aria-labelledby="greeting-title" {
            h2 #greeting-title { "Welcome to Sortie" }
            p { "The server is running and has no workflows or jobs yet. To get started:" }
            ol {
                li { "Write a workflow, or take an example, and deploy it:"
                    (components::copyable("Apply a workflow", "sortie workflow apply workflow.yaml")) }
                li { "Start a run and watch it under " a href="/ui/runs" { "Runs" } ":"
                    (components::copyable("Start a run", "sortie run start NAME --body '{}'")) }
                li { "Or create a scheduled job under " a href="/ui/jobs" { "Jobs" } "." }
            }
            p { a.button.primary href="/ui/workflows" { "Workflows" } " " a.button href="/docs" { "Documentation" } }
        }
    }
}

/// The key figures.
fn figures(overview: &OverviewView) -> Markup {
    let OverviewView { rates, latency, backlog, firings, .. } = overview;
    let times = |p50: Option<f64>, p99: Option<f64>| {
        html! { div.figure { (quantile(p50)) } small { "p99 " (quantile(p99)) } }
    };
    html! {
        div.cards.figures {
            (figure("Runs started", html! {
                div.figure { (rate(rates.accepted)) }
                small { @if rates.refused > 0.0 { (rate(rates.refused)) " rejected" } @else { "none rejected" } }
            }))
            (figure("Runs ended", html! {
                div.figure { (rate(rates.ended)) }
                small { (rate(rates.attempts)) " attempts" }
            }))
            (figure("Time to accept (p50)", times(latency.accept_p50_ms, latency.accept_p99_ms)))
            (figure("Run duration (p50)", times(latency.run_p50_ms, latency.run_p99_ms)))
            (figure("Backlog", html! {
                div.figure { (components::count(backlog.unfinished)) }
                small {
                    @match backlog.drain_seconds {
                        Some(seconds) => { "empty in " (components::span(seconds as f64 * 1000.0)) }
                        None => { (components::count(backlog.waiting)) " waiting, " (components::count(backlog.live)) " live" }
                    }
                }
            }))
            (figure("Parked", html! {
                div.figure { a href="/ui/parked" { (components::count(overview.parked)) } }
                small { "need a decision" }
            }))
            (figure("Late firings", html! {
                div.figure { (components::count(firings.late)) }
                small {
                    @match firings.lateness_p99_ms {
                        Some(ms) => { "p99 " (components::span(ms)) " late" }
                        None => "none fired recently"
                    }
                }
            }))
        }
    }
}

fn figure(name: &str, content: Markup) -> Markup {
    html! { section.card { h2.name { (name) } (content) } }
}

fn charts(series: &SeriesView) -> Markup {
    let line = |name, class, values: Vec<Option<f64>>| ChartLine { name, class, values: padded(values) };
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let shown = series.accepted.len().max(STRETCHES_MIN);
    let unfinished = series.unfinished.iter().map(|count| Some(*count as f64)).collect();
    html! {
        h2 { "Last " (shown * series.every_seconds as usize / 60) " minutes" }
        div.cards.charts {
            div.card {
                (chart::lines("Runs per second", &rate, &[
                    line("started", "first", some(&series.accepted)),
                    line("ended", "second", some(&series.ended)),
                ]))
            }
            div.card { (chart::lines("Run duration (p99)", &components::span, &[line("p99", "first", series.run_p99_ms.clone())])) }
            div.card {
                (chart::lines("Backlog", &|count| components::count(count as u64), &[line("unfinished", "first", unfinished)]))
            }
        }
    }
}

/// A server that has just started has no values for the beginning of the chart.
fn padded(values: Vec<Option<f64>>) -> Vec<Option<f64>> {
    let missing = STRETCHES_MIN.saturating_sub(values.len());
    std::iter::repeat_n(None, missing).chain(values).collect()
}

/// The next firings, and the state of the services.
fn soon(overview: &OverviewView) -> Markup {
    html! {
        div.columns {
            section { h2 { "Next firings" } (firings(&overview.firings)) }
            section {
                h2 { a href="/ui/services" { "Services" } }
                (services::brief(&overview.services))
            }
        }
    }
}

fn firings(firings: &FiringsView) -> Markup {
    if firings.next.is_empty() {
        return components::empty(
            "No scheduled firings",
            html! { "Create a scheduled job under " a href="/ui/jobs" { "Jobs" } "." },
        );
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Next firings" {
            table {
                thead { tr { th { "Job" } th { "Collection" } th { "When" } } }
                tbody {
                    @for firing in &firings.next {
                        tr {
                            td { a href={ "/ui/jobs/" (encoded(&firing.collection)) "/" (encoded(&firing.job)) } { (firing.job) } }
                            td { (firing.collection) }
                            td { (components::time(firing.at)) }
                        }
                    }
                }
            }
        }
    }
}

/// Partitions, instances and region.
fn places(overview: &OverviewView, partitions: &[PartitionView], cluster: &ClusterView) -> Markup {
    html! {
        div.columns {
            @if !partitions.is_empty() {
                section { h2 { "Partitions" } (partitions::strip(partitions)) }
            }
            @if !cluster.instances.is_empty() {
                section { h2 { "Instances" } (instances(cluster)) }
            }
            @if let Some(region) = &overview.region {
                section { h2 { "Region" } (region_facts(region)) }
            }
        }
    }
}

fn instances(cluster: &ClusterView) -> Markup {
    let held = |id: &str| cluster.partitions.iter().filter(|one| one.holder.as_deref() == Some(id)).count();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Instances" {
            table {
                thead { tr { th { "Instance" } th { "Address" } th { "Roles" } th.number { "Partitions" } } }
                tbody {
                    @for instance in &cluster.instances {
                        tr {
                            td { (instance.id) @if cluster.instance.as_ref() == Some(&instance.id) { " " small { "(this one)" } } }
                            td { code { (instance.address) } }
                            td { (instance.roles.join(", ")) }
                            td.number { (held(&instance.id)) }
                        }
                    }
                }
            }
        }
    }
}

fn region_facts(region: &RegionBrief) -> Markup {
    let reachable = if region.pair_reachable { "reachable" } else { "not reachable" };
    components::facts(&[
        ("Region", html! { (region.region) " " (components::badge(&region.role)) }),
        ("Pair", html! { (region.pair) ", " (reachable) }),
    ])
}

fn standing_by(region: &RegionBrief) -> Markup {
    html! {
        section.card {
            h2 { "Region " (region.region) " is " (region.role) }
            p { "This region is on standby. Its pair " strong { (region.pair) } " is active: see the overview there. "
                "To make this region active: " code { "sortie region promote" } "." }
        }
    }
}

fn quantile(ms: Option<f64>) -> String {
    ms.map_or_else(|| "–".to_owned(), components::span)
}

fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 99.95 => format!("{rate:.1}/s"),
        rate => format!("{}/s", components::count(rate.round() as u64)),
    }
}
