//! The bounds of the view, each with its unit and how it was computed.

use std::time::Duration;

/// Rows of one page at most: 1,000 summaries of about 200 bytes are 200 KB of answer.
pub const PAGE_ROWS_MAX: usize = 1000;

/// Index entries that one page examines at most, as a multiple of its limit; only a query that filters beyond
/// its index (key and workflow together) ever gets near it, and gets a short page with a cursor.
pub(crate) const SCAN_PER_ROW_MAX: usize = 8;

/// Entries that one call of `forget_before` examines at most, as a multiple of its limit.
pub(crate) const FORGET_SCAN_PER_RUN_MAX: usize = 4;

/// A writer waits when the memtables use this many times their budget: twice, so that one budget's worth can be
/// written to disk while the next fills.
pub(crate) const STALL_AT_BUDGETS: u64 = 2;

/// The longest that one `put_ended` waits for room. Twenty puts a second of 2 KB each let memory grow by 40 KB/s
/// at worst while the disk stalls, and the owner's loop never waits longer than this per run.
pub(crate) const STALL_MAX: Duration = Duration::from_millis(50);

/// Files kept open over all trees: tables are about 16 MiB, so this covers 8 GiB of hot data.
pub(crate) const OPEN_FILES_MAX: usize = 512;

/// The size of a table file that compaction aims at. With four tables at level 0 the first level holds 64 MiB, so
/// that a flush of a few MiB rewrites tens of MiB at most, not hundreds.
pub(crate) const TABLE_BYTES: u64 = 16 * 1024 * 1024;

/// Runs at level 0 before they are merged down.
pub(crate) const LEVEL0_TABLES: u8 = 4;

/// The size of a data block before compression: a handful of runs, or some hundred index entries.
pub(crate) const BLOCK_BYTES: u32 = 8 * 1024;

/// A partition is compacted as a whole when more than one in this many of its entries is a tombstone, so that
/// pages never walk over a long stretch of removed runs and their space is freed.
pub(crate) const TOMBSTONES_ONE_IN: u64 = 4;

/// Below this many tombstones nothing is gained by compacting for them.
pub(crate) const TOMBSTONES_MIN: u64 = 10_000;

/// Runs at level 0 after which a flush compacts first. The tree's manifest can list at most 255.
pub(crate) const LEVEL0_RUNS_MAX: usize = 64;

/// Space left on the disk after every table: for the manifest, a directory, and concurrent writers.
pub(crate) const ROOM_BYTES_MIN: u64 = 1024 * 1024;

/// Memtables that wait for disk space before no new one is started: a look-up searches each of them.
pub(crate) const SEALED_MAX: usize = 8;

/// The most that one step of compaction rewrites: the first level, 64 MiB, and as much again that is merged into it.
pub(crate) const COMPACTED_BYTES_MAX: u64 = 8 * TABLE_BYTES;

/// Bits per entry in the filters. A look-up of a new id checks every table, some hundred of them: at 10 bits (1 in 100
/// is wrong) each such look-up reads a block of data, at 16 (1 in 2,000) one in twenty does. About 11 bytes per run.
pub(crate) const FILTER_BITS_PER_KEY: f32 = 16.0;
