//! When a job will fire, for one that exists and for one that does not yet.

use kernel::recurrence::{self, Planned};
use schedule::Date;
use serde_json::{Value, json};
use types::{Ticks, Timing};

use super::CollectionPath;
use super::{Jobs, JobsError};

impl Jobs {
    /// The next firings of a job as it stands.
    pub(crate) async fn preview_job(
        &self,
        at: &CollectionPath,
        name: &str,
        count: usize,
    ) -> Result<Value, JobsError> {
        let collection = self.collection(at)?;
        let job = self.job(&collection, name)?;
        let (timing, progress) = (&job.definition.spec.timing, &job.progress);
        let left = timing.recurrence.as_ref().map_or(Some(1), |recurrence| recurrence.count);
        let left = left.map_or(count, |most| count.min(most.saturating_sub(progress.counted) as usize));
        let mut planned = Vec::new();
        let mut next = progress.next;
        while let Some(occurrence) = next.filter(|_| planned.len() < left) {
            let change = recurrence::change(timing, progress.anchor, occurrence);
            planned.push(Planned { at: occurrence, change });
            let from = if recurrence::drifts(timing) { occurrence } else { progress.anchor };
            next = timing.recurrence.as_ref().and_then(|_| recurrence::next(timing, from, occurrence));
        }
        Ok(shown(&planned))
    }

    /// The firings of a job that does not exist yet.
    pub(crate) fn preview(&self, body: &Value) -> Result<Value, JobsError> {
        let asked = schedule::read_preview(body, &self.limits, self.clock.wall())?;
        let count = usize::try_from(asked.count).unwrap_or(usize::MAX);
        Ok(planned(&asked.timing, asked.now, count))
    }
}

fn planned(timing: &Timing, now: Ticks, count: usize) -> Value {
    shown(&recurrence::preview(timing, now, now, count))
}

/// The firings, and which of them a clock change touches.
fn shown(planned: &[Planned]) -> Value {
    let times: Vec<_> = planned.iter().map(|planned| Date(planned.at).to_string()).collect();
    let touched = planned.iter().filter_map(|planned| {
        let change = planned.change.as_ref()?;
        Some(json!({ "occurrence": Date(planned.at).to_string(), "change": change.to_string() }))
    });
    let touched: Vec<_> = touched.collect();
    if touched.is_empty() {
        return json!({ "occurrences": times });
    }
    json!({ "occurrences": times, "clockChanges": touched })
}
