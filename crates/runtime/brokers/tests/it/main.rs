//! Real brokers, and external clients that receive what was sent.

#![allow(clippy::unwrap_used)]

mod amqp;
mod kafka;
mod nats;
mod rabbit;
mod shared;
mod tls;
