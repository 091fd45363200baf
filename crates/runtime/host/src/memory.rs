//! The memory use of the process, sampled.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use types::{Span, Timestamp};

/// How often it is sampled: reading it is a system call.
const SAMPLE_EVERY: Span = Span::from_ms(100);

/// Reports whether the process uses more memory than it should.
#[derive(Debug)]
pub struct Memory {
    bytes_max: u64,
    sampled_at_ms: AtomicI64,
    short: AtomicBool,
}

impl Memory {
    pub fn new(bytes_max: u64) -> Memory {
        Memory { bytes_max, sampled_at_ms: AtomicI64::new(i64::MIN), short: AtomicBool::new(false) }
    }

    /// Whether the resident memory was over its limit in the last sample.
    pub fn is_short(&self, now: Timestamp) -> bool {
        // Without a limit the result must not depend on the machine: simulations are repeatable.
        if self.bytes_max == u64::MAX {
            return false;
        }
        let sampled_at = Timestamp(self.sampled_at_ms.load(Ordering::Relaxed));
        if now.since(sampled_at) >= SAMPLE_EVERY {
            self.sampled_at_ms.store(now.0, Ordering::Relaxed);
            self.short.store(resident_bytes() > self.bytes_max, Ordering::Relaxed);
        }
        self.short.load(Ordering::Relaxed)
    }
}

/// The resident memory of this process; zero where the system does not report it.
pub fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_short_above_its_bound_and_never_without_one() {
        assert!(Memory::new(1).is_short(Timestamp(0)));
        assert!(!Memory::new(1 << 50).is_short(Timestamp(0)));
        assert!(!Memory::new(u64::MAX).is_short(Timestamp(0)));
    }
}
