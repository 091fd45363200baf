//! Many seeds on several threads, and what they came to together.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::coverage::{Coverage, Sometimes};
use crate::plan::Plan;
use crate::regressions;
use crate::report::{Figures, Report};
use crate::simulate::simulate;

/// One seed in so many is played twice: equal plans must take the same course.
pub const TWICE_ONE_IN: u64 = 64;

/// Failures after which a campaign stops looking for more.
pub const FAILURES_MAX: usize = 5;

/// Which seeds are played, and by how many threads.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    pub from: u64,
    pub seeds: u64,
    pub threads: usize,
}

/// What a campaign came to.
#[derive(Default)]
pub struct Outcome {
    pub figures: Figures,
    pub coverage: Coverage,
    pub failures: Vec<(Plan, Report)>,
}

/// Plays a plan in a directory of its own.
pub fn play_plan(plan: &Plan, print: bool) -> anyhow::Result<Report> {
    host::survive_panics();
    Ok(simulate(plan, directory()?.path(), print))
}

/// An empty directory: in memory, where there is such a place, because the view's files are real ones.
pub fn directory() -> anyhow::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    Ok(tempfile::Builder::new().prefix("sortie-sim-").tempdir_in(base)?)
}

impl Campaign {
    /// Plays the seeds until there are too many failures.
    pub fn run(self, failures_max: usize) -> anyhow::Result<Outcome> {
        let next = AtomicU64::new(self.from);
        let stop = AtomicBool::new(false);
        let outcome = Mutex::new(Outcome::default());
        std::thread::scope(|scope| {
            let work = || -> anyhow::Result<()> {
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= self.from + self.seeds {
                        break;
                    }
                    let (plan, report) = play_seed(seed)?;
                    let mut outcome = outcome.lock().expect("no holder panics");
                    outcome.add(plan, report);
                    if outcome.failures.len() >= failures_max {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                Ok(())
            };
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("panics are caught before"))
        })?;
        Ok(outcome.into_inner().expect("no holder panics"))
    }
}

impl Outcome {
    fn add(&mut self, plan: Plan, report: Report) {
        self.figures.add(report.figures);
        self.coverage.add(report.coverage);
        if !report.violations.is_empty() {
            self.failures.push((plan, report));
        }
    }
}

fn play_seed(seed: u64) -> anyhow::Result<(Plan, Report)> {
    let plan = Plan::draw(seed);
    let mut report = play_plan(&plan, false)?;
    if seed.is_multiple_of(TWICE_ONE_IN) {
        let again = play_plan(&plan, false)?;
        if again.trace != report.trace {
            report.accuse("D0", "played twice, it took two courses".to_owned());
        }
    }
    Ok((plan, report))
}

/// Plays the plans that once failed, then the seeds, and prints what came of them. True when all is well.
pub fn play(campaign: Campaign, lenient: bool, out: &Path) -> anyhow::Result<bool> {
    let began = Instant::now();
    let old = regressions::play_all()?;
    let outcome = campaign.run(FAILURES_MAX)?;
    let seconds = began.elapsed().as_secs_f64();
    for (plan, report) in &outcome.failures {
        println!("{}", plan.summary());
        regressions::tell(plan, report, out)?;
    }
    let figures = outcome.figures;
    println!(
        "sim: {} seeds from {}, {} plans that once failed; {:.1} million events, {} lives, {} crashes ({} power cuts), \
         {} failed syncs, {} calls, {} acknowledged, {} simulated hours, in {seconds:.0} s",
        figures.seeds,
        campaign.from,
        old.played,
        figures.events as f64 / 1e6,
        figures.lives,
        figures.crashes,
        figures.power_cuts,
        figures.failed_syncs,
        figures.calls,
        figures.acknowledged,
        figures.simulated_ms / 3_600_000,
    );
    let missing = outcome.coverage.missing();
    let met = outcome.coverage.met();
    println!("sim: {} violations; {met} of {} situations met", outcome.failures.len(), Sometimes::ALL.len());
    for case in &missing {
        println!("sim: never met: {}", case.what());
    }
    Ok(outcome.failures.is_empty() && old.failed == 0 && (missing.is_empty() || lenient))
}
