//! Other people's brokers: sends messages that the broker confirms, and takes messages from queues and streams.

mod address;
mod amqp;
mod destination;
mod dial;
mod fields;
mod guard;
mod kafka;
mod limits;
mod nats;
mod origin;
mod pool;
mod rabbit;
mod receiver;
mod sender;

pub use destination::{Destination, Login};
pub use guard::{Anywhere, Guard};
pub use origin::Origin;
pub use receiver::{Delivery, ReceiveError, Receiver};
pub use sender::{Brokers, SendError};
