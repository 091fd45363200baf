//! The bounds of the engine, each with its unit and the sum behind it.

/// Calls that may be owed or under way at once, over all partitions. About 600 saturate two cores.
pub const CALLS_MAX: usize = 1024;

/// Runs held in memory at once without being parked, over all partitions; about 1 KB each.
pub const LIVE_RUNS_MAX: usize = 100_000;

/// Inputs that go into one frame.
pub const BATCH_INPUTS_MAX: usize = 512;

/// Bytes of events after which a frame takes no more inputs. One input adds at most a body of 256 KiB, an output
/// of 64 KiB, or what comes of 500 due runs: the frame stays below the 4 MiB that the journal takes.
pub const BATCH_BYTES_MAX: usize = 1 << 20;

/// Bytes of requests read from the inbox at once.
pub const INBOX_READ_BYTES: usize = 256 << 10;

/// Bytes of events read at once while recovering.
pub const RECOVERY_READ_BYTES: usize = 4 << 20;

/// Bytes of events after which a partition takes a snapshot: 32 partitions keep at most 256 MiB of journal.
pub const SNAPSHOT_AFTER_BYTES: u64 = 8 << 20;

/// Runs that one query of live runs hands back.
pub const QUERY_RUNS_MAX: usize = 1000;
