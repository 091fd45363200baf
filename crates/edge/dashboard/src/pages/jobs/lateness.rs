//! A bar chart of how late each occurrence of a job fired.

use maud::{Markup, html};

use super::HistoryAttempt;
use crate::components;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 90.0;

/// An occurrence, and how late it fired.
#[derive(Debug, Clone, PartialEq)]
struct FiringDelay {
    number: u64,
    late_ms: f64,
    failed: bool,
}

/// Scheduled firings among attempts, oldest first: the first attempt of each occurrence, without manual ones.
fn firings(attempts: &[HistoryAttempt]) -> Vec<FiringDelay> {
    let first = attempts.iter().filter(|attempt| {
        attempt.retry_count == 0 && !attempt.by_hand && attempt.action_name == "MainAction"
    });
    let mut firings: Vec<FiringDelay> = first
        .map(|attempt| FiringDelay {
            number: attempt.repeat_count,
            late_ms: attempt.late_ms().max(0.0),
            failed: attempt.status == "failed",
        })
        .collect();
    firings.reverse();
    firings
}

/// The bars, and a summary as text.
pub(super) fn drawn(attempts: &[HistoryAttempt]) -> Markup {
    let firings = firings(attempts);
    if firings.is_empty() {
        return html! { p.quiet { "It has not fired on schedule yet." } };
    }
    let mut sorted: Vec<f64> = firings.iter().map(|firing| firing.late_ms).collect();
    sorted.sort_by(f64::total_cmp);
    let (half, worst) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    let words = format!(
        "Last {} firings: median lateness {}, maximum {}.",
        firings.len(),
        components::span(half),
        components::span(worst)
    );
    let step = WIDTH / firings.len().max(20) as f64;
    // The scale covers at least a second, so that small delays look small.
    let top = worst.max(1000.0);
    html! {
        figure.chart.bars {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(words) {
                @for (index, firing) in firings.iter().enumerate() {
                    @let tall = (firing.late_ms / top * HEIGHT).max(2.0);
                    rect.failed[firing.failed] x=(rounded(index as f64 * step)) y=(rounded(HEIGHT - tall))
                        width=(rounded(step * 0.8)) height=(rounded(tall)) {
                        title { "#" (firing.number) ": " (components::span(firing.late_ms)) " late" @if firing.failed { ", failed" } }
                    }
                }
            }
            figcaption { small { (words) } }
        }
    }
}

fn rounded(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u64, retry: u64, by_hand: bool, late_ms: u64) -> HistoryAttempt {
        let at = |ms: u64| format!("2026-03-01T12:00:{:02}.{:03}Z", ms / 1000, ms % 1000);
        serde_json::from_value(serde_json::json!({
            "startTime": at(late_ms), "endTime": at(late_ms + 5), "expectedExecutionTime": at(0), "actionName": "MainAction",
            "status": if number == 2 { "failed" } else { "completed" }, "message": "", "retryCount": retry,
            "repeatCount": number, "run": "r", "byHand": by_hand
        }))
        .unwrap()
    }

    #[test]
    fn only_first_attempts_of_the_clock_count_and_the_oldest_comes_first() {
        let attempts = [
            attempt(4, 0, true, 9000),
            attempt(3, 0, false, 20),
            attempt(2, 1, false, 30_000),
            attempt(2, 0, false, 2500),
        ];
        let found: Vec<(u64, f64, bool)> = firings(&attempts)
            .into_iter()
            .map(|firing| (firing.number, firing.late_ms, firing.failed))
            .collect();
        assert_eq!(found, [(2, 2500.0, true), (3, 20.0, false)]);
        let shown = drawn(&attempts).into_string();
        assert!(shown.contains("Last 2 firings: median lateness 2.5 s, maximum 2.5 s."), "{shown}");
        assert_eq!(shown.matches("<rect").count(), 2);
    }

    #[test]
    fn a_job_that_never_fired_says_so() {
        assert!(drawn(&[]).into_string().contains("not fired"));
    }
}
