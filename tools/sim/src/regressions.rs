//! Plans that failed once: told, written down, played again, and kept under `regressions/`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::campaign::play_plan;
use crate::plan::Plan;
use crate::report::Report;
use crate::shrink;

/// How the plans that are kept went.
#[derive(Debug, Default)]
pub struct Played {
    pub played: usize,
    pub failed: usize,
}

/// Plays every plan that is kept, oldest name first.
pub fn play_all() -> anyhow::Result<Played> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut played = Played::default();
    for path in paths {
        let report = play_plan(&read(&path)?, false)?;
        played.played += 1;
        for violation in &report.violations {
            println!("FAIL {} in {}: {}", violation.id, path.display(), violation.what);
        }
        played.failed += usize::from(!report.violations.is_empty());
    }
    Ok(played)
}

fn read(path: &Path) -> anyhow::Result<Plan> {
    let text = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not a plan", path.display()))
}

fn write(path: &Path, plan: &Plan) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(plan)? + "\n";
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Says what a plan broke and how to see it again, and writes the plan down.
pub fn tell(plan: &Plan, report: &Report, out: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(out)?;
    let path = out.join(format!("fail-{}.json", plan.seed));
    write(&path, plan)?;
    for violation in &report.violations {
        println!("FAIL {} seed={}: {}", violation.id, plan.seed, violation.what);
    }
    let path = fs::canonicalize(&path)?;
    println!("  replay: cargo xtask sim --replay {} --trace", path.display());
    println!("  smaller: cargo xtask sim --replay {} --shrink", path.display());
    Ok(())
}

/// Plays a plan from a file, or of a seed. True when it breaks nothing.
pub fn replay(plan: &str, print: bool, smaller: bool, out: &Path) -> anyhow::Result<bool> {
    let plan = match plan.parse::<u64>() {
        Ok(seed) => Plan::draw(seed),
        Err(_) => read(Path::new(plan))?,
    };
    let report = play_plan(&plan, print)?;
    println!("{}", plan.summary());
    for violation in &report.violations {
        println!("FAIL {} seed={}: {}", violation.id, plan.seed, violation.what);
    }
    if report.violations.is_empty() {
        println!("nothing is broken; trace {:016x}", report.trace);
        return Ok(true);
    }
    if smaller {
        let small = shrink::shrink(&plan, report.violations[0].id)?;
        fs::create_dir_all(out)?;
        let path = out.join(format!("small-{}.json", plan.seed));
        write(&path, &small)?;
        println!("{} of {} deeds are left: {}", small.deeds.len(), plan.deeds.len(), path.display());
        println!("{}", serde_json::to_string_pretty(&small)?);
    }
    Ok(false)
}
