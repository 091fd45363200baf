//! Many seeds on several threads, and the sum of their reports.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::checkers::Violation;
use crate::coverage::{Met, Situations};
use crate::replay;
use crate::simulator::{ReportOf, Simulator};

/// One seed in so many is simulated twice: equal plans must produce equal traces.
const TWICE_ONE_IN: u64 = 64;

/// Failures after which a campaign stops.
const FAILURES_MAX: usize = 5;

/// Which seeds are simulated, and by how many threads.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    pub from: u64,
    pub seeds: u64,
    pub threads: usize,
}

/// The sum of the reports of a campaign.
pub struct Outcome<S: Simulator> {
    pub seeds: u64,
    pub figures: S::Figures,
    pub coverage: Met<S::Situation>,
    pub failures: Vec<(S::Plan, Vec<Violation>)>,
}

impl Campaign {
    /// Simulates the plans that once failed, then the seeds, and prints the figures. True when no promise is broken and
    /// every situation was met.
    pub fn run<S: Simulator>(self, simulator: &S, lenient: bool, out: &Path) -> anyhow::Result<bool> {
        let began = Instant::now();
        let regressions = replay::run_regressions(simulator)?;
        let outcome = self.collect(simulator, FAILURES_MAX)?;
        let seconds = began.elapsed().as_secs_f64();
        for (plan, violations) in &outcome.failures {
            println!("{}", S::summary(plan));
            replay::report_failure::<S>(plan, violations, out)?;
        }
        println!(
            "sim: {}: {} seeds from {}, {} plans that once failed; {}, in {seconds:.0} s",
            S::NAME,
            outcome.seeds,
            self.from,
            regressions.simulated,
            S::describe(&outcome.figures),
        );
        println!(
            "sim: {}: {} violations; {} of {} situations met",
            S::NAME,
            outcome.failures.len(),
            outcome.coverage.count(),
            S::Situation::ALL.len()
        );
        let mut all_met = true;
        for case in outcome.coverage.missing() {
            println!("sim: never met: {}", case.what());
            all_met = false;
        }
        Ok(outcome.failures.is_empty() && regressions.failed == 0 && (all_met || lenient))
    }

    /// Simulates seeds until one fails: how many it took, and the first promise that broke.
    pub fn first_violation<S: Simulator>(self, simulator: &S) -> anyhow::Result<(u64, Option<Violation>)> {
        let outcome = self.collect(simulator, 1)?;
        let first = outcome.failures.into_iter().next().and_then(|(_, found)| found.into_iter().next());
        Ok((outcome.seeds, first))
    }

    /// Simulates the seeds until there are too many failures.
    fn collect<S: Simulator>(self, simulator: &S, failures_max: usize) -> anyhow::Result<Outcome<S>> {
        let next = AtomicU64::new(self.from);
        let stop = AtomicBool::new(false);
        let outcome = Mutex::new(Outcome::new());
        std::thread::scope(|scope| {
            let work = || -> anyhow::Result<()> {
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= self.from + self.seeds {
                        break;
                    }
                    let (plan, report) = simulate_seed(simulator, seed)?;
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

impl<S: Simulator> Outcome<S> {
    fn new() -> Outcome<S> {
        Outcome { seeds: 0, figures: S::Figures::default(), coverage: Met::default(), failures: Vec::new() }
    }

    fn add(&mut self, plan: S::Plan, report: ReportOf<S>) {
        self.seeds += 1;
        S::add_figures(&mut self.figures, report.figures);
        self.coverage.add(report.coverage);
        if !report.violations.is_empty() {
            self.failures.push((plan, report.violations));
        }
    }
}

fn simulate_seed<S: Simulator>(simulator: &S, seed: u64) -> anyhow::Result<(S::Plan, ReportOf<S>)> {
    let plan = S::draw(seed);
    let mut report = simulator.simulate(&plan, false)?;
    if seed.is_multiple_of(TWICE_ONE_IN) && simulator.simulate(&plan, false)?.trace != report.trace {
        let what = "simulated twice, the plan produced two traces".to_owned();
        report.violations.push(Violation { id: "D0", what });
    }
    Ok((plan, report))
}
