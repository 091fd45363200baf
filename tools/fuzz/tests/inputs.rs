//! Every target over inputs made from a seed. One after another, so that the cost of each can be measured.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fuzz::drive::{UNOPTIMISED, round};
use fuzz::measure;
use fuzz::targets::ALL;

/// The inputs of every ordinary run. `SORTIE_FUZZ_SEED` draws others.
const SEED: u64 = 20_161_118;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        ALL.iter().for_each(|target| println!("{}: test", target.name));
        return ExitCode::SUCCESS;
    }
    let exact = words.iter().any(|word| word == "--exact");
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    let seed = variable("SORTIE_FUZZ_SEED").unwrap_or(SEED);
    let store = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    println!("seed {seed} (SORTIE_FUZZ_SEED={seed} repeats it)");
    if measure::memory().is_none() || !measure::forget_peak() || measure::processor_time().is_none() {
        println!(
            "SKIPPED: this kernel does not report the cost of a thread; time and memory are not checked"
        );
    }
    // What breaks is reported once, with its input; the traces in between would bury it.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut passed, mut failed) = (0, 0);
    for target in ALL.iter().filter(|target| {
        filters.is_empty()
            || filters
                .iter()
                .any(|word| if exact { target.name == **word } else { target.name.contains(*word) })
    }) {
        let began = Instant::now();
        let round = round(target, seed, UNOPTIMISED, &store);
        let verdict = if round.broken.is_empty() { "ok" } else { "FAILED" };
        println!(
            "test {} ... {verdict} ({} inputs, {} of them regressions; slowest {:?}, memory {} KiB; {:.1} s)",
            target.name,
            round.inputs,
            round.regressions,
            round.slowest,
            round.bytes_peak >> 10,
            began.elapsed().as_secs_f64(),
        );
        for (path, how) in round.broken.iter().take(5) {
            println!(
                "    {how}\n    cargo run -p fuzz --bin fuzz -- replay {} {}",
                target.name,
                path.display()
            );
        }
        if round.broken.is_empty() { passed += 1 } else { failed += 1 }
    }
    println!(
        "\ntest result: {}. {passed} passed; {failed} failed; 0 ignored",
        if failed == 0 { "ok" } else { "FAILED" }
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
