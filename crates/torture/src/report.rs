//! What a person reads: a line now and then, and one at the end that says whether the promises held.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::audit::Findings;
use crate::posts::Posts;

/// Ids that are printed per promise; the rest is counted.
const IDS_PRINTED_MAX: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Kept,
    Broken,
}

/// What the rounds came to so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub kills: u32,
    /// Those of them that came before the server was ready.
    pub kills_in_recovery: u32,
}

/// One line of progress.
pub fn progress(tally: Tally, posts: &Posts, elapsed: Duration) {
    println!(
        "  {} kills ({} in recovery), {} acknowledged, {} posts repeated, {:.1} s",
        tally.kills,
        tally.kills_in_recovery,
        grouped(posts.acknowledged_count() as u64),
        grouped(posts.retries.load(Ordering::Relaxed)),
        elapsed.as_secs_f64()
    );
}

/// The closing lines; what was broken is told with its runs and the command to try again.
pub fn close(tally: Tally, posts: &Posts, findings: &Findings, seed: u64) -> Verdict {
    let endings: Vec<String> =
        findings.counts.iter().map(|(name, count)| format!("{} {name}", grouped(*count as u64))).collect();
    println!(
        "  {} posts, {} repeated, {} cancels; runs: {}",
        grouped(posts.attempts.load(Ordering::Relaxed)),
        grouped(posts.retries.load(Ordering::Relaxed)),
        grouped(posts.cancels.load(Ordering::Relaxed)),
        endings.join(", ")
    );
    println!(
        "torture kill: {} kills, {} acknowledged, {} lost, {} double effects, {} left behind, seed {seed}",
        tally.kills,
        grouped(posts.acknowledged_count() as u64),
        findings.lost.len(),
        findings.doubled.len(),
        findings.left_behind.len(),
    );
    if findings.are_clean() {
        return Verdict::Kept;
    }
    accuse(findings);
    println!("try again with: cargo xtask torture kill --n {} --seed {seed}", tally.kills);
    Verdict::Broken
}

fn accuse(findings: &Findings) {
    let groups = [
        ("lost", &findings.lost),
        ("neither ended nor parked", &findings.open),
        ("effects made twice", &findings.doubled),
        ("undone, with effects left behind", &findings.left_behind),
        ("completed, with effects missing", &findings.missing),
        ("effects of runs that nobody sent", &findings.invented),
    ];
    for (what, runs) in groups.into_iter().filter(|(_, runs)| !runs.is_empty()) {
        println!("BROKEN: {what}: {}", ids(runs));
    }
    for (run, what) in findings.other.iter().take(IDS_PRINTED_MAX) {
        println!("BROKEN: {run}: {what}");
    }
    if findings.key_changes > 0 {
        println!("BROKEN: {} calls were repeated under another key", findings.key_changes);
    }
}

fn ids(runs: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = runs.iter().take(IDS_PRINTED_MAX).map(String::as_str).collect();
    let more = runs.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(" "))
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn many_ids_are_cut_and_counted() {
        let runs: BTreeSet<String> = (0..25).map(|n| format!("t-{n:02}")).collect();
        assert!(ids(&runs).ends_with("t-19 and 5 more"));
    }
}
