//! Unique numbers of messages.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies a message: the process that created it, and a counter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce {
    process: u64,
    count: u64,
}

impl Nonce {
    pub fn new(process: u64, count: u64) -> Nonce {
        Nonce { process, count }
    }

    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.process.to_le_bytes());
        bytes[8..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Nonce {
        let half = |from: usize| {
            u64::from_le_bytes(bytes[from..from + 8].try_into().expect("a half has eight bytes"))
        };
        Nonce { process: half(0), count: half(8) }
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.process, self.count)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Creates nonces; `process` is a number that no other journal was opened with.
#[derive(Debug)]
pub struct Nonces {
    process: u64,
    next: AtomicU64,
}

impl Nonces {
    pub fn new(process: u64) -> Nonces {
        Nonces { process, next: AtomicU64::new(1) }
    }

    pub fn make(&self) -> Nonce {
        Nonce::new(self.process, self.next.fetch_add(1, Ordering::Relaxed))
    }
}
