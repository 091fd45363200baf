//! One cluster for all tests that leave it whole, and journals on it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

use bytes::Bytes;
use journal_nats::{Installation, Login, NatsJournal, NatsWire, Proof, Servers, Settings, Tls};
use snapshots::memory::MemorySnapshots;
use test_brokers::{NatsCluster, NatsSettings};
use types::{PartitionId, Seq};

pub type Journal = NatsJournal<NatsWire, MemorySnapshots>;

/// Statics are not dropped; the servers end with the process all the same.
static SHARED: LazyLock<(Vec<String>, Vec<String>)> = LazyLock::new(|| {
    static CLUSTER: Mutex<Option<NatsCluster>> = Mutex::new(None);
    let cluster = NatsCluster::start_with(NatsSettings { system_account: true, ..NatsSettings::default() });
    let cluster = cluster.unwrap();
    let urls = (cluster.urls(), cluster.monitor_urls());
    *CLUSTER.lock().unwrap() = Some(cluster);
    urls
});

/// The servers that no test harms.
pub fn shared() -> Vec<String> {
    SHARED.0.clone()
}

/// Where they tell about themselves.
pub fn shared_monitors() -> Vec<String> {
    SHARED.1.clone()
}

/// Settings for a new installation with few partitions.
pub fn settings(servers: Vec<String>) -> Settings {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    Settings {
        servers: Servers(servers),
        login: Login::Anonymous,
        tls: Tls::default(),
        installation: Installation {
            name: format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            partitions: 1,
            inbox_bytes_max: None,
        },
        replicas: 3,
        pair_domain: None,
        proof: Proof::Trusted,
    }
}

pub async fn open(settings: &Settings) -> Journal {
    Journal::open(settings, MemorySnapshots::default()).await.unwrap()
}

pub fn bytes(text: impl AsRef<str>) -> Bytes {
    Bytes::copy_from_slice(text.as_ref().as_bytes())
}

/// Every frame of a partition, as text.
pub async fn frames(journal: &impl journal::Journal, partition: PartitionId) -> Vec<String> {
    let mut all = Vec::new();
    let mut next = Seq(1);
    loop {
        let part = journal.read(partition, next, 4000).await.unwrap();
        let Some(last) = part.last() else { return all };
        let numbers: Vec<u64> = part.iter().map(|record| record.seq.0).collect();
        assert_eq!(numbers, (next.0..=last.seq.0).collect::<Vec<_>>(), "frames are dense");
        next = last.seq.next();
        all.extend(part.iter().map(|record| String::from_utf8_lossy(&record.bytes).into_owned()));
    }
}

/// Every request of a partition's inbox, as text.
pub async fn requests(journal: &impl journal::Journal, partition: PartitionId, from: Seq) -> Vec<String> {
    let mut all = Vec::new();
    let mut next = from;
    loop {
        let part = journal.inbox_read(partition, next, 4000).await.unwrap();
        let Some(last) = part.last() else { return all };
        next = last.seq.next();
        all.extend(part.iter().map(|record| String::from_utf8_lossy(&record.bytes).into_owned()));
    }
}
