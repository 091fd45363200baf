//! What an input has cost: time on the processor, and memory.

use std::fs;
use std::time::Duration;

/// How long this thread has been on a processor. Unlike the clock it does not see what else the machine does.
pub fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Bytes that the process holds in memory now, and the most it has held since [`forget_peak`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub now: u64,
    pub peak: u64,
}

pub fn memory() -> Option<Memory> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok().map(|kib| kib << 10)
    };
    Some(Memory { now: bytes("VmRSS:")?, peak: bytes("VmHWM:")? })
}

/// Resets the measured peak. False where the kernel does not offer it.
pub fn forget_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_vector_shows_in_the_peak() {
        if !forget_peak() {
            eprintln!("skipped: this kernel cannot reset the peak of memory");
            return;
        }
        let before = memory().unwrap();
        drop(std::hint::black_box(vec![1u8; 96 << 20]));
        let after = memory().unwrap();
        assert!(after.peak >= before.now + (80 << 20), "{before:?} {after:?}");
    }

    #[test]
    fn work_shows_in_the_time_on_the_processor() {
        let Some(before) = processor_time() else {
            eprintln!("skipped: this kernel does not report the CPU time of a thread");
            return;
        };
        // The kernel counts at its ticks, so work until it has counted.
        while processor_time().unwrap() == before {
            std::hint::black_box((0..100_000u64).sum::<u64>());
        }
    }
}
