//! Making a failing plan of a cluster smaller, as long as the same promise breaks.

use std::time::{Duration, Instant};

use engine::Catalogs;

use super::campaign::play_plan;
use super::plan::{Plan, Weather};

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The smallest plan found that breaks the promise `id`.
pub fn shrink(plan: &Plan, catalogs: &Catalogs, id: &str) -> anyhow::Result<Plan> {
    let until = Instant::now() + PATIENCE;
    let breaks = |plan: &Plan| -> anyhow::Result<bool> {
        Ok(play_plan(plan, catalogs, false)?.violations.iter().any(|violation| violation.id == id))
    };
    let mut small = plan.clone();
    let mut chunk = small.deeds.len().div_ceil(2).max(1);
    while Instant::now() < until {
        let before = small.deeds.len();
        let mut start = 0;
        while start < small.deeds.len() && Instant::now() < until {
            let mut fewer = small.clone();
            fewer.deeds.drain(start..(start + chunk).min(small.deeds.len()));
            if breaks(&fewer)? { small = fewer } else { start += chunk }
        }
        if small.deeds.len() == before && chunk == 1 {
            break;
        }
        chunk = chunk.div_ceil(2);
    }
    let kinds: [fn(&mut Weather) -> &mut u16; 6] = [
        |weather| &mut weather.request_lost,
        |weather| &mut weather.answer_lost,
        |weather| &mut weather.answer_late,
        |weather| &mut weather.stored_late,
        |weather| &mut weather.stale,
        |weather| &mut weather.beat_lost,
    ];
    for kind in kinds {
        let mut calmer = small.clone();
        *kind(&mut calmer.weather) = 0;
        if calmer != small && breaks(&calmer)? {
            small = calmer;
        }
    }
    Ok(small)
}
