//! The register of instances in NATS: one bucket of signs of life that run out, one of who holds which partition.

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

/// How long the servers keep the word that a key has run out.
const MARKERS_KEPT: Duration = Duration::from_secs(60);
/// How often a note is tried when others write the same key.
const NOTE_TRIES: u32 = 8;
const NOTE_PAUSE: Duration = Duration::from_millis(20);

/// The register that all instances of an installation share. It follows the others until it is dropped.
pub struct NatsRegister {
    instances: Bucket,
    partitions: Bucket,
    view: watch::Receiver<Arc<ClusterView>>,
    follower: JoinHandle<()>,
}

impl NatsRegister {
    /// Opens the register, which is made when it is not there yet. `active` says whether this region runs anything.
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
        let mut last = RegisterError(format!("who holds partition {partition} changes all the time"));
        for attempt in 1..=NOTE_TRIES {
            let (revision, noted) = self.partitions.last::<Ownership>(&key).await?;
            let next = ownership.clone().replacing(noted.as_ref());
            if noted.is_some_and(|noted| noted.epoch > next.epoch || noted == next) {
                return Ok(());
            }
            match self.partitions.replace(&key, encode(&next)?, revision).await {
                Ok(()) => return Ok(()),
                // Another has written, or it is not known whether this was written: the next look tells.
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

/// The key of an instance is its name, so it must be one.
fn key_of(id: &InstanceId) -> Result<&str, RegisterError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if id.0.is_empty() || !id.0.bytes().all(allowed) {
        return Err(RegisterError(format!(
            "the instance name {:?} must be made of letters, digits, `-` and `_` alone",
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
