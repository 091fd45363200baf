//! Removes old runs, a bounded number per call.

use std::sync::Arc;

use types::{Key, Timestamp};

use crate::error::Error;
use crate::keys;
use crate::limits::FORGET_SCAN_PER_RUN_MAX;
use crate::partition::ViewPartition;
use crate::run;

/// The result of one call of `forget_before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forgotten {
    /// Runs removed by this call.
    pub runs: usize,
    /// Whether another call now may remove more.
    pub more: bool,
}

/// Where the next call continues: the position that the last one reached, from the oldest towards the newest.
///
/// Without it every call would walk again over the tombstones of earlier calls, and over the runs that were
/// accepted early but ended late and so stay.
#[derive(Default)]
pub(crate) struct ForgetFrom {
    /// Everything at or after this position (older) is done; `None` before the first call.
    place: Option<Vec<u8>>,
    stayed: Option<KeptRuns>,
}

/// The runs that were skipped because they ended too late.
struct KeptRuns {
    /// The oldest of their positions.
    place: Vec<u8>,
    /// The earliest of their end times.
    ended_at: Timestamp,
}

impl ForgetFrom {
    /// A run was written; if it is older than the current position, go back to it.
    pub(crate) fn written(&mut self, place: &[u8]) {
        if let Some(from) = self.place.as_mut().filter(|from| from.as_slice() <= place) {
            *from = place.to_vec();
            // No id contains this byte, so the position itself comes before it.
            from.push(u8::MAX);
        }
    }

    fn stays(&mut self, place: &[u8], ended_at: Timestamp) {
        let stayed = self.stayed.get_or_insert_with(|| KeptRuns { place: place.to_vec(), ended_at });
        stayed.ended_at = stayed.ended_at.min(ended_at);
        // Positions count from the newest: the greater is the older.
        if stayed.place.as_slice() < place {
            stayed.place = place.to_vec();
        }
    }

    /// Goes back to the skipped runs when some of them have become old enough.
    fn revisit(&mut self, time: Timestamp) {
        if let Some(stayed) = self.stayed.take_if(|stayed| stayed.ended_at < time) {
            self.written(&stayed.place);
        }
    }
}

/// Removes up to `limit` of the oldest runs that were accepted and have ended before `time`.
pub(crate) fn forget_before(
    partition: &Arc<ViewPartition>,
    time: Timestamp,
    limit: usize,
) -> Result<Forgotten, Error> {
    let mut forget_from = partition.forget_from.lock().expect("no panic under this lock");
    forget_from.revisit(time);

    let prefix = keys::by_time();
    let newest = time.0.checked_sub(1).map(|last| keys::inverted(Timestamp(last)).to_be_bytes());
    let Some(newest) = newest else { return Ok(Forgotten { runs: 0, more: false }) };
    let start = [prefix.as_slice(), &newest].concat();
    let end = match &forget_from.place {
        Some(place) => [prefix.as_slice(), place].concat(),
        None => vec![prefix[0] + 1],
    };

    let mut runs = 0;
    let mut entries = partition.range(start, end).rev();
    for _ in 0..limit.saturating_mul(FORGET_SCAN_PER_RUN_MAX) {
        if runs == limit {
            return Ok(Forgotten { runs, more: true });
        }
        let Some(entry) = entries.next() else { return Ok(Forgotten { runs, more: false }) };
        let (key, value) = entry?;
        let (summary, _) = run::decode_summary(&value).map_err(|detail| partition.damaged(&detail))?;
        let place = &key[prefix.len()..];
        if summary.ended_at < time {
            partition.remove(place, &summary)?;
            runs += 1;
        } else {
            forget_from.stays(place, summary.ended_at);
        }
        forget_from.place = Some(place.to_vec());
    }
    Ok(Forgotten { runs, more: true })
}

/// Removes all runs with a key but the newest `keep`. Returns how many.
pub(crate) fn keep_newest(partition: &Arc<ViewPartition>, key: &Key, keep: usize) -> Result<usize, Error> {
    let mut places = Vec::new();
    for status in keys::statuses(None) {
        let prefix = keys::by_key(key, status);
        for entry in partition.range(prefix.clone(), keys::end_of(prefix.clone())) {
            places.push(entry?.0[prefix.len()..].to_vec());
        }
    }
    // Positions count from the newest.
    places.sort();
    let old = places.get(keep..).unwrap_or_default();
    for place in old {
        if let Some(summary) = partition.summary(place)? {
            partition.remove(place, &summary)?;
        }
    }
    Ok(old.len())
}
