//! Kafka, where it is built in.

#[cfg(feature = "kafka")]
mod client;

#[cfg(feature = "kafka")]
pub(crate) use client::{KafkaConnection, send};
#[cfg(not(feature = "kafka"))]
pub(crate) use left_out::{KafkaConnection, send};

/// Where at the cluster a message goes.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "kafka"), expect(dead_code, reason = "nothing is sent"))]
pub(crate) struct KafkaTarget<'a> {
    pub topic: &'a str,
    pub key: Option<&'a str>,
}

#[cfg(not(feature = "kafka"))]
mod left_out {
    use tokio::time::Instant;
    use types::Message;

    use super::KafkaTarget;
    use crate::pool::PooledConnection;
    use crate::protocol::BrokerPools;
    use crate::{Login, SendError};

    /// There is none.
    pub(crate) enum KafkaConnection {}

    impl PooledConnection for KafkaConnection {
        fn alive(&self) -> bool {
            match *self {}
        }
    }

    pub(crate) async fn send(
        _inner: &BrokerPools,
        _servers: &str,
        _place: KafkaTarget<'_>,
        _login: Option<&Login>,
        _message: &Message,
        _deadline: Instant,
    ) -> Result<(), SendError> {
        Err(SendError::Refused(
            "Kafka is not part of this build; build with `--features kafka` to send there".to_owned(),
        ))
    }
}
