//! Sending to a cluster: every replica that is in step has the record when it is confirmed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::DateTime;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rskafka::record::Record;
use tokio::time::{Instant, timeout_at};
use types::Message;

use super::KafkaTarget;
use crate::address::Address;
use crate::dial::Dialer;
use crate::pool::{ConnectionKey, PooledConnection};
use crate::protocol::BrokerPools;
use crate::sender::{before, unconfirmed};
use crate::{Login, SendError, fields, limits};

/// The port of a server that names none.
const PORT: u16 = 9092;
/// The header that holds the id of a message.
const MESSAGE_ID: &str = "x-message-id";

pub(crate) struct KafkaConnection {
    client: Client,
    topics: Mutex<BTreeMap<String, Arc<Topic>>>,
}

struct Topic {
    partitions: Vec<PartitionClient>,
    turn: AtomicUsize,
}

impl PooledConnection for KafkaConnection {
    /// The client connects again by itself.
    fn alive(&self) -> bool {
        true
    }
}

pub(crate) async fn send(
    inner: &BrokerPools,
    servers: &str,
    place: KafkaTarget<'_>,
    login: Option<&Login>,
    message: &Message,
    deadline: Instant,
) -> Result<(), SendError> {
    let addresses: Vec<Address> = servers
        .split(',')
        .map(|server| server.trim_start_matches("kafka://"))
        .map(|server| Address::parse_server(server, PORT).map_err(SendError::Refused))
        .collect::<Result<_, _>>()?;
    let key: ConnectionKey = (servers.to_owned(), login.cloned());
    let connect =
        inner.kafka.get(&key, async || KafkaConnection::open(&inner.dialer, &addresses, login).await);
    let connection = before(deadline, "connecting to Kafka", connect).await?;
    let topic = before(deadline, "looking for the topic at Kafka", connection.topic(place.topic)).await?;
    let produced =
        topic.choose(place.key).produce(vec![record(place.key, message)], Compression::NoCompression);
    match timeout_at(deadline, produced).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(failed(&error)),
        Err(_) => {
            inner.kafka.retire(&key, &connection);
            Err(unconfirmed())
        }
    }
}

impl KafkaConnection {
    async fn open(
        dialer: &Dialer,
        servers: &[Address],
        login: Option<&Login>,
    ) -> Result<KafkaConnection, SendError> {
        let mut sockets = Vec::new();
        for server in servers {
            sockets.extend(dialer.addresses(server).await?.iter().map(ToString::to_string));
        }
        let mut builder = ClientBuilder::new(sockets);
        if let Some(login) = login {
            let credentials = Credentials::new(login.username.clone(), login.password.clone());
            builder = builder.sasl_config(SaslConfig::Plain(credentials));
        }
        let client = builder.build().await;
        let client = client.map_err(|error| SendError::NotSent(format!("connecting to Kafka: {error}")))?;
        Ok(KafkaConnection { client, topics: Mutex::default() })
    }

    async fn topic(&self, name: &str) -> Result<Arc<Topic>, SendError> {
        if let Some(topic) = self.lock().get(name) {
            return Ok(topic.clone());
        }
        let not_sent = |error: Error| SendError::NotSent(format!("looking for the topic {name:?}: {error}"));
        let mut numbers = self.partitions_of(name).await.map_err(not_sent)?;
        if numbers.is_empty() {
            // To ask for it by name makes it, where the cluster makes topics by itself. Whether it did is seen below.
            let _ = self.client.partition_client(name, 0, UnknownTopicHandling::Error).await;
            numbers = self.partitions_of(name).await.map_err(not_sent)?;
        }
        if numbers.is_empty() {
            return Err(SendError::NotSent(format!("Kafka has no topic {name:?}")));
        }
        let mut partitions = Vec::new();
        for number in numbers {
            let client = self.client.partition_client(name, number, UnknownTopicHandling::Error).await;
            partitions.push(client.map_err(not_sent)?);
        }
        let topic = Arc::new(Topic { partitions, turn: AtomicUsize::new(0) });
        let mut topics = self.lock();
        if topics.len() >= limits::TOPICS_MAX {
            topics.clear();
        }
        topics.insert(name.to_owned(), topic.clone());
        Ok(topic)
    }

    async fn partitions_of(&self, name: &str) -> Result<Vec<i32>, Error> {
        let topics = self.client.list_topics().await?;
        let topic = topics.into_iter().find(|topic| topic.name == name);
        Ok(topic.map(|topic| topic.partitions.into_iter().collect()).unwrap_or_default())
    }

    // A lock of our own: a small map, never held across a wait.
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Topic>>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Topic {
    /// The same partition for the same key, and the one that other clients choose; without a key they take turns.
    fn choose(&self, key: Option<&str>) -> &PartitionClient {
        let number = match key {
            Some(key) => (murmur2(key.as_bytes()) & 0x7fff_ffff) as usize,
            None => self.turn.fetch_add(1, Ordering::Relaxed),
        };
        &self.partitions[number % self.partitions.len()]
    }
}

fn record(key: Option<&str>, message: &Message) -> Record {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or_default();
    let id = (!message.id.is_empty()).then(|| (MESSAGE_ID.to_owned(), message.id.clone().into_bytes()));
    let own = message.properties.iter().map(|(name, value)| (name.as_str(), value.clone()));
    // Fields come last: a property of the same name gives way.
    let headers = own.chain(fields::without_words(message, &[]));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_string().into_bytes()));
    Record {
        key: key.map(|key| key.as_bytes().to_vec()),
        value: Some(message.body.to_vec()),
        headers: headers.chain(id).collect(),
        timestamp: DateTime::from_timestamp_millis(now).unwrap_or_default(),
    }
}

fn failed(error: &Error) -> SendError {
    match error {
        Error::ServerError { protocol_error, error_message, .. } => {
            let told = error_message.clone().unwrap_or_else(|| protocol_error.to_string());
            let for_good = [
                ProtocolError::MessageTooLarge,
                ProtocolError::RecordListTooLarge,
                ProtocolError::TopicAuthorizationFailed,
                ProtocolError::InvalidTopicException,
                ProtocolError::InvalidRecord,
                ProtocolError::UnsupportedForMessageFormat,
            ];
            if for_good.contains(protocol_error) {
                SendError::Refused(format!("Kafka refused the record: {told}"))
            } else {
                SendError::NotSent(format!("Kafka did not take the record: {told}"))
            }
        }
        _ => {
            SendError::Unknown(format!("Kafka has not confirmed the record, which may have arrived: {error}"))
        }
    }
}

/// The hash by which the clients of Kafka spread keys.
fn murmur2(bytes: &[u8]) -> u32 {
    const MIX: u32 = 0x5bd1_e995;
    let seed: u32 = 0x9747_b28c;
    let mut hash = seed ^ u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut words = bytes.chunks_exact(4);
    for word in words.by_ref() {
        let mut word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(MIX);
        word ^= word >> 24;
        hash = hash.wrapping_mul(MIX) ^ word.wrapping_mul(MIX);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (place, byte) in rest.iter().enumerate() {
            hash ^= u32::from(*byte) << (8 * place);
        }
        hash = hash.wrapping_mul(MIX);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MIX);
    hash ^ (hash >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spread_as_by_the_clients_of_kafka() {
        // The values of the client in Java.
        let cases =
            [("21", -973_932_308), ("foobar", -790_332_482), ("a-little-bit-long-string", -985_981_536)];
        for (key, expected) in cases {
            assert_eq!(murmur2(key.as_bytes()) as i32, expected, "{key}");
        }
    }
}
