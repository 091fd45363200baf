//! The bounds of ingest, each with its unit and the calculation that it comes from.

/// Bytes of one request body.
pub const BODY_BYTES_MAX: usize = 256 << 10;

/// Ids that are made until one falls into a partition that is held here. With one partition of 64 held, all of them fall
/// elsewhere once in three thousand times, and then the request is written to an inbox of another instance.
pub const DRAWS_MAX: usize = 512;

/// Requests in one batch.
pub const BATCH_REQUESTS_MAX: usize = 1000;

/// Bytes of one batch.
pub const BATCH_BYTES_MAX: usize = 4 << 20;

/// Requests that are accepted and have not ended. Each costs some 64 bytes of memory while it waits: 128 MiB.
pub const UNFINISHED_RUNS_MAX: usize = 2_000_000;

/// Resident memory above which nothing new is accepted.
pub const MEMORY_BYTES_MAX: u64 = 4 << 30;
