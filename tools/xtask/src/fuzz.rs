//! Coverage-guided fuzzing of the targets of `tools/fuzz`, by libFuzzer on the stable toolchain.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use clap::Args;

use crate::command;

/// Which targets, and for how long.
#[derive(Debug, Args)]
pub struct Fuzz {
    /// Seconds for each target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Only these targets
    #[arg(long)]
    target: Vec<String>,
    /// Runs a stored input again, without libFuzzer; its directory has the name of its target
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

impl Fuzz {
    /// Every target for so long.
    pub fn for_seconds(seconds: u64) -> Fuzz {
        Fuzz { seconds, target: Vec::new(), replay: None }
    }
}

/// What makes the compiler count edges and comparisons, as cargo-fuzz has it.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16";

/// An input that takes longer hangs. Ten times the limit: slower ones are reported, and the machine may be busy.
const TIMEOUT_SECONDS: u32 = 10;
const INPUT_BYTES_MAX: u32 = 16 << 10;
/// For the whole process, with its corpus. What a single input takes is measured by the tests.
const MEMORY_MIB_MAX: u32 = 1024;

pub fn run(root: &Path, asked: &Fuzz) -> anyhow::Result<()> {
    if let Some(file) = &asked.replay {
        return replay(root, file);
    }
    let all = targets(root)?;
    if let Some(unknown) = asked.target.iter().find(|name| !all.contains(name)) {
        bail!("there is no target '{unknown}'; there are {}", all.join(", "));
    }
    let place = command::built("debug")?.parent().context("finding the target directory")?.join("fuzz");
    let fuzzer = build(root, &place)?;
    let mut broken = Vec::new();
    for target in all.iter().filter(|name| asked.target.is_empty() || asked.target.contains(name)) {
        if let Some(input) = fuzz(root, &fuzzer, &place, target, asked.seconds)? {
            broken.push(input);
        }
    }
    for input in &broken {
        println!("cargo xtask fuzz --replay {}", input.display());
    }
    ensure!(broken.is_empty(), "{} targets broke", broken.len());
    Ok(())
}

fn replay(root: &Path, file: &Path) -> anyhow::Result<()> {
    let file = file.canonicalize().with_context(|| format!("looking for {}", file.display()))?;
    let directory = file.parent().and_then(Path::file_name).context("the input lies in no directory")?;
    let run = plain(root, &["replay"]);
    command::run(command::with(run, [directory, file.as_os_str()]))
}

/// The ordinary program around the targets, with everything that the compiler checks in tests.
fn plain(root: &Path, words: &[&str]) -> Command {
    let cargo =
        command::cargo(root, ["run", "--quiet", "--locked", "--package", "fuzz", "--bin", "fuzz", "--"]);
    command::with(cargo, words)
}

fn targets(root: &Path) -> anyhow::Result<Vec<String>> {
    let listed = plain(root, &["list"]).output().context("listing the targets")?;
    ensure!(listed.status.success(), "listing the targets: {}", String::from_utf8_lossy(&listed.stderr));
    Ok(String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect())
}

/// The libFuzzer program. Optimised, with the checks of tests, in its own directory.
fn build(root: &Path, place: &Path) -> anyhow::Result<PathBuf> {
    let host = host()?;
    let mut cargo = command::cargo(root, ["build", "--release", "--locked", "--package", "fuzz"]);
    cargo
        .args(["--features", "libfuzzer", "--bin", "coverage-fuzz", "--target", &host, "--target-dir"])
        .arg(place);
    cargo.env("RUSTFLAGS", COVERAGE);
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true");
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    command::run(cargo).context("building the fuzzer; it needs a C++ compiler (apt-get install g++)")?;
    Ok(place.join(host).join("release/coverage-fuzz"))
}

fn host() -> anyhow::Result<String> {
    let told = Command::new("rustc").arg("-vV").output().context("asking rustc for its host")?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("rustc names its host")
}

/// Fuzzes one target and prints the result. The smallest input that breaks it, if one does.
fn fuzz(
    root: &Path,
    fuzzer: &Path,
    place: &Path,
    target: &str,
    seconds: u64,
) -> anyhow::Result<Option<PathBuf>> {
    let (corpus, seeds) = (place.join("corpus").join(target), place.join("seeds").join(target));
    let broken = place.join("broken").join(target);
    for directory in [&corpus, &seeds, &broken] {
        fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
    }
    command::run(command::with(plain(root, &["seeds", target]), [&seeds]))?;
    let log = place.join(format!("{target}.log"));
    let mut run = libfuzzer(fuzzer, target, &broken);
    run.arg(format!("-max_total_time={seconds}")).arg(format!("-max_len={INPUT_BYTES_MAX}"));
    let words = seeds.with_extension("dict");
    // libFuzzer takes an empty dictionary for a mistake.
    if fs::metadata(&words).is_ok_and(|words| words.len() > 0) {
        run.arg(format!("-dict={}", words.display()));
    }
    run.args(["-print_final_stats=1", "-report_slow_units=1", "-reload=0"]);
    run.arg(&corpus).arg(&seeds).stderr(File::create(&log).context("making the log")?);
    let ended = run.status().with_context(|| format!("running {}", fuzzer.display()))?;
    let text = fs::read_to_string(&log).unwrap_or_default();
    println!("{target:12} {}", Figures::of(&text));
    if ended.success() {
        return Ok(None);
    }
    let Some(input) = artifact(&text) else {
        bail!("{target} failed without an input; see {}", log.display())
    };
    println!("{target} broke: {}; see {}", input.display(), log.display());
    minimise(fuzzer, target, &broken, &input).map(Some)
}

fn libfuzzer(fuzzer: &Path, target: &str, broken: &Path) -> Command {
    let mut run = Command::new(fuzzer);
    run.env("SORTIE_FUZZ_TARGET", target);
    run.arg(format!("-artifact_prefix={}/", broken.display()));
    run.arg(format!("-timeout={TIMEOUT_SECONDS}")).arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"));
    run
}

/// A smaller input that breaks the same way, or the one that is there.
fn minimise(fuzzer: &Path, target: &str, broken: &Path, input: &Path) -> anyhow::Result<PathBuf> {
    let small = broken.join("smallest");
    // One of an earlier run would be taken for this one's.
    if small.exists() {
        fs::remove_file(&small).with_context(|| format!("removing {}", small.display()))?;
    }
    let mut run = libfuzzer(fuzzer, target, broken);
    run.args(["-minimize_crash=1", "-max_total_time=30"]);
    run.arg(format!("-exact_artifact_path={}", small.display())).arg(input);
    run.stderr(File::create(broken.join("minimise.log")).context("making the log")?);
    // It ends with an error when nothing smaller breaks: then the input is the smallest.
    run.status().with_context(|| format!("running {}", fuzzer.display()))?;
    Ok(if small.exists() { small } else { input.to_owned() })
}

/// Where libFuzzer has stored the input.
fn artifact(log: &str) -> Option<PathBuf> {
    let line = log.lines().rev().find(|line| line.contains("Test unit written to "))?;
    line.split("written to ").nth(1).map(|path| PathBuf::from(path.trim()))
}

/// The figures that libFuzzer prints.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    executions: u64,
    per_second: u64,
    edges: u64,
    features: u64,
    corpus: u64,
    new: u64,
    slowest_seconds: u64,
    peak_mib: u64,
}

