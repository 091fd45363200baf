//! `sim`: thousands of simulated installations, each with its own faults, held against every promise.

mod checkers;
mod clients;
mod coverage;
mod dice;
mod events;
mod history;
mod life;
mod panics;
mod plan;
mod process;
mod report;
mod services;
mod sighting;
mod simulate;
mod watch;
mod workflows;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    panics::note_them();
    host::survive_panics();
    let mut total = report::Figures::default();
    let mut coverage = coverage::Coverage::default();
    let n: u64 = std::env::args().nth(1).map_or(10, |n| n.parse().unwrap());
    let from: u64 = std::env::args().nth(2).map_or(0, |n| n.parse().unwrap());
    let print = std::env::args().nth(3).is_some();
    let began = std::time::Instant::now();
    for seed in from..from + n {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let plan = plan::Plan::draw(seed);
        let report = simulate::simulate(&plan, dir.path(), print);
        total.add(report.figures);
        coverage.add(report.coverage);
        if !report.violations.is_empty() {
            println!("FAIL {} {:#?}", plan.summary(), report.violations);
        }
    }
    println!("{total:?} missing {:?} {:?}", coverage.missing(), began.elapsed());
    ExitCode::SUCCESS
}
