//! Measures the time until every partition accepts requests again: one post for each, repeated until it is acknowledged.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::Method;
use tokio::task::JoinSet;
use types::{Key, PartitionId};

use crate::client::Client;
use crate::cluster::region::PARTITIONS;
use crate::load::{PostResult, meaning};
use crate::posts::Posts;
use crate::rig::TOKEN;
use crate::workflow;

/// Short, so that the measurement does not include the client's timeout.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);
/// After this the partition counts as stuck; the audit reports it.
const GIVE_UP: Duration = Duration::from_secs(90);

/// From the fault until the slowest partition has acknowledged a request; none if one never does.
pub async fn all_take_requests(
    addresses: &[SocketAddr],
    posts: &Arc<Posts>,
    round: usize,
    fault: Instant,
) -> Option<Duration> {
    let mut probes = JoinSet::new();
    for partition in 0..PARTITIONS {
        let probe =
            Probe { id: id_in(partition, round), addresses: addresses.to_vec(), posts: posts.clone() };
        probes.spawn(probe.run(fault));
    }
    let mut slowest = Duration::ZERO;
    while let Some(took) = probes.join_next().await {
        slowest = slowest.max(took.ok().flatten()?);
    }
    Some(slowest)
}

/// What is posted in a round, one in each partition.
pub fn ids(round: usize) -> Vec<String> {
    (0..PARTITIONS).map(|partition| id_in(partition, round)).collect()
}

/// An id whose run belongs to this partition.
fn id_in(partition: u16, round: usize) -> String {
    let ids = (0..).map(|n| format!("p-{round}-{partition}-{n}"));
    let belongs =
        |id: &String| Key::new(id).is_ok_and(|key| PartitionId::of(&key, PARTITIONS).0 == partition);
    ids.into_iter().find(belongs).expect("ids are spread over all partitions")
}

struct Probe {
    id: String,
    addresses: Vec<SocketAddr>,
    posts: Arc<Posts>,
}

impl Probe {
    async fn run(self, fault: Instant) -> Option<Duration> {
        let body = Bytes::from(workflow::request(&self.id, 0));
        self.posts.note(&self.id);
        for address in self.addresses.iter().cycle() {
            let mut client = Client::new(*address, Some(TOKEN)).within(ANSWER_PATIENCE);
            let sent = client.send(Method::POST, workflow::RUNS, "application/json", body.clone()).await;
            match sent.map(|answer| meaning(&self.id, &answer)) {
                Ok(PostResult::Accepted) => {
                    self.posts.acknowledge(&self.id, *address);
                    return Some(fault.elapsed());
                }
                Ok(PostResult::Wrong(what)) => {
                    self.posts.record_wrong(&self.id, what);
                    return None;
                }
                Ok(PostResult::Later) | Err(_) if fault.elapsed() > GIVE_UP => return None,
                Ok(PostResult::Later) | Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_id_in_every_partition() {
        for partition in 0..PARTITIONS {
            let key = Key::new(&id_in(partition, 7)).unwrap();
            assert_eq!(PartitionId::of(&key, PARTITIONS).0, partition);
        }
    }
}
