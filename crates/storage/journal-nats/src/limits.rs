//! The bounds of the protocol, with how they were computed.

use std::time::Duration;

/// The pause after the first failure; it doubles up to [`PAUSE_MAX`]. A leader is elected within 4 to 9 s.
pub(crate) const PAUSE_FIRST: Duration = Duration::from_millis(20);
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(1);

/// How often who holds a damaged or missing message is looked for in vain, before it counts as lost: with the pauses
/// between, some seconds, in which a replica that is catching up can have it.
pub(crate) const FETCH_ROUNDS_MAX: u32 = 6;
/// How often a replica is asked in each round; which one answers is chance.
pub(crate) const REPLICA_TRIES: u32 = 6;

/// How often a stream is asked again that should have more than it says. A leader that was just elected may still be
/// reading what it has, which takes seconds; with the pauses it has half a minute.
pub(crate) const SHORT_MAX: u32 = 35;

/// How often each stream is asked for when the journal is opened; with the pauses, some ten seconds.
pub(crate) const OPEN_TRIES_MAX: u32 = 15;

/// Messages of one inbox that are sent and not answered. More would not be faster: the server writes them one after
/// the other, and what waits meanwhile shares the next.
pub(crate) const INBOX_IN_FLIGHT_MAX: usize = 4;
/// Requests of one inbox that wait to be sent, in KiB: 16 full messages.
pub(crate) const INBOX_WAITING_KIB_MAX: usize = 64 << 10;
/// How long a request is sent again before its fate counts as unknown; far below the two minutes for which the
/// stream knows what it has stored.
pub(crate) const INBOX_PATIENCE: Duration = Duration::from_secs(30);

/// Numbers of an inbox that are used up by messages, each some milliseconds; a stream that ends further back is moved on
/// at once, and what it still has is dropped. More than an owner can have read after what it took, twice 256 KiB of
/// requests with a hundred bytes each: so far back, all was taken up.
pub(crate) const GAP_FILLED_MAX: u64 = 8192;

/// Places up to which reads have come and that are remembered; more readers than that search for theirs.
pub(crate) const PLACES_MAX: usize = 16;

/// What is read beyond the bytes that were asked for, since messages have heads.
pub(crate) const RANGE_BYTES_MORE: usize = 64 << 10;
/// What is read at once at most: as much as two of the largest messages.
pub(crate) const RANGE_BYTES_MAX: usize = 8 << 20;

/// How often the room is looked at.
pub(crate) const ROOM_PERIOD: Duration = Duration::from_secs(10);
