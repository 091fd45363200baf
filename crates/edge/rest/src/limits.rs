//! The bounds of the HTTP edge, each with its unit.

use std::time::Duration;

use types::Span;

/// Connections open at once.
pub const CONNECTIONS_MAX: usize = 10_000;

/// Time for a client to send the head of a request.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection is kept on which nothing happens.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(75);

/// Time for a client to send the body of a request.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a connection's read buffer, which the head of a request must fit into.
pub const HEAD_BYTES_MAX: usize = 64 << 10;

/// Headers of a request.
pub const HEADERS_MAX: usize = 100;

/// Bytes of a definition.
pub const DEFINITION_BYTES_MAX: usize = workflow::limits::SOURCE_BYTES_MAX;

/// Bytes of a decision.
pub const DECISION_BYTES_MAX: usize = 128 << 10;

/// Bytes of what is asked of many runs: the ids of a thousand, each of 128 bytes, quoted.
pub const BULK_BYTES_MAX: usize = 256 << 10;

/// Bytes of a job or a collection with its secrets; what is kept of it is bounded far lower.
pub const JOB_BYTES_MAX: usize = 128 << 10;

/// Bytes of a whole collection. It becomes one frame of the journal.
pub const IMPORT_BYTES_MAX: usize = 1536 << 10;

/// Bytes of a form of somebody who is not known yet: a token, and where to go.
pub const SIGN_IN_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a request that is passed on to the instance that answers it: the most that any of them may have.
pub const PASSED_BYTES_MAX: usize = IMPORT_BYTES_MAX;

/// How long a call waits for somebody to hold its partition, and how long between two looks at most.
pub const HOLDER_PATIENCE: Duration = Duration::from_secs(8);
pub const HOLDER_GLANCE: Duration = Duration::from_millis(250);

/// How long another instance may take to answer. Whoever waits for a message adds its patience.
pub const PASS_PATIENCE: Duration = Duration::from_secs(30);

/// Rows of a page that does not say how many.
pub const PAGE_ITEMS_DEFAULT: usize = 50;

/// Rows of a page.
pub const PAGE_ITEMS_MAX: usize = 1000;

/// Bytes of the inbox that are read to show a request that waits there.
pub const WAITING_READ_BYTES: usize = 256 << 10;

/// Bytes of the body of a message.
pub const MESSAGE_BYTES_MAX: usize = 256 << 10;

/// Bytes of a batch of messages, and how many they may be. It becomes one frame of the journal.
pub const MESSAGES_BYTES_MAX: usize = 1 << 20;
pub const MESSAGES_MAX: usize = 1000;

/// Bytes of an id of a message, a session or a partition key, and of the name of a sender's own property.
pub const MESSAGE_ID_BYTES_MAX: usize = 128;

/// Bytes of any other text that the broker knows.
pub const MESSAGE_TEXT_BYTES_MAX: usize = 1024;

/// Bytes of all of a sender's own properties: with the broker's they are headers that clients must take.
pub const PROPERTIES_BYTES_MAX: usize = 32 << 10;

/// How long a consumer waits that does not say how long, and at most.
pub const PATIENCE_DEFAULT: Span = Span::from_secs(60);
pub const PATIENCE_MAX: Span = Span::from_secs(300);

/// How long a message stays with its consumer.
pub const LOCK_MIN: Span = Span::from_secs(1);
pub const LOCK_MAX: Span = Span::from_secs(3600);

/// Bytes of the settings of a queue, topic or subscription.
pub const QUEUE_BYTES_MAX: usize = 64 << 10;

/// Calls at once that a person may allow a service: more than there are connections to one origin.
pub const SERVICE_LIMIT_MAX: u32 = 10_000;

/// Characters of a note on a service, and bytes of all that a person says about it.
pub const SERVICE_NOTE_CHARS_MAX: usize = 500;
pub const SERVICE_REQUEST_BYTES_MAX: usize = 16 << 10;
