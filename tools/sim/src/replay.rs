//! Plans that failed: written to a file, simulated again, made smaller, and kept below `regressions/`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::checkers::Violation;
use crate::shrink;
use crate::simulator::Simulator;

/// The result of the plans that are kept.
#[derive(Debug, Default)]
pub struct Regressions {
    pub simulated: usize,
    pub failed: usize,
}

/// Simulates every plan of this simulator that is kept, in the order of their names.
pub fn run_regressions<S: Simulator>(simulator: &S) -> anyhow::Result<Regressions> {
    let mut regressions = Regressions::default();
    for path in kept_plans::<S>()? {
        let report = simulator.simulate(&read::<S>(&path)?, false)?;
        regressions.simulated += 1;
        for violation in &report.violations {
            println!("FAIL {} in {}: {}", violation.id, path.display(), violation.what);
        }
        regressions.failed += usize::from(!report.violations.is_empty());
    }
    Ok(regressions)
}

fn kept_plans<S: Simulator>() -> anyhow::Result<Vec<PathBuf>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(S::NAME);
    let mut paths: Vec<PathBuf> = Vec::new();
    // A simulator without plans has no directory: git does not keep an empty one.
    if directory.is_dir() {
        for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    Ok(paths)
}

/// Prints what a plan broke and how to simulate it again, and writes the plan to a file.
pub fn report_failure<S: Simulator>(
    plan: &S::Plan,
    violations: &[Violation],
    out: &Path,
) -> anyhow::Result<()> {
    let path = write::<S>(plan, "fail", out)?;
    print_violations::<S>(plan, violations);
    println!("  replay: cargo xtask sim {}--replay {} --trace", S::OPTIONS, path.display());
    println!("  smaller: cargo xtask sim {}--replay {} --shrink", S::OPTIONS, path.display());
    Ok(())
}

/// Simulates a plan from a file, or of a seed. True when it breaks no promise.
pub fn replay<S: Simulator>(
    simulator: &S,
    plan: &str,
    print: bool,
    smaller: bool,
    out: &Path,
) -> anyhow::Result<bool> {
    let plan = match plan.parse::<u64>() {
        Ok(seed) => S::draw(seed),
        Err(_) => read::<S>(Path::new(plan))?,
    };
    let report = simulator.simulate(&plan, print)?;
    println!("{}", S::summary(&plan));
    print_violations::<S>(&plan, &report.violations);
    let Some(first) = report.violations.first() else {
        println!("no promise is broken; trace {:016x}", report.trace);
        return Ok(true);
    };
    if smaller {
        let small = shrink::shrink(simulator, &plan, first.id)?;
        let path = write::<S>(&small, "small", out)?;
        let (left, all) = (S::operation_count(&small), S::operation_count(&plan));
        println!("{left} of {all} operations are left: {}", path.display());
        println!("{}", serde_json::to_string_pretty(&small)?);
    }
    Ok(false)
}

fn print_violations<S: Simulator>(plan: &S::Plan, violations: &[Violation]) {
    for violation in violations {
        println!("FAIL {} seed={}: {}", violation.id, S::seed(plan), violation.what);
    }
}

fn read<S: Simulator>(path: &Path) -> anyhow::Result<S::Plan> {
    let text = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not a plan of {}", path.display(), S::NAME))
}

fn write<S: Simulator>(plan: &S::Plan, what: &str, out: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(out)?;
    let path = out.join(format!("{what}-{}-{}.json", S::NAME, S::seed(plan)));
    let text = serde_json::to_string_pretty(plan)? + "\n";
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(fs::canonicalize(&path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::SingleInstance;

    /// A plan that a renamed member or a moved file hides would never fail again.
    #[test]
    fn every_kept_plan_is_found_and_can_be_read() {
        let plans = kept_plans::<SingleInstance>().unwrap();
        assert!(!plans.is_empty());
        for path in plans {
            read::<SingleInstance>(&path).unwrap();
        }
    }
}
