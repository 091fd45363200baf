//! The bounds of the engine, each with its unit and the sum behind it.

/// Calls that may be owed or under way at once, over all partitions. About 600 saturate two cores.
pub const CALLS_MAX: usize = 1024;

/// Runs held in memory at once without being parked, over all partitions; about 1 KB each.
pub const LIVE_RUNS_MAX: usize = 100_000;

/// Inputs that go into one frame. 512 inputs of some 300 bytes stay far below the largest frame.
pub const BATCH_INPUTS_MAX: usize = 512;

/// Bytes of requests read from the inbox at once.
pub const INBOX_READ_BYTES: usize = 256 << 10;

/// Bytes of events read at once while recovering.
pub const RECOVERY_READ_BYTES: usize = 4 << 20;

/// Bytes of events after which a partition takes a snapshot: 32 partitions keep at most 256 MiB of journal.
pub const SNAPSHOT_AFTER_BYTES: u64 = 8 << 20;

/// Runs that one query of live runs hands back.
pub const QUERY_RUNS_MAX: usize = 1000;
