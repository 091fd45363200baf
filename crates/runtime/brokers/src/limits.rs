//! Every bound of this crate, with how it was computed.

use std::time::Duration;

/// Connections that are kept to one kind of broker. A connection to RabbitMQ is a thread and 2 × 4 MiB of buffers at
/// its most (32 frames of 128 KiB, in and out): 64 of them stay under 512 MiB when all are at their most.
pub const CONNECTIONS_MAX: usize = 64;

/// A connection that nobody has used for so long is closed. Service Bus closes them after 10 minutes by itself.
pub const IDLE: Duration = Duration::from_secs(5 * 60);

/// How often idle connections are looked for: one stays at most a minute longer than it should.
pub const SWEEP: Duration = Duration::from_secs(60);

/// Channels of one connection to RabbitMQ, and so its sends in flight. The server allows 2,047 and keeps a few tens
/// of kilobytes for each; 512 at a millisecond or two per confirmation are some 300,000 messages a second.
pub const CHANNELS_MAX: usize = 512;

/// Links of one AMQP 1.0 connection, one per address. RabbitMQ and Service Bus both allow more (255 and up).
pub const LINKS_MAX: usize = 200;

/// Topics of one connection to Kafka whose partitions are remembered.
#[cfg(feature = "kafka")]
pub const TOPICS_MAX: usize = 200;

/// The longest wait for one address to take a connection and to shake hands.
pub const CONNECT: Duration = Duration::from_secs(10);

/// The longest wait for a name to be looked up.
pub const RESOLVE: Duration = Duration::from_secs(5);

/// Addresses of one name that are tried.
pub const ADDRESSES_MAX: usize = 8;

/// The longest wait for a peer to answer a goodbye; then it is hung up on.
pub const GOODBYE: Duration = Duration::from_secs(2);

/// A peer that says nothing for so long is gone. Twice what is asked of it, as the protocols advise.
pub const SILENCE: Duration = Duration::from_secs(60);

/// The longest wait for opening a receiver: connection, login and subscription.
pub const OPEN: Duration = Duration::from_secs(30);

/// The longest wait for the server to take a settlement.
pub const SETTLE: Duration = Duration::from_secs(30);

/// How long JetStream waits for a settlement before it delivers a message again.
pub const NATS_ACK_WAIT: Duration = Duration::from_secs(60);

/// Deliveries that a receiver may hold unsettled. RabbitMQ counts them in 16 bits.
pub const CREDIT_MAX: u32 = 10_000;

/// Bytes of a name or a property that 0-9-1 writes with its length in one byte.
pub const SHORT_TEXT_MAX: usize = 255;
