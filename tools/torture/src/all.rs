//! Every fault in turn, each in its own process, and a table at the end.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;
use clap::Args;

use crate::report::RoundResult;

/// The faults in the order in which they are tried, with their arguments in a full round and in a short one.
const FAULTS: [(&str, &str, ShortRound); 14] = [
    ("kill", "--n 300", ShortRound::With("--n 12")),
    ("powercut", "--n 60", ShortRound::With("--n 4")),
    ("iofaults", "--places 8", ShortRound::With("--places 1")),
    ("full", "--n 3", ShortRound::With("--n 1")),
    ("slow", "--stalls 100,500,2000 --seconds 5", ShortRound::With("--stalls 500 --seconds 2")),
    ("bitrot", "--n 500", ShortRound::With("--n 20")),
    // Half a minute, most of it waiting.
    ("clock", "", ShortRound::Beside("")),
    ("memory", "", ShortRound::With("")),
    ("descriptors", "", ShortRound::With("")),
    ("targets", "", ShortRound::With("--only h")),
    ("firings", "--n 30 --jobs 100", ShortRound::With("--n 3 --jobs 50")),
    ("queue", "--n 100", ShortRound::With("--n 6")),
    ("cluster", "--n 24", ShortRound::With("--short")),
    ("region", "", ShortRound::Beside("--seconds 1 --only switches,cut-link")),
];

/// How a fault is run in a short round.
#[derive(Clone, Copy)]
enum ShortRound {
    With(&'static str),
    /// With these arguments, while others are tried.
    Beside(&'static str),
}

/// What the table shows of a closing line besides its first count.
const COLUMNS: [&str; 8] = [
    "acknowledged",
    "lost",
    "phantom",
    "double effects",
    "remaining effects",
    "silent",
    "findings",
    "skipped",
];

/// Try every fault, one after another
#[derive(Args)]
pub struct All {
    /// A few rounds of each: what is part of every test run
    #[arg(long)]
    short: bool,
    /// The seed of every fault; each draws its own when it is not given
    #[arg(long)]
    seed: Option<u64>,
}

/// The result of a fault.
struct FaultResult {
    fault: &'static str,
    /// Its closing line; none if it did not finish.
    line: Option<String>,
    kept: bool,
}

impl All {
    pub fn run(self) -> anyhow::Result<RoundResult> {
        let began = Instant::now();
        let tried = if self.short { self.try_short() } else { self.try_full() }?;
        print_table(&tried);
        let broken = tried.iter().filter(|tried| !tried.kept).count();
        println!(
            "torture all: {} faults, {} rounds, {} broken, {} skipped, {:.1} s",
            tried.len(),
            tried.iter().map(|tried| tried.line.as_deref().map_or(0, rounds)).sum::<u64>(),
            broken,
            tried
                .iter()
                .map(|tried| count(tried.line.as_deref().unwrap_or(""), "skipped").unwrap_or(0))
                .sum::<u64>(),
            began.elapsed().as_secs_f64()
        );
        Ok(if broken == 0 { RoundResult::Kept } else { RoundResult::Broken })
    }

    fn try_full(&self) -> anyhow::Result<Vec<FaultResult>> {
        FAULTS.iter().map(|(fault, full, _)| self.try_fault(fault, full)).collect()
    }

    fn try_short(&self) -> anyhow::Result<Vec<FaultResult>> {
        std::thread::scope(|scope| {
            let beside = FAULTS.iter().filter_map(|(fault, _, short)| match short {
                ShortRound::Beside(arguments) => Some(scope.spawn(|| self.try_fault(fault, arguments))),
                ShortRound::With(_) => None,
            });
            let beside: Vec<_> = beside.collect();
            let mut tried = Vec::new();
            for (fault, _, short) in FAULTS {
                if let ShortRound::With(arguments) = short {
                    tried.push(self.try_fault(fault, arguments)?);
                }
            }
            for fault in beside {
                tried.push(fault.join().expect("trying a fault does not panic")?);
            }
            Ok(tried)
        })
    }

    /// Runs it in its own process; prints its last line, and everything after a failure.
    fn try_fault(&self, fault: &'static str, arguments: &str) -> anyhow::Result<FaultResult> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(fault).args(arguments.split_whitespace());
        if let Some(seed) = self.seed {
            command.arg("--seed").arg(seed.to_string());
        }
        let started = command.stdout(Stdio::piped()).spawn();
        let mut child = started.with_context(|| format!("starting torture {fault}"))?;
        let output = child.stdout.take().expect("the output was asked for");
        let mut lines = Vec::new();
        for line in BufReader::new(output).lines() {
            let line = line.with_context(|| format!("reading from torture {fault}"))?;
            if line.starts_with("SKIPPED: ") {
                println!("{line}");
            }
            lines.push(line);
        }
        let kept = child.wait().with_context(|| format!("waiting for torture {fault}"))?.success();
        let opening = format!("torture {fault}: ");
        let line = lines.iter().rev().find(|line| line.starts_with(&opening)).cloned();
        if kept && let Some(line) = &line {
            println!("{line}");
        } else {
            lines.iter().for_each(|line| println!("{line}"));
        }
        Ok(FaultResult { fault, kept: kept && line.is_some(), line })
    }
}

fn print_table(tried: &[FaultResult]) {
    println!("\n{:<12}{:>10}{}", "fault", "rounds", COLUMNS.map(|name| format!("{name:>15}")).concat());
    for FaultResult { fault, line, kept } in tried {
        let line = line.as_deref().unwrap_or("");
        let cell = |name: &str| count(line, name).map_or("-".to_owned(), |count| count.to_string());
        let cells = COLUMNS.map(|name| format!("{:>15}", cell(name))).concat();
        let verdict = if *kept { "kept" } else { "BROKEN" };
        println!("{fault:<12}{:>10}{cells}  {verdict}", rounds(line));
    }
    println!();
}

/// The first count of a closing line: what a round is called differs from fault to fault.
fn rounds(line: &str) -> u64 {
    let counts = line.split_once(": ").map_or("", |(_, counts)| counts);
    counts.split(' ').next().and_then(number).unwrap_or(0)
}

/// The number before this noun.
fn count(line: &str, noun: &str) -> Option<u64> {
    let counts = line.split_once(": ")?.1;
    let (number_text, _) =
        counts.split(", ").filter_map(|part| part.split_once(' ')).find(|(_, n)| *n == noun)?;
    number(number_text)
}

fn number(text: &str) -> Option<u64> {
    text.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_line_is_read_again() {
        let line = "torture kill: 300 kills, 12,345 acknowledged, 0 lost, 2 skipped, 140.2 s, seed 5";
        assert_eq!(rounds(line), 300);
        assert_eq!(count(line, "acknowledged"), Some(12_345));
        assert_eq!(count(line, "skipped"), Some(2));
        assert_eq!(count(line, "phantom"), None);
    }
}
