//! The options of a journal.

use std::sync::Arc;
use std::time::Duration;

/// How a [`crate::DiskJournal`] is opened.
#[derive(Clone)]
pub struct Settings {
    /// Partitions besides control; fixed when the directory is created.
    pub partitions: u16,
    /// The size of one segment file.
    pub segment_bytes: u64,
    /// Reserved space, so that running work can finish on a full disk.
    pub reserve_bytes: u64,
    pub sync: Sync,
    /// How long a group waits at most for more requests, when many are about to arrive. Zero: a group is whatever
    /// arrived while the last one was synced.
    pub linger_max: Duration,
    /// Bytes of the newest inbox records that are cached in memory, all partitions together.
    pub cache_bytes: usize,
    pub on_fatal: OnFatal,
}

impl Settings {
    /// The defaults for a number of partitions.
    pub fn new(partitions: u16) -> Settings {
        Settings {
            partitions,
            segment_bytes: 64 << 20,
            reserve_bytes: 64 << 20,
            sync: Sync::Data,
            linger_max: Duration::from_micros(500),
            cache_bytes: 32 << 20,
            on_fatal: OnFatal::exit(),
        }
    }
}

/// When an append counts as durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// After a data sync of the file.
    Data,
    /// At once, only for benchmarks: a power cut loses acknowledged records.
    Off,
}

/// The log could not be written or synced: the state of its last bytes is unknown, so the process must not continue.
#[derive(Debug, thiserror::Error)]
#[error("{doing} {file}: {source}")]
pub struct FatalError {
    pub doing: &'static str,
    pub file: String,
    pub source: std::io::Error,
}

/// The reaction to a [`FatalError`], after which the journal acknowledges nothing more.
#[derive(Clone)]
pub struct OnFatal(Arc<dyn Fn(&FatalError) + Send + std::marker::Sync>);

impl OnFatal {
    /// The exit code of a process that stopped itself because of its disk.
    pub const EXIT_CODE: i32 = 75;

    /// Ends the process, which recovers when it starts again. The default, and the only safe one outside tests.
    pub fn exit() -> OnFatal {
        OnFatal(Arc::new(|_| std::process::exit(OnFatal::EXIT_CODE)))
    }

    /// Calls `hook` instead. If it returns, every waiting and later append fails.
    pub fn call(hook: impl Fn(&FatalError) + Send + std::marker::Sync + 'static) -> OnFatal {
        OnFatal(Arc::new(hook))
    }

    pub(crate) fn run(&self, error: &FatalError) {
        tracing::error!(error = %error, "the journal cannot be written: stopping");
        (self.0)(error);
    }
}
