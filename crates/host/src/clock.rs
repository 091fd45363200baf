//! The clock of the process.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use words::Timestamp;

/// Wall-clock time that goes on steadily: read once at the start, then counted by the monotonic clock, so that
/// a clock that is set back or forward while the process runs neither stalls nor hurries retries.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    /// Since 1970, with its fraction: this clock and the one on the wall show the same millisecond.
    started_at: Duration,
    /// How far this clock is ahead of the machine's.
    shift_ms: i64,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { started: Instant::now(), started_at: wall(), shift_ms: 0 }
    }

    /// A clock that shows another time and goes on from there: for what was recorded at that time.
    pub fn start_at(time: Timestamp) -> Clock {
        let started_at = Duration::from_millis(u64::try_from(time.0).unwrap_or(0));
        Clock { started: Instant::now(), started_at, shift_ms: time.0 - timestamp(wall()).0 }
    }

    /// What the clock on the wall shows. It may jump; only what people wrote as a time of day goes by it.
    pub fn wall(&self) -> Timestamp {
        Timestamp(timestamp(wall()).0.saturating_add(self.shift_ms))
    }

    pub fn now(&self) -> Timestamp {
        timestamp(self.started_at.saturating_add(self.started.elapsed()))
    }
}

fn timestamp(since_epoch: Duration) -> Timestamp {
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
