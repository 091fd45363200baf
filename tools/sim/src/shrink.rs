//! Making a failing plan smaller: fewer deeds, then fewer kinds of faults, as long as the same promise breaks.

use std::time::{Duration, Instant};

use crate::campaign::play_plan;
use crate::plan::{Fates, Plan, Timed};

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The smallest plan found that breaks the promise `id`.
pub fn shrink(plan: &Plan, id: &str) -> anyhow::Result<Plan> {
    let until = Instant::now() + PATIENCE;
    let mut small = plan.clone();
    let mut chunk = small.deeds.len().div_ceil(2).max(1);
    while Instant::now() < until {
        let before = small.deeds.len();
        small = without_chunks(small, chunk, id, until)?;
        if small.deeds.len() == before {
            if chunk == 1 {
                break;
            }
            chunk = chunk.div_ceil(2);
        }
    }
    without_fates(small, id)
}

fn breaks(plan: &Plan, id: &str) -> anyhow::Result<bool> {
    Ok(play_plan(plan, false)?.violations.iter().any(|violation| violation.id == id))
}

/// Leaves out one stretch of deeds after another, where nothing changes by it.
fn without_chunks(mut plan: Plan, chunk: usize, id: &str, until: Instant) -> anyhow::Result<Plan> {
    let mut start = 0;
    while start < plan.deeds.len() && Instant::now() < until {
        let end = (start + chunk).min(plan.deeds.len());
        let deeds: Vec<Timed> = plan.deeds[..start].iter().chain(&plan.deeds[end..]).cloned().collect();
        let fewer = Plan { deeds, ..plan.clone() };
        if breaks(&fewer, id)? {
            plan = fewer;
        } else {
            start = end;
        }
    }
    Ok(plan)
}

/// Leaves out one kind of a service's faults after another.
fn without_fates(mut plan: Plan, id: &str) -> anyhow::Result<Plan> {
    let kinds: [fn(&mut Fates) -> &mut u16; 8] = [
        |fates| &mut fates.refused,
        |fates| &mut fates.transient,
        |fates| &mut fates.busy,
        |fates| &mut fates.answer_lost,
        |fates| &mut fates.request_lost,
        |fates| &mut fates.late,
        |fates| &mut fates.twice,
        |fates| &mut fates.undo_refused,
    ];
    for kind in kinds {
        let mut calmer = plan.clone();
        *kind(&mut calmer.fates) = 0;
        if calmer != plan && breaks(&calmer, id)? {
            plan = calmer;
        }
    }
    Ok(plan)
}
