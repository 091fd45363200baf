//! The history of a job, and its next firings.

use maud::{Markup, html};

use super::{Firings, HistoryAttempt};
use crate::components;
use crate::context::encoded;

/// The attempts, newest first.
pub(super) fn table(attempts: &[HistoryAttempt]) -> Markup {
    if attempts.is_empty() {
        return components::empty("No attempts yet", html! { "Attempts appear here when they end." });
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="History" {
            table {
                thead { tr {
                    th.number { "Occurrence" } th { "Due" } th.number { "Late" } th { "Attempt" } th { "Status" } th.number { "Duration" } th { "Message" } th { "Run" }
                } }
                tbody {
                    @for attempt in attempts {
                        tr {
                            td.number { (attempt.repeat_count) }
                            td { (components::time(attempt.expected_execution_time)) }
                            td.number { (components::span(attempt.late_ms().max(0.0))) }
                            td { (what(attempt)) }
                            td { (components::badge(&attempt.status)) }
                            td.number { (components::span(attempt.took_ms().max(0.0))) }
                            td.why title=(attempt.message) { (short(attempt)) }
                            td { a.id href={ "/ui/runs/" (encoded(&attempt.run)) } { "run" } }
                        }
                    }
                }
            }
        }
    }
}

fn what(attempt: &HistoryAttempt) -> String {
    let action = if attempt.action_name == "ErrorAction" { "error action" } else { "action" };
    let retry =
        if attempt.retry_count > 0 { format!(", retry {}", attempt.retry_count) } else { String::new() };
    format!("{action}{retry}{}", if attempt.by_hand { ", manual" } else { "" })
}

/// The start of a message; more of it for a failure, because it gives the reason.
fn short(attempt: &HistoryAttempt) -> String {
    let chars_max = if attempt.status == "failed" { 160 } else { 60 };
    if attempt.message.chars().count() <= chars_max {
        return attempt.message.clone();
    }
    attempt.message.chars().take(chars_max).chain(['…']).collect()
}

/// The next firings, in UTC and in the time zone of the job.
pub(super) fn firings(firings: &Firings, zone: Option<&str>) -> Markup {
    if firings.occurrences.is_empty() {
        return html! { p.quiet { "No firings scheduled." } };
    }
    let changes = !firings.clock_changes.is_empty();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Next firings" {
            table {
                thead { tr { th { "In" } th { "UTC" } @if let Some(zone) = zone { th { (zone) } } @if changes { th { "Clock change" } } } }
                tbody {
                    @for at in &firings.occurrences {
                        @let change = firings.clock_changes.iter().find(|change| change.occurrence == *at);
                        tr {
                            td { (components::time(*at)) }
                            td { (utc(*at)) }
                            @if let Some(zone) = zone { td { (local(*at, zone)) } }
                            @if changes { td { @if let Some(change) = change { (change.change) } } }
                        }
                    }
                }
            }
        }
    }
}

fn utc(at: api_types::Time) -> String {
    at.to_string().chars().take(19).collect::<String>().replace('T', " ")
}

/// The same moment in a time zone.
fn local(at: api_types::Time, zone: &str) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0.0).and_then(|moment| moment.in_tz(zone));
    moment.map_or_else(|_| "–".to_owned(), |moment| moment.strftime("%Y-%m-%d %H:%M:%S %Z").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firings_are_shown_in_both_time_zones() {
        let next: Firings = serde_json::from_str(
            r#"{"occurrences":["2027-03-27T01:30:00Z","2027-03-28T01:00:00Z"],
                "clockChanges":[{"occurrence":"2027-03-28T01:00:00Z","change":"moved from <b>02:30"}]}"#,
        )
        .unwrap();
        let shown = firings(&next, Some("Europe/Berlin")).into_string();
        assert!(
            shown.contains("2027-03-27 02:30:00 CET") && shown.contains("2027-03-28 03:00:00 CEST"),
            "{shown}"
        );
        assert!(shown.contains("moved from &lt;b&gt;02:30"), "{shown}");
    }
}
