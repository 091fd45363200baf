//! The suite that every journal runs, on a cluster of three.

use journal::conformance::{self, Factory};
use journal_nats::{NatsJournal, NatsWire, Settings};
use snapshots::memory::MemorySnapshots;

use crate::cluster::{Journal, settings, shared};

struct OnCluster {
    servers: Vec<String>,
    settings: Settings,
    snapshots: MemorySnapshots,
    processes: u64,
}

impl Factory for OnCluster {
    type Journal = Journal;
    const INBOX_IS_DENSE: bool = false;

    async fn open(&mut self) -> Journal {
        self.settings = settings(self.servers.clone());
        self.settings.installation.partitions = 4;
        self.snapshots = MemorySnapshots::default();
        NatsJournal::open(&self.settings, self.snapshots.clone()).await.unwrap()
    }

    async fn reopen(&mut self, journal: Journal) -> Journal {
        drop(journal);
        let client = NatsWire::connect(&self.settings).await.unwrap();
        self.processes += 1;
        let installation = &self.settings.installation;
        NatsJournal::over(client, installation, self.snapshots.clone(), self.processes).await.unwrap()
    }
}

// guards: 34
#[tokio::test]
async fn nats_conforms() {
    let servers = shared();
    let settings = settings(servers.clone());
    let snapshots = MemorySnapshots::default();
    conformance::run(&mut OnCluster { servers, settings, snapshots, processes: 0 }).await;
}
