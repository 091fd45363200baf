//! Admission: overload is refused before acceptance, with the time after which a retry is worth it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use host::resident_bytes;
use journal::Room;
use types::{Span, Timestamp};

/// How often the state of the machine is looked at.
const SAMPLE_EVERY: Span = Span::from_ms(100);

/// The shortest and longest wait that a client is asked for, in seconds.
const RETRY_AFTER_SECS: std::ops::RangeInclusive<u64> = 1..=60;

/// A request that was not accepted because there is too much already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; try again in {retry_after_secs} s")]
pub struct Refusal {
    pub reason: RefusalReason,
    pub retry_after_secs: u64,
}

/// What there is too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    #[error("too many accepted requests have not ended")]
    Backlog,
    #[error("the disk is nearly full")]
    Disk,
    #[error("the process uses too much memory")]
    Memory,
}

/// Watches the backlog, the disk and memory.
pub struct Admission {
    unfinished_max: usize,
    memory_bytes_max: u64,
    accepted: AtomicU64,
    // A sample is taken by whichever request comes after its time; the lock is held for a few reads.
    sample: Mutex<Sample>,
}

#[derive(Clone, Copy)]
struct Sample {
    at: Timestamp,
    ended: u64,
    /// Runs that end per second, smoothed.
    drain_per_sec: f64,
    memory_bytes: u64,
}

impl Admission {
    pub fn new(unfinished_max: usize, memory_bytes_max: u64) -> Admission {
        let sample = Sample { at: Timestamp(0), ended: 0, drain_per_sec: 0.0, memory_bytes: 0 };
        Admission {
            unfinished_max,
            memory_bytes_max,
            accepted: AtomicU64::new(0),
            sample: Mutex::new(sample),
        }
    }

    /// Says no when there is too much of anything.
    pub(crate) fn check(&self, now: Timestamp, unfinished: usize, room: Room) -> Result<(), Refusal> {
        let sample = self.sample(now, unfinished);
        let refuse = |reason, retry_after_secs| Err(Refusal { reason, retry_after_secs });
        if !room.accepts {
            return refuse(RefusalReason::Disk, 30);
        }
        if sample.memory_bytes > self.memory_bytes_max {
            return refuse(RefusalReason::Memory, 5);
        }
        if unfinished >= self.unfinished_max {
            // Worth a retry when a hundredth of the backlog has drained: room for many, not for one.
            let excess = (unfinished - self.unfinished_max + self.unfinished_max / 100 + 1) as f64;
            return refuse(RefusalReason::Backlog, seconds_to_drain(excess, sample.drain_per_sec));
        }
        Ok(())
    }

    pub(crate) fn note_accepted(&self, count: u64) {
        self.accepted.fetch_add(count, Ordering::Relaxed);
    }

    fn sample(&self, now: Timestamp, unfinished: usize) -> Sample {
        let mut sample = self.sample.lock().expect("nobody panics while sampling");
        let passed = now.since(sample.at);
        if passed >= SAMPLE_EVERY {
            let ended = self.accepted.load(Ordering::Relaxed).saturating_sub(unfinished as u64);
            let rate = ended.saturating_sub(sample.ended) as f64 * 1000.0 / passed.as_ms() as f64;
            let drain_per_sec = sample.drain_per_sec * 0.7 + rate * 0.3;
            *sample = Sample { at: now, ended, drain_per_sec, memory_bytes: resident_bytes() };
        }
        *sample
    }
}

fn seconds_to_drain(requests: f64, per_sec: f64) -> u64 {
    let (min, max) = RETRY_AFTER_SECS.into_inner();
    if per_sec < 0.001 { max } else { ((requests / per_sec).ceil() as u64).clamp(min, max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { free_bytes: 1 << 30, used_bytes: 0, accepts: true };

    // guards: 15
    #[test]
    fn a_full_backlog_is_refused_with_the_time_that_draining_takes() {
        let admission = Admission::new(1000, u64::MAX);
        admission.note_accepted(1000);
        assert_eq!(admission.check(Timestamp(1000), 999, ROOM), Ok(()));
        let refusal = admission.check(Timestamp(1100), 1000, ROOM).unwrap_err();
        assert_eq!(refusal.reason, RefusalReason::Backlog);
        // Ten end per second; eleven must go.
        let mut unfinished = 1000;
        for tick in 1..60 {
            admission.note_accepted(10);
            unfinished = 1000;
            let _ = admission.check(Timestamp(1000 + tick * 1000), unfinished, ROOM);
        }
        let refusal = admission.check(Timestamp(60_100), unfinished, ROOM).unwrap_err();
        assert_eq!(refusal.retry_after_secs, 2);
    }

    #[test]
    fn nothing_is_accepted_when_the_disk_or_the_memory_is_used_up() {
        let full = Room { accepts: false, ..ROOM };
        let refusal = Admission::new(10, u64::MAX).check(Timestamp(1000), 0, full).unwrap_err();
        assert_eq!(refusal.reason, RefusalReason::Disk);
        let refusal = Admission::new(10, 1).check(Timestamp(1000), 0, ROOM).unwrap_err();
        assert_eq!(refusal.reason, RefusalReason::Memory);
    }
}