impl Figures {
    fn of(log: &str) -> Figures {
        let stat = |name: &str| {
            let line = log
                .lines()
                .find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'));
            line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
        };
        // `#4096 NEW cov: 812 ft: 2043 corp: 120/3kb …`, the last of them
        let progress = log
            .lines()
            .rev()
            .find(|line| line.starts_with('#') && line.contains(" ft: "))
            .unwrap_or_default();
        let after = |name: &str| {
            let rest = progress.split_once(name).map(|(_, rest)| rest).unwrap_or_default();
            rest.split(|c: char| !c.is_ascii_digit())
                .next()
                .and_then(|digits| digits.parse().ok())
                .unwrap_or(0)
        };
        Figures {
            executions: stat("number_of_executed_units"),
            per_second: stat("average_exec_per_sec"),
            edges: after("cov: "),
            features: after("ft: "),
            corpus: after("corp: "),
            new: stat("new_units_added"),
            slowest_seconds: stat("slowest_unit_time_sec"),
            peak_mib: stat("peak_rss_mb"),
        }
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Figures { executions, per_second, edges, features, corpus, new, slowest_seconds, peak_mib } =
            self;
        write!(
            f,
            "{executions:>9} executions, {per_second:>6}/s, {edges:>6} edges, {features:>6} features, corpus {corpus} \
             ({new} new), slowest {slowest_seconds} s, {peak_mib} MiB"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "#2\tINITED cov: 5 ft: 6 corp: 1/1b exec/s: 0 rss: 30Mb\n#4096\tNEW    cov: 812 ft: 2043 corp: 120/3Kb\n\
        Done 4096 runs in 2 second(s)\nstat::number_of_executed_units: 4096\nstat::average_exec_per_sec:     2048\n\
        stat::new_units_added:          119\nstat::slowest_unit_time_sec:    0\nstat::peak_rss_mb:              51\n";

    #[test]
    fn figures_are_read_from_what_libfuzzer_says() {
        let figures = Figures {
            executions: 4096,
            per_second: 2048,
            edges: 812,
            features: 2043,
            corpus: 120,
            new: 119,
            slowest_seconds: 0,
            peak_mib: 51,
        };
        assert_eq!(Figures::of(LOG), figures);
        assert_eq!(Figures::of(""), Figures::default());
    }

    #[test]
    fn the_input_that_broke_is_found() {
        let log = "==1== ERROR: libFuzzer: deadly signal\nartifact_prefix='/t/broken/json/'; Test unit written to /t/broken/json/crash-ab\n";
        assert_eq!(artifact(log), Some(PathBuf::from("/t/broken/json/crash-ab")));
        assert_eq!(artifact(LOG), None);
    }
}
