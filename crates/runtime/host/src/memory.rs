//! How much memory the process has, looked at now and then.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use types::{Span, Timestamp};

/// How often it is looked at: reading it is a call of the system.
const LOOK_EVERY: Span = Span::from_ms(100);

/// Tells when the process has more memory than it should.
#[derive(Debug)]
pub struct Memory {
    bytes_max: u64,
    looked_at_ms: AtomicI64,
    short: AtomicBool,
}

impl Memory {
    pub fn new(bytes_max: u64) -> Memory {
        Memory { bytes_max, looked_at_ms: AtomicI64::new(i64::MIN), short: AtomicBool::new(false) }
    }

    /// Whether the resident memory was over its bound when it was last looked at.
    pub fn is_short(&self, now: Timestamp) -> bool {
        // Without a bound the answer must not follow from the machine: simulations are repeated.
        if self.bytes_max == u64::MAX {
            return false;
        }
        let looked_at = Timestamp(self.looked_at_ms.load(Ordering::Relaxed));
        if now.since(looked_at) >= LOOK_EVERY {
            self.looked_at_ms.store(now.0, Ordering::Relaxed);
            self.short.store(resident_bytes() > self.bytes_max, Ordering::Relaxed);
        }
        self.short.load(Ordering::Relaxed)
    }
}

/// The resident memory of this process; zero where the system does not tell.
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
