//! A ratchet on cost: the instructions of each hot path may not grow. Counted, not timed, so that a busy machine
//! changes nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::command;

/// What the paths cost when the counts were last written down.
const COUNTS: &str = "tools/ratchet/counts.toml";

/// How far a path may be off its count: compilers and allocators change a little by themselves.
const MARGIN: f64 = 0.15;

/// A path is run this often, and twice as often: the difference is what the rounds alone cost.
const ROUNDS: u64 = 150;

/// Counts the instructions of the hot paths and compares them with the counts in the repository
#[derive(Debug, Args)]
pub struct Ratchet {
    /// Write the new counts down instead of comparing
    #[arg(long)]
    update: bool,
}

impl Ratchet {
    pub fn compare() -> Ratchet {
        Ratchet { update: false }
    }
}

type Counts = BTreeMap<String, u64>;

/// Returns a summary.
pub fn run(root: &Path, asked: &Ratchet) -> anyhow::Result<String> {
    need_valgrind()?;
    let program = command::build_all(root)?.join("ratchet");
    let counts = count_all(&program)?;
    let file = root.join(COUNTS);
    if asked.update {
        let text = toml::to_string(&counts)?;
        std::fs::write(&file, text).with_context(|| format!("writing {COUNTS}"))?;
        return Ok(format!("{} counts written to {COUNTS}", counts.len()));
    }
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading {COUNTS}"))?;
    let before: Counts = toml::from_str(&text).with_context(|| format!("reading {COUNTS}"))?;
    let faults = compare(&before, &counts);
    ensure!(
        faults.is_empty(),
        "{}\nMake it cheaper; or, if the cost is worth it, write the new counts down: cargo xtask ratchet --update",
        faults.join("\n")
    );
    Ok(format!("{} hot paths within {:.0} % of their counts", counts.len(), MARGIN * 100.0))
}

fn count_all(program: &Path) -> anyhow::Result<Counts> {
    let listed = Command::new(program).arg("--list").output().context("asking for the paths")?;
    ensure!(listed.status.success(), "ratchet --list failed");
    let names = String::from_utf8(listed.stdout).context("reading the paths")?;
    let mut counts = Counts::new();
    for name in names.lines() {
        let once = instructions(program, name, ROUNDS)?;
        let twice = instructions(program, name, 2 * ROUNDS)?;
        let count = twice.saturating_sub(once) / ROUNDS;
        println!("{name:28} {count:>9} instructions");
        counts.insert(name.to_owned(), count);
    }
    Ok(counts)
}

/// The instructions of a whole process.
fn instructions(program: &Path, name: &str, rounds: u64) -> anyhow::Result<u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(program).arg(name).arg(rounds.to_string());
    let output = valgrind.stdin(Stdio::null()).output().context("starting valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed on {name:?}: {said}");
    collected(&said).with_context(|| format!("valgrind does not say what it counted: {said}"))
}

/// The number after `Collected :`.
fn collected(said: &str) -> Option<u64> {
    let (_, rest) = said.split_once("Collected :")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// What got dearer, or so much cheaper that the count should say so, or has no count.
fn compare(before: &Counts, now: &Counts) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, count) in now {
        let Some(before) = before.get(name) else {
            faults.push(format!("{name}: has no count yet"));
            continue;
        };
        let change = *count as f64 / *before as f64 - 1.0;
        if change.abs() > MARGIN {
            let word = if change > 0.0 { "dearer" } else { "cheaper" };
            let percent = change.abs() * 100.0;
            faults.push(format!("{name}: {count} instructions, {percent:.0} % {word} than {before}"));
        }
    }
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    faults.extend(gone.map(|name| format!("{name}: is no longer a path")));
    faults
}

fn need_valgrind() -> anyhow::Result<()> {
    let is_there = || Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    if is_there() {
        return Ok(());
    }
    println!("valgrind is missing: installing it");
    for arguments in [["update", "-q"].as_slice(), &["install", "-q", "-y", "valgrind"]] {
        // What matters is whether it is there in the end.
        let _ = Command::new("apt-get").args(arguments).stdout(Stdio::null()).status();
    }
    if !is_there() {
        bail!("valgrind is missing and cannot be installed; install the package valgrind");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> Counts {
        of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn growth_beyond_the_margin_is_named_and_so_is_a_count_that_is_out_of_date() {
        let before = counts(&[("a", 1000), ("b", 1000), ("c", 1000), ("gone", 1)]);
        let now = counts(&[("a", 1100), ("b", 1200), ("c", 800), ("new", 5)]);
        let faults = compare(&before, &now);
        assert_eq!(
            faults,
            [
                "b: 1200 instructions, 20 % dearer than 1000",
                "c: 800 instructions, 20 % cheaper than 1000",
                "new: has no count yet",
                "gone: is no longer a path",
            ]
        );
    }

    #[test]
    fn the_count_is_read_from_what_valgrind_says() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 123456\n"), Some(123_456));
        assert_eq!(collected("==7== error"), None);
    }
}
