//! The register in NATS: one bucket of heartbeats that expire, one of the owners of partitions.

mod bucket;
mod follow;
mod table;

use std::sync::Arc;
use std::time::Duration;

use crate::{ClusterView, InstanceId, MEMBER_TTL, Member, Ownership, Register, RegisterError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use types::PartitionId;

use bucket::{Bucket, KeyLife};
use follow::Follower;
use journal_nats::OpenError;
use journal_nats::jetstream::JetStream;
use journal_nats::names;

/// How long the servers keep the marker of an expired key.
const MARKERS_KEPT: Duration = Duration::from_secs(60);
/// Attempts to publish an owner while others write the same key.
const NOTE_TRIES: u32 = 8;
const NOTE_PAUSE: Duration = Duration::from_millis(20);

/// The register that all instances of an installation share. It follows the other instances until it is dropped.
pub struct NatsRegister {
    instances: Bucket,
    partitions: Bucket,
    view: watch::Receiver<Arc<ClusterView>>,
    follower: JoinHandle<()>,
}

impl NatsRegister {
    /// Opens the register; creates its buckets if they do not exist. `active` says whether this region is active.
    pub async fn start(
        jetstream: &JetStream,
        installation: &str,
        replicas: usize,
        active: watch::Receiver<bool>,
    ) -> Result<NatsRegister, OpenError> {
        let life = KeyLife::Expiring { ttl: MEMBER_TTL, marker_ttl: MARKERS_KEPT };
        let instances = Bucket::open(jetstream, names::instance_bucket(installation), replicas, life).await?;
        let partitions =
            Bucket::open(jetstream, names::partition_bucket(installation), replicas, KeyLife::Permanent)
                .await?;
        let (sender, view) = watch::channel(Arc::default());
        let follower = Follower::new(instances.clone(), partitions.clone(), active, sender, MEMBER_TTL);
        let follower = host::spawn("register follower", follower.run());
        Ok(NatsRegister { instances, partitions, view, follower })
    }
}

impl Drop for NatsRegister {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl Register for NatsRegister {
    async fn heartbeat(&self, member: &Member) -> Result<(), RegisterError> {
        let value = encode(member)?;
        self.instances.put(key_of(&member.id)?, value).await
    }

    async fn deregister(&self, id: &InstanceId) -> Result<(), RegisterError> {
        self.instances.delete(key_of(id)?).await
    }

    async fn publish(&self, partition: PartitionId, ownership: Ownership) -> Result<(), RegisterError> {
        let key = names::number(partition);
        let mut last =
            RegisterError(format!("the owner of partition {partition} is written by others all the time"));
        for attempt in 1..=NOTE_TRIES {
            let (revision, noted) = self.partitions.last::<Ownership>(&key).await?;
            let next = ownership.clone().replacing(noted.as_ref());
            if noted.is_some_and(|noted| noted.epoch > next.epoch || noted == next) {
                return Ok(());
            }
            match self.partitions.replace(&key, encode(&next)?, revision).await {
                Ok(()) => return Ok(()),
                // Another instance has written the key, or the outcome is unknown: the next reading shows it.
                Err(error) => last = error,
            }
            sleep(NOTE_PAUSE * attempt).await;
        }
        Err(last)
    }

    fn watch(&self) -> watch::Receiver<Arc<ClusterView>> {
        self.view.clone()
    }
}

/// The id of an instance is its key, so it must be valid as one.
fn key_of(id: &InstanceId) -> Result<&str, RegisterError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if id.0.is_empty() || !id.0.bytes().all(allowed) {
        return Err(RegisterError(format!(
            "the instance name {:?} must consist of letters, digits, `-` and `_` only",
            id.0
        )));
    }
    Ok(&id.0)
}

fn encode(value: &impl serde::Serialize) -> Result<Vec<u8>, RegisterError> {
    serde_json::to_vec(value).map_err(|error| RegisterError(format!("writing an entry: {error}")))
}

#[cfg(test)]
mod tests;
