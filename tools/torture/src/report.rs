//! What a person reads of a fault: one closing line with its figures, what was broken, and how to see it again.

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

/// The closing line in the making. `torture all` reads it again: a count and its noun, commas between.
pub struct Closing {
    fault: &'static str,
    /// The round that is under way, for those who have several.
    round: Option<String>,
    counts: Vec<(u64, String)>,
    broken: Vec<String>,
    left_out: Vec<String>,
    began: Instant,
}

impl Closing {
    /// From now on the seconds are counted.
    pub fn new(fault: &'static str) -> Closing {
        let (counts, broken, left_out) = (Vec::new(), Vec::new(), Vec::new());
        Closing { fault, round: None, counts, broken, left_out, began: Instant::now() }
    }

    /// What is accused from now on is of this round.
    pub fn begin_round(&mut self, round: &str) {
        self.round = Some(round.to_owned());
    }

    /// What is counted in several rounds is added up.
    pub fn count(&mut self, count: impl TryInto<u64>, noun: &str) {
        let count = count.try_into().unwrap_or(u64::MAX);
        match self.counts.iter_mut().find(|(_, known)| known == noun) {
            Some((sum, _)) => *sum += count,
            None => self.counts.push((count, noun.to_owned())),
        }
    }

    /// A promise was not kept.
    pub fn accuse(&mut self, what: String) {
        self.broken.push(match &self.round {
            Some(round) => format!("{round}: {what}"),
            None => what,
        });
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
        accusations(findings).into_iter().for_each(|what| self.accuse(what));
    }

    /// Prints what was found so far.
    pub fn print_findings(&self) {
        for what in &self.left_out {
            println!("LEFT OUT: {what}");
        }
        for what in self.broken.iter().take(PRINTED_MAX) {
            println!("BROKEN: {what}");
        }
    }

    /// Prints it all, the closing line last but for the command that does it again.
    pub fn print(self, seed: u64) -> RoundResult {
        self.print_findings();
        let Closing { fault, counts, broken, left_out, began, .. } = self;
        let counts: Vec<String> =
            counts.iter().map(|(count, noun)| format!("{} {noun}", grouped(*count))).collect();
        println!(
            "torture {fault}: {}, {} findings, {} left out, {:.1} s, seed {seed}",
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
    fn what_several_rounds_count_is_added_up_and_what_they_accuse_is_told_apart() {
        let mut closing = Closing::new("region");
        closing.begin_round("switches");
        closing.count(2u64, "lost");
        closing.begin_round("cut-link");
        closing.count(3u64, "lost");
        closing.accuse("nobody works".to_owned());
        assert_eq!(closing.counts, [(5, "lost".to_owned())]);
        assert_eq!(closing.broken, ["cut-link: nobody works"]);
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
