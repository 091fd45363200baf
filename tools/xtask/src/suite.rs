//! The whole suite and its fast part, one stage after another, with a line at the end that says what held.

use std::num::NonZero;
use std::path::Path;
use std::time::Instant;

use crate::clients::{self, Clients};
use crate::docs::{self, Docs};
use crate::ratchet::{self, Ratchet};
use crate::schemathesis::Schemathesis;
use crate::{azure_sdk, brokers, browser, command, schemathesis, sim, tidy, torture};

/// Everything that must hold.
pub fn test(root: &Path) -> anyhow::Result<()> {
    let began = Instant::now();
    check_stages(root)?;
    stage("brokers", || brokers::ensure(root))?;
    let tests = stage("tests", || run_tests(root))?;
    let sdk = stage("azure sdk", || azure_sdk::run(root))?;
    let clients = stage("clients", || clients::run(root, &Clients::of_this_build()))?;
    let browser = stage("browser", || browser::tests(root))?;
    let described = stage("schemathesis", || schemathesis::run(root, &Schemathesis::small()))?;
    let docs = stage("docs", || docs::run(root, &Docs::all()))?;
    let simulated = stage("simulation", || sim::short(root))?;
    let ratchet = stage("ratchet", || ratchet::run(root, &Ratchet::compare()))?;
    let torture = stage("torture", || torture::short(root))?;
    let minutes = began.elapsed().as_secs() / 60;
    let seconds = began.elapsed().as_secs() % 60;
    println!(
        "\nxtask test: all green: format, tidy, lints, {} tests passed ({} ignored), {sdk} of the Azure SDK, \
         {clients}, {browser} in a browser, {described}, docs: {docs}, simulation: {simulated}, ratchet: {ratchet}, \
         torture: {torture}, in {minutes} min {seconds} s",
        tests.passed, tests.ignored,
    );
    Ok(())
}

/// What can be checked without running anything.
pub fn check(root: &Path) -> anyhow::Result<()> {
    check_stages(root)?;
    println!("\nxtask check: all green: format, tidy, lints");
    Ok(())
}

fn check_stages(root: &Path) -> anyhow::Result<()> {
    stage("format", || {
        command::need_component(root, "fmt", "rustfmt")?;
        command::run(command::cargo(root, ["fmt", "--all", "--check"]))
    })?;
    stage("tidy", || tidy::run(root))?;
    stage("lints", || {
        command::need_component(root, "clippy", "clippy")?;
        let lints = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
        command::run(command::cargo(root, lints))
    })
}

fn run_tests(root: &Path) -> anyhow::Result<Counts> {
    // The end-to-end tests start these as they are, so that they must be there before the tests run.
    command::build_all(root)?;
    let mut counts = Counts::default();
    let mut tests = command::cargo(root, ["test", "--workspace", "--locked", "--no-fail-fast"]);
    tests.env("RUST_TEST_THREADS", threads().to_string());
    command::run_noting(tests, |line| counts.note(line))?;
    Ok(counts)
}

/// Tests wait for servers and clocks more than they compute.
fn threads() -> usize {
    4 * std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn stage<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let began = Instant::now();
    println!("\n== {name}");
    let result = work();
    let verdict = if result.is_ok() { "ok" } else { "failed" };
    println!("== {name}: {verdict} in {:.1} s", began.elapsed().as_secs_f64());
    result
}

/// How many tests ran, summed over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    ignored: u64,
}

impl Counts {
    fn note(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        self.passed += number_before(result, " passed");
        self.ignored += number_before(result, " ignored");
    }
}

fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split_once(word).map_or("", |(before, _)| before);
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_summed_over_all_programs() {
        let mut counts = Counts::default();
        counts.note("running 3 tests");
        counts.note("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
        counts.note("test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
        assert_eq!(counts, Counts { passed: 43, ignored: 1 });
    }
}
