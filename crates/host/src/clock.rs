//! The clock of the process.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use words::Timestamp;

/// Wall-clock time that goes on steadily: read once at the start, then counted by the monotonic clock, so that
/// a clock that is set back or forward while the process runs neither stalls nor hurries retries.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    started_at: Timestamp,
    /// How far this clock is ahead of the machine's.
    shift_ms: i64,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { started: Instant::now(), started_at: wall(), shift_ms: 0 }
    }

    /// A clock that shows another time and goes on from there: for what was recorded at that time.
    pub fn start_at(time: Timestamp) -> Clock {
        Clock { started: Instant::now(), started_at: time, shift_ms: time.0 - wall().0 }
    }

    /// What the clock on the wall shows. It may jump; only what people wrote as a time of day goes by it.
    pub fn wall(&self) -> Timestamp {
        let read = wall();
        Timestamp(read.0.saturating_add(self.shift_ms))
    }

    pub fn now(&self) -> Timestamp {
        let passed_ms = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp(self.started_at.0.saturating_add(passed_ms))
    }
}

fn wall() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
