//! How much a bulk may ask for and do.

use std::time::Duration;

/// Runs that one bulk may name by their ids.
pub const BULK_IDS_MAX: usize = 1000;

/// Runs per second that a bulk acts on, unless it says how many, and at most.
pub const BULK_RATE_DEFAULT: u32 = 50;
pub const BULK_RATE_MAX: u32 = 1000;

/// Bytes of the note of a bulk: it is kept in every run's timeline.
pub const BULK_NOTE_BYTES_MAX: usize = 1000;

/// Characters of the reason that a bulk selects by, and of the step that it decides on.
pub const BULK_TEXT_CHARS_MAX: usize = 256;

/// Runs that are counted before the count is reported as a minimum.
pub const BULK_COUNTED_MAX: u64 = 10_000;

/// Rows of the list that are read to count, at most: a rare reason may be far apart.
pub const BULK_COUNTED_ROWS_MAX: usize = 20_000;

/// Rows of one page while runs are counted.
pub(crate) const BULK_COUNTED_PAGE: usize = 1000;

/// Runs of the page that is persisted before the bulk acts on it: a second's worth, but no more than these.
pub const BULK_PAGE_MAX: u32 = 200;

/// Runs that a dry run shows, and failed runs that a bulk reports.
pub const BULK_SAMPLE_MAX: usize = 20;

/// Bulks that run at once.
pub const BULKS_RUNNING_MAX: usize = 8;

/// Bulks that have ended and are still shown.
pub const BULKS_ENDED_MAX: usize = 100;

/// Attempts for one run before it counts as failed; overload is waited out however long it takes.
pub const BULK_TRIES_MAX: u32 = 20;

/// The longest wait before the next attempt, whatever the refusal said.
pub const BULK_WAIT_MAX: Duration = Duration::from_secs(30);
