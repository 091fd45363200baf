//! What needs attention, most urgent first; empty if nothing does.

use api_types::{OverviewView, PartitionView, ServiceView};
use maud::{Markup, html};

use crate::components;
use crate::pages::services;

pub(super) fn needed(overview: &OverviewView, partitions: &[PartitionView]) -> Markup {
    let needs = needs(overview, partitions);
    html! {
        @if !needs.is_empty() {
            section.attention aria-labelledby="attention-title" {
                h2 #attention-title { "Needs attention" }
                ul { @for need in needs { li { (need) } } }
            }
        }
    }
}

fn needs(overview: &OverviewView, partitions: &[PartitionView]) -> Vec<Markup> {
    let mut needs = Vec::new();
    for partition in partitions.iter().filter(|partition| partition.state == "stopped") {
        let why = partition.reason.as_deref().unwrap_or("unknown reason");
        needs.push(
            html! { (components::badge("stopped")) " Partition " (partition.partition) " is stopped: " (why) },
        );
    }
    let unheld = overview.partitions.unheld;
    if unheld > 0 {
        needs.push(html! { (components::badge("unowned")) " " (unheld) " " (plural(unheld.into(), "partition has", "partitions have")) " no owner. If this lasts longer than a few seconds, an instance is missing" });
    }
    if overview.parked > 0 {
        let word = plural(overview.parked, "run is", "runs are");
        needs.push(html! { (components::badge("parked")) " " a href="/ui/parked" { (components::count(overview.parked)) " " (word) " waiting for a decision" } });
    }
    needs.extend(overview.services.iter().filter_map(of_service));
    if overview.rates.refused > 0.0 {
        needs.push(html! { (components::badge("refused")) " The server is overloaded and rejects " (format!("{:.1}", overview.rates.refused)) " requests per second. Clients retry later; faster services or another instance add capacity" });
    }
    if overview.firings.late > 0 {
        let word = plural(overview.firings.late, "firing is", "firings are");
        needs.push(html! { (components::badge("late")) " " a href="/ui/jobs" { (components::count(overview.firings.late)) " " (word) " overdue" } });
    }
    if let Some(region) = overview.region.as_ref().filter(|region| !region.pair_reachable) {
        needs.push(html! { (components::badge("unknown")) " Region " (region.pair) " is unreachable: requests accepted here are not mirrored" });
    }
    needs
}

fn of_service(service: &ServiceView) -> Option<Markup> {
    let what = match service.breaker.as_str() {
        "open" => "is failing: its breaker is open and probes it with one call at a time",
        "half_open" => "was failing: a probe is in flight",
        "held_open" => "is paused manually: its calls wait",
        "held_closed" => "has its breaker forced closed: calls go out even if they fail",
        _ => return None,
    };
    Some(html! {
        (services::breaker_badge(&service.breaker)) " "
        a href=(services::address(service)) { (services::name(service)) } " " (what)
        @if service.waiting > 0 { "; " (components::count(service.waiting as u64)) " calls waiting" }
        @if let Some(note) = service.by_hand.as_ref().and_then(|current| current.note.as_ref()) { " (" (note) ")" }
    })
}

fn plural(count: u64, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}
