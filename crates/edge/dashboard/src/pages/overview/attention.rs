//! What needs a person, the most pressing first; nothing when nothing does.

use api_types::{OverviewView, PartitionView, ServiceView};
use maud::{Markup, html};

use crate::pages::services;
use crate::pieces;

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
        let why = partition.reason.as_deref().unwrap_or("no reason is known");
        needs.push(
            html! { (pieces::badge("stopped")) " Partition " (partition.partition) " is stopped: " (why) },
        );
    }
    let unheld = overview.partitions.unheld;
    if unheld > 0 {
        needs.push(html! { (pieces::badge("unheld")) " " (unheld) " " (plural(unheld.into(), "partition is", "partitions are")) " held by no instance; they are taken within seconds, or an instance is missing" });
    }
    if overview.parked > 0 {
        let word = plural(overview.parked, "run waits", "runs wait");
        needs.push(html! { (pieces::badge("parked")) " " a href="/ui/parked" { (pieces::count(overview.parked)) " " (word) " for a decision" } });
    }
    needs.extend(overview.services.iter().filter_map(of_service));
    if overview.rates.refused > 0.0 {
        needs.push(html! { (pieces::badge("refused")) " Requests are refused because there is too much: " (format!("{:.1}", overview.rates.refused)) " per second. Clients try again later; more room comes from faster services or another instance" });
    }
    if overview.firings.late > 0 {
        let word = plural(overview.firings.late, "firing is", "firings are");
        needs.push(html! { (pieces::badge("late")) " " a href="/ui/jobs" { (pieces::count(overview.firings.late)) " " (word) " due and not fired yet" } });
    }
    if let Some(region) = overview.region.as_ref().filter(|region| !region.pair_reachable) {
        needs.push(html! { (pieces::badge("unknown")) " Region " (region.pair) " cannot be reached: what is accepted here is not mirrored" });
    }
    needs
}

fn of_service(service: &ServiceView) -> Option<Markup> {
    let what = match service.breaker.as_str() {
        "open" => "fails and is left alone; one call at a time asks whether it is back",
        "half_open" => "has failed; one call is out that decides",
        "held_open" => "is held open by hand: its calls wait",
        "held_closed" => "is held closed by hand: its calls go out whatever their results",
        _ => return None,
    };
    Some(html! {
        (pieces::badge(&service.breaker)) " "
        a href=(services::address(service)) { (services::name(service)) } " " (what)
        @if service.waiting > 0 { "; " (pieces::count(service.waiting as u64)) " wait" }
        @if let Some(note) = service.by_hand.as_ref().and_then(|said| said.note.as_ref()) { " (" (note) ")" }
    })
}

fn plural(count: u64, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}
