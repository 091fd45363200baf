//! Many seeds of clusters on several threads, and what they came to together.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::Context;
use engine::{Catalogs, Control};
use journal::memory::MemoryJournal;

use super::coverage::{Coverage, Sometimes};
use super::plan::Plan;
use super::report::{Figures, Report};
use crate::campaign::{Campaign, FAILURES_MAX, TWICE_ONE_IN, directory};
use crate::checkers::Violation;
use crate::workflows;

/// What a campaign came to.
#[derive(Default)]
struct Outcome {
    figures: Figures,
    coverage: Coverage,
    failures: Vec<(Plan, Report)>,
}

/// Plays the seeds and prints what came of them. True when all is well.
pub fn play(campaign: Campaign, lenient: bool, out: &Path) -> anyhow::Result<bool> {
    let began = Instant::now();
    let outcome = run(campaign, FAILURES_MAX)?;
    let seconds = began.elapsed().as_secs_f64();
    for (plan, report) in &outcome.failures {
        println!("{}", plan.summary());
        tell(plan, report, out)?;
    }
    let figures = outcome.figures;
    println!(
        "sim: {} seeds of clusters from {}; {:.1} million events, {} instances, {} takeovers, {} messages refused, \
         {} owners fenced, {} unknown outcomes, {} switches of regions, {} calls, {} acknowledged, {} simulated hours, \
         in {seconds:.0} s ({:.0} seeds/s)",
        figures.seeds,
        campaign.from,
        figures.events as f64 / 1e6,
        figures.lives,
        figures.takeovers,
        figures.refused,
        figures.fenced,
        figures.unknown,
        figures.switches,
        figures.calls,
        figures.acknowledged,
        figures.simulated_ms / 3_600_000,
        figures.seeds as f64 / seconds,
    );
    let missing = outcome.coverage.missing();
    let met = outcome.coverage.met();
    println!(
        "sim: clusters: {} violations; {met} of {} situations met",
        outcome.failures.len(),
        Sometimes::ALL.len()
    );
    for case in &missing {
        println!("sim: never met: {}", case.what());
    }
    Ok(outcome.failures.is_empty() && (missing.is_empty() || lenient))
}

/// Plays seeds until one fails: how many it took, and what broke first.
pub fn catch(campaign: Campaign) -> anyhow::Result<(u64, Option<Violation>)> {
    let outcome = run(campaign, 1)?;
    let first =
        outcome.failures.into_iter().next().and_then(|(_, report)| report.violations.into_iter().next());
    Ok((outcome.figures.seeds, first))
}

/// Plays a plan from a file, or of a seed. True when it breaks nothing.
pub fn replay(plan: &str, print: bool, smaller: bool, out: &Path) -> anyhow::Result<bool> {
    let plan = match plan.parse::<u64>() {
        Ok(seed) => Plan::draw(seed),
        Err(_) => {
            let text = fs::read(plan).with_context(|| format!("reading {plan}"))?;
            serde_json::from_slice(&text).with_context(|| format!("{plan} is not a plan of a cluster"))?
        }
    };
    let catalogs = catalogs()?;
    let report = play_plan(&plan, &catalogs, print)?;
    println!("{}", plan.summary());
    for violation in &report.violations {
        println!("FAIL {} seed={}: {}", violation.id, plan.seed, violation.what);
    }
    if report.violations.is_empty() {
        println!("nothing is broken; trace {:016x}", report.trace);
        return Ok(true);
    }
    if smaller {
        let small = super::shrink::shrink(&plan, &catalogs, report.violations[0].id)?;
        let path = write(&small, "small", out)?;
        println!("{} of {} deeds are left: {}", small.deeds.len(), plan.deeds.len(), path.display());
        println!("{}", serde_json::to_string_pretty(&small)?);
    }
    Ok(false)
}

fn tell(plan: &Plan, report: &Report, out: &Path) -> anyhow::Result<()> {
    let path = write(plan, "fail", out)?;
    for violation in &report.violations {
        println!("FAIL {} seed={}: {}", violation.id, plan.seed, violation.what);
    }
    println!("  replay: cargo xtask sim --cluster --replay {} --trace", path.display());
    println!("  smaller: cargo xtask sim --cluster --replay {} --shrink", path.display());
    Ok(())
}

fn write(plan: &Plan, what: &str, out: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(out)?;
    let path = out.join(format!("{what}-cluster-{}.json", plan.seed));
    fs::write(&path, serde_json::to_string_pretty(plan)? + "\n")?;
    Ok(fs::canonicalize(&path)?)
}

fn run(campaign: Campaign, failures_max: usize) -> anyhow::Result<Outcome> {
    let catalogs = catalogs()?;
    let next = AtomicU64::new(campaign.from);
    let stop = AtomicBool::new(false);
    let outcome = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        let work = || -> anyhow::Result<()> {
            while !stop.load(Ordering::Relaxed) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= campaign.from + campaign.seeds {
                    break;
                }
                let (plan, report) = play_seed(seed, &catalogs)?;
                let mut outcome = outcome.lock().expect("no holder panics");
                outcome.figures.add(report.figures);
                outcome.coverage.add(report.coverage);
                if !report.violations.is_empty() {
                    outcome.failures.push((plan, report));
                }
                if outcome.failures.len() >= failures_max {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        let threads: Vec<_> = (0..campaign.threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("panics are caught before"))
    })?;
    Ok(outcome.into_inner().expect("no holder panics"))
}

fn play_seed(seed: u64, catalogs: &Catalogs) -> anyhow::Result<(Plan, Report)> {
    let plan = Plan::draw(seed);
    let mut report = play_plan(&plan, catalogs, false)?;
    if seed.is_multiple_of(TWICE_ONE_IN) {
        let again = play_plan(&plan, catalogs, false)?;
        if again.trace != report.trace {
            let what = "played twice, it took two courses".to_owned();
            report.violations.push(Violation { id: "D0", what });
        }
    }
    Ok((plan, report))
}

pub fn play_plan(plan: &Plan, catalogs: &Catalogs, print: bool) -> anyhow::Result<Report> {
    host::survive_panics();
    Ok(super::play::play(plan, directory()?.path(), catalogs, print))
}

/// The workflows that every instance has. How they get there is left to another simulation.
pub(super) fn catalogs() -> anyhow::Result<Catalogs> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async {
        let journal = Arc::new(MemoryJournal::new());
        let control = Control::open(journal, host::Clock::start()).await?;
        for source in workflows::SOURCES {
            control.apply(source, "plan", None).await?;
        }
        Ok(control.catalogs().clone())
    })
}
