//! External brokers: sends messages that the broker confirms, and takes messages from queues and streams.

mod address;
mod dial;
mod endpoint;
mod fields;
mod guard;
mod limits;
mod pool;
mod protocol;
mod receiver;
mod sender;

pub use endpoint::{Endpoint, Login, MessageSource, MessageTarget};
pub use guard::{Anywhere, Guard};
pub use receiver::{Delivery, ReceiveError, Receiver};
pub use sender::{Brokers, SendError};
