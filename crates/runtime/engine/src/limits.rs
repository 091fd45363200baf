//! The bounds of the engine, each with its unit and how it was computed.

use std::time::Duration;

/// How often a partition that waits for room on the disk looks again.
pub const ROOM_LOOK: Duration = Duration::from_millis(200);

/// Calls that may be owed or under way at once, over all partitions. About 600 saturate two cores.
pub const CALLS_MAX: usize = 1024;

/// Calls that may be pending or in flight when another job fires, over all partitions: further jobs wait in the view,
/// not in memory, where a call that waits takes some 12 KB. More than `CALLS_MAX`, so that jobs whose targets are slow
/// leave room for others.
pub const FIRING_CALLS_MAX: usize = 16 * CALLS_MAX;

/// Clients that wait for their answer at once while requests are still taken on: 10,000 a second, 6 ms each. When
/// more wait, a spike is on, and what is accepted can wait on disk.
pub const ENTERING_MAX: usize = 64;

/// How often a partition that gives way to a spike looks whether it is over.
pub const SPIKE_LOOK: Duration = Duration::from_millis(5);

/// Runs held in memory at once without being parked, over all partitions; about 1 KB each.
pub const LIVE_RUNS_MAX: usize = 100_000;

/// Bytes of the requests of runs in memory at once, over all partitions: 4,096 of the largest.
pub const LIVE_BYTES_MAX: usize = 1 << 30;

/// Inputs that go into one frame.
pub const BATCH_INPUTS_MAX: usize = 512;

/// Bytes of events after which a frame takes no more inputs. One input adds at most a body of 256 KiB, an output
/// of 64 KiB, what comes of 500 due runs, what a change of a collection makes of its 10,000 jobs, or an import: the
/// frame stays below the 4 MiB that the journal takes.
pub const BATCH_BYTES_MAX: usize = 1 << 20;

/// Occurrences of jobs that one frame begins: half of its inputs, so that requests go on beside them.
pub const FIRINGS_PER_BATCH_MAX: usize = BATCH_INPUTS_MAX / 2;

/// Bytes of a job in a frame besides its document: names, rule, standing.
pub const JOB_BYTES: usize = 1000;

/// Bytes of jobs that one import writes; with a frame that is nearly full they stay below its 4 MiB.
pub const IMPORT_BYTES_MAX: usize = 5 << 19;

/// Messages that one consumer is handed at once.
pub const RECEIVED_MAX: usize = 256;

/// Bytes of messages that one consumer is handed at once, the last one not counted: an answer of 1.25 MiB at most.
pub const RECEIVED_BYTES_MAX: usize = 1 << 20;

/// Messages that a redrive or purge moves in one frame, some 50 KB of events; whoever asks for more asks again.
pub const REDRIVEN_MAX: usize = 1000;

/// Bytes of requests read from the inbox at once.
pub const INBOX_READ_BYTES: usize = 256 << 10;

/// Bytes of events read at once while recovering; a frame of up to 4 MiB is read whole.
pub const RECOVERY_READ_BYTES: usize = 1 << 20;

/// How long a claim is waited for where the journal is elsewhere: a leader is elected within 9 s, and one that was just
/// elected gets half a minute to read what it has.
pub const CLAIM_PATIENCE: Duration = Duration::from_secs(45);

/// Partitions that are brought back at once: each holds what it reads, and what comes of it, for a moment.
pub const RECOVERIES_MAX: usize = 4;

/// Bytes of events after which a partition takes a snapshot: 32 partitions keep at most 256 MiB of journal.
pub const SNAPSHOT_AFTER_BYTES: u64 = 8 << 20;

/// Ended occurrences that are kept of a job.
pub const HISTORY_MAX_PER_JOB: usize = 1000;

/// Occurrences of a job after which its oldest are looked for: a look reads an entry for each that is kept.
pub const HISTORY_TRIM_EVERY: u64 = 100;

/// Bytes of a document of the control partition: sixteen fit into the largest record.
pub const DOCUMENT_BYTES_MAX: usize = 256 << 10;

/// Bytes of the name of a document.
pub const DOCUMENT_NAME_BYTES_MAX: usize = 256;

/// Documents on one shelf.
pub const DOCUMENTS_MAX: usize = 1000;
