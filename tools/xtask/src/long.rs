//! All proofs for hours: simulation, torture and fuzzing in turn, in parts, so that it can be stopped and resumed.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;

use crate::fuzz::{self, Fuzz};
use crate::{sim, torture};

/// How long, and from where.
#[derive(Args)]
pub struct Long {
    /// How long to run; the part that is running then is finished.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Continue after the last run instead of starting over.
    #[arg(long)]
    resume: bool,
}

/// Seeds that one part plays.
const SEEDS: u64 = 20_000;

/// Seconds that one part gives to each fuzz target.
const FUZZ_SECONDS: u64 = 30;

/// Where it stands, in a file of three numbers that people can read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LongRun {
    parts: u64,
    next_seed: u64,
    failed: u64,
}

pub fn run(root: &Path, asked: &Long) -> anyhow::Result<()> {
    let path = root.join("target/long.txt");
    let mut progress = if asked.resume { load(&path)? } else { LongRun::default() };
    let until = Instant::now() + Duration::from_secs(asked.minutes * 60);
    while Instant::now() < until {
        let part = progress.parts;
        println!("\n== part {part}, seeds from {}", progress.next_seed);
        let result = match part % 3 {
            0 | 1 => {
                let words = ["--from", &progress.next_seed.to_string(), "--seeds", &SEEDS.to_string()];
                progress.next_seed += SEEDS;
                sim::run(root, &words.map(Into::into))
            }
            _ if part % 6 == 2 => torture::run(root, &["all", "--seed", &part.to_string()].map(Into::into)),
            _ => fuzz::run(root, &Fuzz::for_seconds(FUZZ_SECONDS)),
        };
        progress.parts += 1;
        if let Err(error) = result {
            // After a finding the search continues.
            eprintln!("== part {part} failed: {error:#}");
            progress.failed += 1;
        }
        store(&path, progress)?;
    }
    println!(
        "\nxtask long: {} parts, {} seeds, {} parts failed; continue with --resume",
        progress.parts, progress.next_seed, progress.failed
    );
    anyhow::ensure!(progress.failed == 0, "{} parts failed; what they printed says why", progress.failed);
    Ok(())
}

fn load(path: &Path) -> anyhow::Result<LongRun> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(LongRun::default()),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        line.with_context(|| format!("{} has no number for {name}; remove it to start over", path.display()))
    };
    Ok(LongRun { parts: number("parts")?, next_seed: number("next seed")?, failed: number("failed")? })
}

fn store(path: &Path, progress: LongRun) -> anyhow::Result<()> {
    let LongRun { parts, next_seed, failed } = progress;
    fs::create_dir_all(path.parent().context("the file lies in a directory")?)?;
    let text = format!("parts {parts}\nnext seed {next_seed}\nfailed {failed}\n");
    fs::write(path, text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_where_it_stood() {
        let path = std::env::temp_dir().join(format!("long-{}.txt", std::process::id()));
        assert_eq!(load(&path).expect("nothing is there yet"), LongRun::default());
        let progress = LongRun { parts: 4, next_seed: 60_000, failed: 1 };
        store(&path, progress).expect("a file can be written");
        assert_eq!(load(&path).expect("it was written"), progress);
        fs::remove_file(&path).expect("it was written");
    }
}
