//! The bounds of the engine, each with its unit and how it was computed.

use std::time::Duration;

/// How often a partition that waits for disk space checks again.
pub const ROOM_LOOK: Duration = Duration::from_millis(200);

/// Calls that may be pending or in flight at once, over all partitions. About 600 saturate two cores.
pub const CALLS_MAX: usize = 1024;

/// Calls that may be pending or in flight when another job fires, over all partitions: further jobs wait in the view,
/// not in memory, where a call that waits takes some 12 KB. More than `CALLS_MAX`, so that jobs whose targets are slow
/// leave room for others.
pub const FIRING_CALLS_MAX: usize = 16 * CALLS_MAX;

/// Clients waiting for an acknowledgement at once while requests are still taken: 10,000 a second, 6 ms each. When
/// more wait, there is a spike, and accepted requests can wait on disk.
pub const ENTERING_MAX: usize = 64;

/// How often a partition that yields to ingest checks whether the spike is over.
pub const SPIKE_LOOK: Duration = Duration::from_millis(5);

/// Runs held in memory at once without being parked, over all partitions; about 1 KB each.
pub const LIVE_RUNS_MAX: usize = 100_000;

/// Bytes of the requests of runs in memory at once, over all partitions: 4,096 of the largest.
pub const LIVE_BYTES_MAX: usize = 1 << 30;

/// Inputs in one frame.
pub const BATCH_INPUTS_MAX: usize = 512;

/// Bytes of events after which a frame takes no further inputs. One input adds at most a body of 256 KiB, an output
/// of 64 KiB, the events of 500 due runs, the changes to the 10,000 jobs of a collection, or an import: the
/// frame stays below the journal's limit of 4 MiB.
pub const BATCH_BYTES_MAX: usize = 1 << 20;

/// Occurrences of jobs that one frame starts: half of its inputs, so that requests make progress too.
pub const FIRINGS_PER_BATCH_MAX: usize = BATCH_INPUTS_MAX / 2;

/// Bytes of a job in a frame besides its document: names, rule, progress.
pub const JOB_BYTES: usize = 1000;

/// Bytes of jobs that one import writes; with a frame that is nearly full they stay below its 4 MiB.
pub const IMPORT_BYTES_MAX: usize = 5 << 19;

/// Messages that one consumer receives at once.
pub const RECEIVED_MAX: usize = 256;

/// Bytes of messages that one consumer receives at once, the last one not counted: an answer of 1.25 MiB at most.
pub const RECEIVED_BYTES_MAX: usize = 1 << 20;

/// Messages that a redrive or purge moves in one frame, some 50 KB of events; the caller repeats it for more.
pub const REDRIVEN_MAX: usize = 1000;

/// Bytes of requests read from the inbox at once.
pub const INBOX_READ_BYTES: usize = 256 << 10;

/// Bytes of events read at once while recovering; a frame of up to 4 MiB is read whole.
pub const RECOVERY_READ_BYTES: usize = 1 << 20;

/// How long to wait for a claim of a remote journal: a leader is elected within 9 s, and a newly elected one
/// gets half a minute to read its data.
pub const CLAIM_PATIENCE: Duration = Duration::from_secs(45);

/// Partitions that recover at once: each keeps what it reads, and the state built from it, in memory.
pub const RECOVERIES_MAX: usize = 4;

/// Bytes of events after which a partition takes a snapshot: 32 partitions keep at most 256 MiB of journal.
pub const SNAPSHOT_AFTER_BYTES: u64 = 8 << 20;

/// Ended occurrences to retain for each job.
pub const HISTORY_MAX_PER_JOB: usize = 1000;

/// Occurrences of a job after which its oldest are searched for: a search reads an entry for each retained one.
pub const HISTORY_TRIM_EVERY: u64 = 100;

/// Bytes of a document of the control partition: sixteen fit into the largest record.
pub const DOCUMENT_BYTES_MAX: usize = 256 << 10;

/// Bytes of the name of a document.
pub const DOCUMENT_NAME_BYTES_MAX: usize = 256;

/// Documents of one kind.
pub const DOCUMENTS_MAX: usize = 1000;
