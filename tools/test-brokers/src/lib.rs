//! External programs that tests talk to: each is started on free ports of this machine, with data of its own, and
//! stops when its handle is dropped, or when the process dies.

mod authority;
mod azurite;
mod installed;
mod kafka;
mod nats;
mod nats_cluster;
mod process;
mod rabbitmq;

pub use authority::{Authority, Certificate};
pub use azurite::Azurite;
pub use installed::{nats_server, node, python};
pub use kafka::KafkaMock;
pub use nats::NatsServer;
pub use nats_cluster::{NatsCluster, NatsSettings};
pub use rabbitmq::RabbitMq;
