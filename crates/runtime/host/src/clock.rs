//! The clock of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use types::Timestamp;

/// Wall-clock time that advances steadily: read once at the start, then advanced by the monotonic clock, so that
/// setting the clock of the machine while the process runs neither stalls nor hurries retries.
///
/// The monotonic clock is the runtime's, which a simulation can stop and move.
#[derive(Debug, Clone)]
pub struct Clock {
    started: Instant,
    /// Since 1970, with its fraction: this clock and that of the machine show the same millisecond.
    started_at: Duration,
    wall: Wall,
    /// How far this clock was set forward to the newest time in the journal.
    ahead_ms: Arc<AtomicI64>,
}

/// The wall clock.
#[derive(Debug, Clone)]
enum Wall {
    /// The machine's, and how far this one is ahead of it.
    Machine { shift_ms: i64 },
    /// One that runs with the runtime's clock and is set by a simulation: how far it was set forward.
    Runtime { set_ms: Arc<AtomicI64> },
}

impl Clock {
    pub fn start() -> Clock {
        Clock {
            started: Instant::now(),
            started_at: machine_wall(),
            wall: Wall::Machine { shift_ms: 0 },
            ahead_ms: Arc::default(),
        }
    }

    /// A clock that starts at another time: for data recorded at that time.
    pub fn start_at(time: Timestamp) -> Clock {
        let shift_ms = time.0 - timestamp(machine_wall()).0;
        Clock { wall: Wall::Machine { shift_ms }, ..Clock::start_with(time) }
    }

    /// A clock that follows only the runtime's: it begins at `time`, and its wall clock differs from it by the current
    /// value of `set_ms`.
    pub fn start_beside(time: Timestamp, set_ms: Arc<AtomicI64>) -> Clock {
        Clock { wall: Wall::Runtime { set_ms }, ..Clock::start_with(time) }
    }

    fn start_with(time: Timestamp) -> Clock {
        let started_at = Duration::from_millis(u64::try_from(time.0).unwrap_or(0));
        Clock { started_at, ..Clock::start() }
    }

    /// The time of the wall clock. It may jump, so only times of day that people wrote follow it.
    pub fn wall(&self) -> Timestamp {
        match &self.wall {
            Wall::Machine { shift_ms } => Timestamp(timestamp(machine_wall()).0.saturating_add(*shift_ms)),
            Wall::Runtime { set_ms } => {
                Timestamp(self.steady().0.saturating_add(set_ms.load(Ordering::Relaxed)))
            }
        }
    }

    pub fn now(&self) -> Timestamp {
        Timestamp(self.steady().0.saturating_add(self.ahead_ms.load(Ordering::Relaxed)))
    }

    /// Makes sure that the clock, and every clone of it, shows no time before `time`. If the wall clock was set back
    /// while no process ran, timers would otherwise wait that much longer.
    pub fn catch_up(&self, time: Timestamp) {
        self.ahead_ms.fetch_max(time.0.saturating_sub(self.steady().0), Ordering::Relaxed);
    }

    fn steady(&self) -> Timestamp {
        timestamp(self.started_at.saturating_add(self.started.elapsed()))
    }
}

fn timestamp(since_epoch: Duration) -> Timestamp {
    Timestamp(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

fn machine_wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
