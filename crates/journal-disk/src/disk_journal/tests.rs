//! Tests of the whole journal: the conformance suite, who may open it, and what it does when the disk fails.

use std::sync::atomic::{AtomicU64, Ordering};

use journal::conformance::{self, Factory};
use tempfile::TempDir;

use super::*;
use crate::format::superblock;
use crate::settings::OnFatal;
use crate::simdisk::SimDisk;

const ONE: PartitionId = PartitionId(0);

fn small(partitions: u16) -> Settings {
    Settings { segment_bytes: 64 << 10, reserve_bytes: 64 << 10, ..Settings::new(partitions) }
}

struct OnRealDisk {
    dirs: Vec<TempDir>,
    settings: Settings,
}

impl Factory for OnRealDisk {
    type Journal = DiskJournal;

    async fn open(&mut self) -> DiskJournal {
        self.dirs.push(TempDir::new().unwrap());
        DiskJournal::open(self.dirs.last().unwrap().path(), self.settings.clone()).unwrap()
    }

    async fn reopen(&mut self, journal: DiskJournal) -> DiskJournal {
        journal.close().await;
        DiskJournal::open(self.dirs.last().unwrap().path(), self.settings.clone()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_on_disk_conforms() {
    conformance::run(&mut OnRealDisk { dirs: Vec::new(), settings: small(4) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_on_disk_conforms_without_its_cache() {
    let settings = Settings { cache_bytes: 0, ..small(4) };
    conformance::run(&mut OnRealDisk { dirs: Vec::new(), settings }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_on_disk_conforms_with_a_linger() {
    let settings = Settings { linger: std::time::Duration::from_micros(200), ..small(4) };
    conformance::run(&mut OnRealDisk { dirs: Vec::new(), settings }).await;
}

#[tokio::test]
async fn a_directory_has_one_holder() {
    let dir = TempDir::new().unwrap();
    let journal = DiskJournal::open(dir.path(), small(1)).unwrap();
    match DiskJournal::open(dir.path(), small(1)) {
        Err(OpenError::InUse { holder, .. }) => {
            assert_eq!(holder, format!(" (pid {})", std::process::id()));
        }
        other => panic!("{:?}", other.map(|_| "opened")),
    }
    journal.close().await;
    DiskJournal::open(dir.path(), small(1)).unwrap();
}

#[tokio::test]
async fn the_number_of_partitions_is_fixed() {
    let dir = TempDir::new().unwrap();
    DiskJournal::open(dir.path(), small(4)).unwrap().close().await;
    match DiskJournal::open(dir.path(), small(5)) {
        Err(OpenError::Fixed { fixed, asked, .. }) => assert_eq!((&*fixed, &*asked), ("4", "5")),
        other => panic!("{:?}", other.map(|_| "opened")),
    }
}

#[tokio::test]
async fn another_major_version_is_refused_and_left_alone() {
    let disk = SimDisk::new(1);
    DiskJournal::open_on(Arc::new(disk.clone()), small(1)).unwrap().close().await;
    superblock::pretend_major(&disk, superblock::MAJOR + 1);
    let before = disk.operations();
    match DiskJournal::open_on(Arc::new(disk.clone()), small(1)) {
        Err(OpenError::Version { found, fix, .. }) => {
            assert_eq!(found, "2.0");
            assert!(!fix.is_empty());
        }
        other => panic!("{:?}", other.map(|_| "opened")),
    }
    assert_eq!(disk.operations(), before, "nothing was changed");
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_acknowledged() {
    let disk = SimDisk::new(2);
    let fatal = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&fatal);
    let on_fatal = OnFatal::call(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
    });
    let journal = DiskJournal::open_on(Arc::new(disk.clone()), Settings { on_fatal, ..small(2) }).unwrap();
    journal.inbox_append(ONE, vec![Bytes::from_static(b"kept")]).await.unwrap();
    // The reserve and the spare are synced in the background; every sync from now on fails until one of the log.
    let refused = loop {
        disk.fail_sync_after(0);
        match journal.inbox_append(ONE, vec![Bytes::from_static(b"lost")]).await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(refused, AppendError::Unknown { partition: ONE });
    let later = journal.inbox_append(PartitionId(1), vec![Bytes::from_static(b"late")]).await;
    assert_eq!(later, Err(AppendError::Closed));
    assert_eq!(journal.claim(ONE).await, Err(AppendError::Closed));
    journal.close().await;
    assert_eq!(fatal.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_unknown_partition_is_a_mistake() {
    let journal = DiskJournal::open_on(Arc::new(SimDisk::new(3)), small(2)).unwrap();
    let asked = tokio::spawn(async move { journal.claim(PartitionId(2)).await });
    assert!(asked.await.unwrap_err().is_panic());
}
