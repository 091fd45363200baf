//! The bounds and sizes of the journal on disk, each with how it was computed.

use std::time::Duration;

/// A group starts on its own page, so that a torn write never reaches bytes that were acknowledged before.
pub const PAGE_BYTES: usize = 4096;

/// A frame starts on a multiple of this; the search for the next readable frame steps by it.
pub const FRAME_ALIGN: usize = 8;

/// A group accepts no further requests once it is this large: one sync of 4 MiB stays under 10 ms on a common disk.
pub const GROUP_BYTES_MAX: usize = 4 << 20;

/// The largest payload of a frame: a full group, one more record that had started it, and their lengths.
pub const PAYLOAD_BYTES_MAX: usize = GROUP_BYTES_MAX * 4;

/// Requests that may wait for the writer, in bytes: sixteen full groups.
pub const WAITING_BYTES_MAX: usize = 64 << 20;

/// The cost of a waiting request besides its bytes.
pub const WAITING_COST_BYTES: usize = 256;

/// The first segment after opening has at most this size, so that opening does not wait for zeros to be written.
pub const OPENING_SEGMENT_BYTES: u64 = 8 << 20;

/// A group waits for more only when the last one had this many requests.
pub const LINGER_FROM_REQUESTS: u32 = 2;

/// How long it waits, for each request of the last group: about what a busy machine needs to send the next one.
pub const LINGER_PER_REQUEST: Duration = Duration::from_micros(50);

/// How long the writer waits for requests before it writes a mark of what is durable.
pub const IDLE_BEFORE_MARK: Duration = Duration::from_millis(20);

/// How often a full disk is checked again, and how old the answer of `room` may be.
pub const SPACE_LOOK: Duration = Duration::from_millis(200);

/// Snapshots kept per partition.
pub const SNAPSHOTS_KEPT: usize = 2;

/// Open segment files kept for reading.
pub const READ_FILES_MAX: usize = 16;

/// The bytes of one frame that are read before its length is known; most frames are smaller.
pub const READ_AHEAD_BYTES: usize = 16 << 10;
