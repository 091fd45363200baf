//! Making a failing plan smaller: fewer operations, then fewer kinds of faults, as long as the same promise breaks.

use std::time::{Duration, Instant};

use crate::simulator::Simulator;

/// How long it may take.
const TIME_MAX: Duration = Duration::from_secs(120);

/// The smallest plan found that breaks the promise `id`.
pub fn shrink<S: Simulator>(simulator: &S, plan: &S::Plan, id: &str) -> anyhow::Result<S::Plan> {
    let until = Instant::now() + TIME_MAX;
    let mut small = plan.clone();
    let mut chunk = S::operation_count(&small).div_ceil(2).max(1);
    while Instant::now() < until {
        let before = S::operation_count(&small);
        small = without_chunks(simulator, small, chunk, id, until)?;
        if S::operation_count(&small) == before {
            if chunk == 1 {
                break;
            }
            chunk = chunk.div_ceil(2);
        }
    }
    without_faults(simulator, small, id)
}

fn breaks<S: Simulator>(simulator: &S, plan: &S::Plan, id: &str) -> anyhow::Result<bool> {
    Ok(simulator.simulate(plan, false)?.violations.iter().any(|violation| violation.id == id))
}

/// Removes one range of operations after another, if the promise still breaks without it.
fn without_chunks<S: Simulator>(
    simulator: &S,
    mut plan: S::Plan,
    chunk: usize,
    id: &str,
    until: Instant,
) -> anyhow::Result<S::Plan> {
    let mut start = 0;
    while start < S::operation_count(&plan) && Instant::now() < until {
        let end = (start + chunk).min(S::operation_count(&plan));
        let fewer = S::without_operations(&plan, start..end);
        if breaks(simulator, &fewer, id)? {
            plan = fewer;
        } else {
            start = end;
        }
    }
    Ok(plan)
}

/// Sets one rate of faults after another to zero, if the promise still breaks.
fn without_faults<S: Simulator>(simulator: &S, mut plan: S::Plan, id: &str) -> anyhow::Result<S::Plan> {
    for kind in 0..S::fault_rates(&mut plan).len() {
        let mut calmer = plan.clone();
        *S::fault_rates(&mut calmer)[kind] = 0;
        if calmer != plan && breaks(simulator, &calmer, id)? {
            plan = calmer;
        }
    }
    Ok(plan)
}
