//! What a person reads about a fault: one closing line with its figures, what was broken, and how to reproduce it.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::audit::Findings;
use crate::posts::Posts;

/// Ids and findings that are printed; the rest is counted.
const PRINTED_MAX: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundResult {
    Kept,
    Broken,
}

/// Builds the closing line. `torture all` parses it: counts with their nouns, separated by commas.
pub struct Closing {
    fault: &'static str,
    /// The current round, for faults with several.
    round: Option<String>,
    counts: Vec<(u64, String)>,
    broken: Vec<String>,
    left_out: Vec<String>,
    began: Instant,
}

impl Closing {
    /// Starts counting the seconds.
    pub fn new(fault: &'static str) -> Closing {
        let (counts, broken, left_out) = (Vec::new(), Vec::new(), Vec::new());
        Closing { fault, round: None, counts, broken, left_out, began: Instant::now() }
    }

    /// Later findings belong to this round.
    pub fn begin_round(&mut self, round: &str) {
        self.round = Some(round.to_owned());
    }

    /// Counts of several rounds are added up.
    pub fn count(&mut self, count: impl TryInto<u64>, noun: &str) {
        let count = count.try_into().unwrap_or(u64::MAX);
        match self.counts.iter_mut().find(|(_, known)| known == noun) {
            Some((sum, _)) => *sum += count,
            None => self.counts.push((count, noun.to_owned())),
        }
    }

    /// Records a broken promise.
    pub fn add_finding(&mut self, what: String) {
        self.broken.push(match &self.round {
            Some(round) => format!("{round}: {what}"),
            None => what,
        });
    }

    /// Records what cannot be tried on this machine: neither kept nor broken.
    pub fn skip(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// The counts of an audit, and what it found.
    pub fn audited(&mut self, posts: &Posts, findings: &Findings) {
        self.count(posts.acknowledged_count() as u64, "acknowledged");
        self.count(findings.lost.len() as u64, "lost");
        self.count(findings.invented.len() as u64, "phantom");
        self.count(findings.doubled.len() as u64, "double effects");
        self.count(findings.left_behind.len() as u64, "remaining effects");
        finding_texts(findings).into_iter().for_each(|what| self.add_finding(what));
    }

    /// Prints what was found so far.
    pub fn print_findings(&self) {
        for what in &self.left_out {
            println!("SKIPPED: {what}");
        }
        for what in self.broken.iter().take(PRINTED_MAX) {
            println!("BROKEN: {what}");
        }
    }

    /// Prints everything: findings, the closing line, and the command that repeats it.
    pub fn print(self, seed: u64) -> RoundResult {
        self.print_findings();
        let Closing { fault, counts, broken, left_out, began, .. } = self;
        let counts: Vec<String> =
            counts.iter().map(|(count, noun)| format!("{} {noun}", grouped(*count))).collect();
        println!(
            "torture {fault}: {}, {} findings, {} skipped, {:.1} s, seed {seed}",
            counts.join(", "),
            broken.len(),
            left_out.len(),
            began.elapsed().as_secs_f64()
        );
        if broken.is_empty() {
            return RoundResult::Kept;
        }
        println!("try again with: {}", again(std::env::args().skip(1), seed));
        RoundResult::Broken
    }
}

/// The command that was given, with its seed.
pub fn again(arguments: impl Iterator<Item = String>, seed: u64) -> String {
    let dev = if cfg!(debug_assertions) { " --dev" } else { "" };
    let mut words = format!("cargo xtask torture{dev}");
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        if argument == "--seed" {
            arguments.next();
        } else {
            words = format!("{words} {argument}");
        }
    }
    format!("{words} --seed {seed}")
}

fn finding_texts(findings: &Findings) -> Vec<String> {
    let groups = [
        ("lost", &findings.lost),
        ("neither ended nor parked", &findings.open),
        ("effects made twice", &findings.doubled),
        ("undone, with effects remaining", &findings.left_behind),
        ("completed, with effects missing", &findings.missing),
        ("known to the store or to a service, but never sent", &findings.invented),
        ("known, and not in the list of all runs", &findings.unlisted),
    ];
    let mut found: Vec<String> = groups
        .into_iter()
        .filter(|(_, runs)| !runs.is_empty())
        .map(|(what, runs)| format!("{what}: {}", ids(runs)))
        .collect();
    found.extend(findings.other.iter().map(|(run, what)| format!("{run}: {what}")));
    if findings.key_changes > 0 {
        found.push(format!("{} calls were repeated under another key", findings.key_changes));
    }
    found
}

fn ids(runs: &BTreeSet<String>) -> String {
    let shown: Vec<&str> = runs.iter().take(PRINTED_MAX).map(String::as_str).collect();
    let more = runs.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(" "))
}

/// A number with separators for thousands.
pub fn grouped(number: u64) -> String {
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
    fn counts_of_several_rounds_are_added_up_and_findings_name_their_round() {
        let mut closing = Closing::new("region");
        closing.begin_round("switches");
        closing.count(2u64, "lost");
        closing.begin_round("cut-link");
        closing.count(3u64, "lost");
        closing.add_finding("no region is active".to_owned());
        assert_eq!(closing.counts, [(5, "lost".to_owned())]);
        assert_eq!(closing.broken, ["cut-link: no region is active"]);
    }

    #[test]
    fn many_ids_are_cut_and_counted() {
        let runs: BTreeSet<String> = (0..25).map(|n| format!("t-{n:02}")).collect();
        assert!(ids(&runs).ends_with("t-19 and 5 more"));
    }

    #[test]
    fn the_command_is_repeated_with_the_seed_that_was_drawn() {
        let given = ["kill", "--seed", "3", "--n", "5"].map(str::to_owned);
        assert!(again(given.into_iter(), 7).ends_with("kill --n 5 --seed 7"));
    }
}
