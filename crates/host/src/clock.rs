//! The clock of the process.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use words::Timestamp;

/// Wall-clock time that goes on steadily: read once at the start, then counted by the monotonic clock, so that
/// a clock that is set back or forward while the process runs neither stalls nor hurries retries.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    started_at: Timestamp,
}

impl Clock {
    pub fn start() -> Clock {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started_at = Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX));
        Clock { started: Instant::now(), started_at }
    }

    pub fn now(&self) -> Timestamp {
        let passed_ms = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.started_at.0.saturating_add(passed_ms))
    }
}
