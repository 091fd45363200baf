//! What a person reads of a fault: one closing line with its figures, what was broken, and how to see it again.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::audit::Findings;
use crate::posts::Posts;

/// Ids and findings that are printed; the rest is counted.
const PRINTED_MAX: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Kept,
    Broken,
}

/// The closing line in the making. `torture all` reads it again: a count and its noun, commas between.
pub struct Closing {
    fault: &'static str,
    counts: Vec<String>,
    broken: Vec<String>,
    left_out: Vec<String>,
    began: Instant,
}

impl Closing {
    /// From now on the seconds are counted.
    pub fn new(fault: &'static str) -> Closing {
        let (counts, broken, left_out) = (Vec::new(), Vec::new(), Vec::new());
        Closing { fault, counts, broken, left_out, began: Instant::now() }
    }

    pub fn count(&mut self, count: impl TryInto<u64>, noun: &str) {
        let count = count.try_into().unwrap_or(u64::MAX);
        self.counts.push(format!("{} {noun}", grouped(count)));
    }

    /// A promise was not kept.
    pub fn accuse(&mut self, what: String) {
        self.broken.push(what);
    }

    /// Something cannot be tried on this machine: neither kept nor broken.
    pub fn leave_out(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// The counts of an audit, and what it found.
    pub fn audited(&mut self, posts: &Posts, findings: &Findings) {
        self.count(posts.acknowledged_count() as u64, "acknowledged");
        self.count(findings.lost.len() as u64, "lost");
        self.count(findings.invented.len() as u64, "phantom");
        self.count(findings.doubled.len() as u64, "double effects");
        self.count(findings.left_behind.len() as u64, "left behind");
        self.broken.extend(accusations(findings));
    }

    /// Prints it all, the closing line last but for the command that does it again.
    pub fn print(self, seed: u64) -> Verdict {
        for what in &self.left_out {
            println!("LEFT OUT: {what}");
        }
        for what in self.broken.iter().take(PRINTED_MAX) {
            println!("BROKEN: {what}");
        }
        let Closing { fault, counts, broken, left_out, began } = self;
        println!(
            "torture {fault}: {}, {} findings, {} left out, {:.1} s, seed {seed}",
            counts.join(", "),
            broken.len(),
            left_out.len(),
            began.elapsed().as_secs_f64()
        );
        if broken.is_empty() {
            return Verdict::Kept;
        }
        println!("try again with: {}", again(std::env::args().skip(1), seed));
        Verdict::Broken
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

fn accusations(findings: &Findings) -> Vec<String> {
    let groups = [
        ("lost", &findings.lost),
        ("neither ended nor parked", &findings.open),
        ("effects made twice", &findings.doubled),
        ("undone, with effects left behind", &findings.left_behind),
        ("completed, with effects missing", &findings.missing),
        ("known to the store or to a service, and nobody sent it", &findings.invented),
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

/// A number with its thousands apart.
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
