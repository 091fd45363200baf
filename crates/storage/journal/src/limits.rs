//! The bounds of every journal.

/// A record, or the records of one inbox batch together, in bytes. One request is at most 1 MiB by default and
/// an events frame carries one batch of decisions; four of either fit.
pub const RECORD_BYTES_MAX: usize = 4 << 20;
