//! The bounds of outbound calls, each with its unit and its reason.

use std::time::Duration;

/// An answer's body is read up to this size unless the request says otherwise.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// An answer's status line and headers; their number is bounded at 100 by hyper's parser.
pub const HEAD_BYTES_MAX: usize = 16 * 1024;

/// What hyper may buffer per connection: a full head and a slice of the body.
/// 10,000 connections at their worst hold 320 MB, and only while servers send faster than we read.
pub const BUFFER_BYTES_MAX: usize = 32 * 1024;

/// An attempt's deadline when its service sets none: connect, TLS, headers and body together.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A URL as rendered for a call; servers commonly refuse request lines above 8 KiB.
pub const URL_BYTES_MAX: usize = 8 * 1024;

/// Connections, and so calls in flight, to one origin.
pub const CONNECTIONS_PER_ORIGIN: usize = 1024;

/// Connections to one origin that are being opened at once; half of the smallest usual backlog, 128.
pub const DIALS_PER_ORIGIN: usize = 64;

/// Connections in all: leaves room for inbound ones under a file limit of 65,536.
pub const CONNECTIONS_TOTAL: usize = 16_384;

/// Servers commonly close idle connections after 60 to 120 s, some after 35; we close ours first.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// TCP connect per address, and TLS handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// One name lookup.
pub const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Addresses of one name that are used; more are ignored.
pub const ADDRESSES_MAX: usize = 16;

/// How long the answers of one lookup serve the connections opened after it.
/// Long enough that a burst of connections makes one lookup, short enough to follow a failover.
pub const RESOLVED_FOR: Duration = Duration::from_secs(1);

/// The longest wish of a service to be left alone that an attempt honours.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// How much of an answer's body is quoted in a reason.
pub const REASON_CHARS_MAX: usize = 200;

/// Calls in flight to one service unless its definition says otherwise.
pub const CONCURRENCY_MAX: u32 = 64;

/// An attempt of a job's action, from the token to the last byte of the answer: what Azure Scheduler gave it.
pub const JOB_TIMEOUT: Duration = Duration::from_secs(60);

/// How much of an answer's body stands in a job's history: what Azure Scheduler kept of it.
pub const JOB_BODY_CHARS_MAX: usize = 1024;

/// How much of an answer's headers stands in a job's history; a quarter of what an answer may have.
pub const JOB_HEADERS_CHARS_MAX: usize = 4096;

/// Calls of jobs in flight to one origin.
pub const JOB_CALLS_PER_ORIGIN: usize = 64;

/// A message's id: the longest that Service Bus takes.
pub const MESSAGE_ID_CHARS_MAX: usize = 128;

/// How long a signature for a service bus counts. It is made again for every attempt; the rest is for clocks that differ.
pub const SAS_LIFETIME: Duration = Duration::from_secs(3600);

/// Tokens that are kept; each has a few kilobytes.
pub const TOKENS_MAX: usize = 1024;

/// A token is not used in its last minutes: it must outlive the call, and clocks differ.
pub const TOKEN_MARGIN: Duration = Duration::from_secs(300);

/// Client certificates that are kept open; opening one again costs some milliseconds.
pub const CERTIFICATES_MAX: usize = 256;

/// Notices that a feed or an endpoint has while the other has not; some 200 bytes each.
pub const HALF_NOTICES_MAX: usize = 10_000;

/// Bytes of what the feed receives of a run, of the 320 KiB that a message may have.
pub const FEED_BYTES_MAX: usize = 240 * 1024;
