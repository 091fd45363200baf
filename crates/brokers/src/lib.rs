//! Other people's brokers: sends messages that the broker confirms, and takes messages from queues and streams.

mod destination;
mod sender;

pub use destination::{Destination, Login};
pub use sender::{Brokers, SendError};
