//! The limits of the client and of the protocol, with the calculations that they come from.

use std::time::Duration;

/// How long a response may take: a commit takes milliseconds, so a server that is silent for longer may be gone.
pub(crate) const RESPONSE_MAX: Duration = Duration::from_secs(2);
/// How long the creation of a stream may take, if the caller repeats it. The stream elects its leader first; of several
/// requests to create the same stream, the server responds to the last one only.
pub(crate) const CREATE_RESPONSE_MAX: Duration = Duration::from_secs(2);
/// How long any other change of a stream may take: it may have to find servers and a leader first.
pub(crate) const CHANGE_RESPONSE_MAX: Duration = Duration::from_secs(15);
/// Two pings without a response end a connection, so a frozen server costs a few seconds.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(1);
pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(5);
pub(crate) const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(1);

/// The pause after the first failure; it doubles up to [`PAUSE_MAX`]. The election of a leader takes 4 to 9 s.
pub(crate) const PAUSE_FIRST: Duration = Duration::from_millis(20);
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Attempts to find or create a stream; with the pauses, half a minute at most.
pub(crate) const CREATE_ATTEMPTS_MAX: u32 = 20;

/// Rounds in which all sources are asked for a damaged or missing message before it counts as lost; with the pauses a few
/// seconds, in which a replica that is catching up can receive it.
pub(crate) const FETCH_ROUNDS_MAX: u32 = 6;
/// Direct reads per round; which replica responds is random.
pub(crate) const REPLICA_TRIES: u32 = 6;

/// How often a stream is asked again that should have more than it reports. A leader that was just elected may still be
/// reading its store, which takes seconds; with the pauses it has half a minute.
pub(crate) const SHORT_MAX: u32 = 35;

/// How often each stream is asked for when the journal is opened; with the pauses, about ten seconds.
pub(crate) const OPEN_TRIES_MAX: u32 = 15;

/// Messages of one inbox that are sent and not acknowledged. More would not be faster: the server writes them one after
/// the other, and requests that wait meanwhile share the next message.
pub(crate) const INBOX_IN_FLIGHT_MAX: usize = 4;
/// Requests of one inbox that wait to be sent, in KiB: 16 full messages.
pub(crate) const INBOX_WAITING_KIB_MAX: usize = 64 << 10;
/// How long a request is sent again before its outcome counts as unknown; far below the two minutes of the stream's
/// duplicate window.
pub(crate) const INBOX_PATIENCE: Duration = Duration::from_secs(30);

/// The longest gap of an inbox that is closed with empty messages, a few milliseconds each. Across a longer gap the stream
/// is moved at once, and the messages that it still has are deleted. It is more than an owner can have read ahead, twice
/// 256 KiB of requests of a hundred bytes: across a longer gap, all of them were taken.
pub(crate) const GAP_FILLED_MAX: u64 = 8192;

/// Positions of readers that are remembered; further readers search for theirs.
pub(crate) const PLACES_MAX: usize = 16;

/// Messages that are read with one request; more would only be cut off by the limit of bytes.
pub(crate) const RANGE_MESSAGES_MAX: u64 = 4096;
/// What is read beyond the bytes that were asked for, because messages have heads.
pub(crate) const RANGE_BYTES_MORE: usize = 64 << 10;
/// Bytes that are read with one request: two of the largest messages.
pub(crate) const RANGE_BYTES_MAX: usize = 8 << 20;

/// How often the servers are asked how much room is left.
pub(crate) const ROOM_PERIOD: Duration = Duration::from_secs(10);
