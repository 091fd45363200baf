//! Tests of the whole journal: the conformance suite, exclusive opening, and its reaction to disk failures.

use std::sync::atomic::{AtomicU64, Ordering};

use journal::conformance::{self, Factory};
use tempfile::TempDir;

use super::*;
use crate::format::frame::{FrameHeader, FrameKind, HEADER_BYTES};
use crate::format::segment_header::SegmentHeader;
use crate::format::superblock;
use crate::limits::PAGE_BYTES;
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

// guards: 1, 10
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
    let settings = Settings { linger_max: std::time::Duration::from_micros(200), ..small(4) };
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

// guards: 12
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
    let has = |name: &str| disk.files().iter().any(|(path, _)| path == name);
    let spare = crate::segment::path(2);
    until("nothing is synced in the background", || has("reserve") && has(&spare)).await;
    disk.fail_sync_after(0);
    let refused = journal.inbox_append(ONE, vec![Bytes::from_static(b"lost")]).await;
    assert_eq!(refused, Err(AppendError::Unknown { partition: ONE }));
    let later = journal.inbox_append(PartitionId(1), vec![Bytes::from_static(b"late")]).await;
    assert_eq!(later, Err(AppendError::Closed));
    assert_eq!(journal.claim(ONE).await, Err(AppendError::Closed));
    journal.close().await;
    assert_eq!(fatal.load(Ordering::SeqCst), 1);
}

/// Yields to other tasks until `is_so`.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waited = tokio::time::timeout(std::time::Duration::from_secs(60), async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

#[tokio::test]
async fn a_full_disk_refuses_requests_until_space_returns() {
    let disk = SimDisk::new(4);
    let journal = DiskJournal::open_on(Arc::new(disk.clone()), small(2)).unwrap();
    let epoch = journal.claim(ONE).await.unwrap().epoch;
    let has = |name: &str| disk.files().iter().any(|(path, _)| path == name);
    until("the reserve is made", || has("reserve")).await;
    let used: usize = disk.files().iter().map(|(_, size)| size).sum();
    disk.set_capacity(used as u64 + (100 << 10));
    let record = Bytes::from(vec![1; 2000]);
    let mut accepted = 0;
    while journal.inbox_append(ONE, vec![record.clone()]).await.is_ok() {
        accepted += 1;
    }
    assert_eq!(journal.inbox_append(ONE, vec![record.clone()]).await, Err(AppendError::Full));
    assert!(!journal.room().accepts);
    assert_eq!(journal.append(ONE, epoch, Seq::ZERO, record.clone()).await, Ok(Seq(1)), "an undo has room");

    disk.set_capacity(u64::MAX);
    until("requests are accepted", || journal.room().accepts).await;
    assert_eq!(journal.inbox_append(ONE, vec![record]).await, Ok(Seq(accepted + 1)));
    assert!(has("reserve"));
}

#[tokio::test]
async fn an_idle_journal_marks_what_is_durable() {
    let disk = SimDisk::new(5);
    let journal = DiskJournal::open_on(Arc::new(disk.clone()), small(1)).unwrap();
    journal.claim(ONE).await.unwrap();
    let Ok(superblock::LoadedSuperblock::Superblock(superblock)) = superblock::Superblock::load(&disk) else {
        panic!("there is a superblock");
    };
    let file = disk.open(&crate::segment::path(1)).unwrap();
    let after_the_group = SegmentHeader::data_start(2) + PAGE_BYTES as u64;
    until("the mark is written", || {
        let mut bytes = [0; HEADER_BYTES];
        file.read_at(&mut bytes, after_the_group).unwrap();
        let found = FrameHeader::decode(superblock.installation, 1, &bytes);
        found.is_some_and(|(header, _)| header.kind == FrameKind::Mark && header.durable_through == 1)
    })
    .await;
    drop(journal);
}

#[tokio::test]
async fn trimmed_segments_are_removed_and_the_rest_is_served() {
    let disk = SimDisk::new(6);
    let journal = DiskJournal::open_on(Arc::new(disk.clone()), small(1)).unwrap();
    let record = Bytes::from(vec![1; 3000]);
    for _ in 0..100 {
        journal.inbox_append(ONE, vec![record.clone()]).await.unwrap();
    }
    journal.trim(ONE, Epoch(1), Seq(1), Seq(96)).await.unwrap();
    let has = |number| disk.files().iter().any(|(path, _)| *path == crate::segment::path(number));
    until("the first segment is gone", || !has(1)).await;
    assert_eq!(journal.inbox_read(ONE, Seq(96), 100_000).await.unwrap().len(), 5);
    journal.close().await;
    disk.power_cut();
    let journal = DiskJournal::open_on(Arc::new(disk.clone()), small(1)).unwrap();
    assert_eq!(journal.inbox_read(ONE, Seq(96), 100_000).await.unwrap().len(), 5);
    let gone = ReadError::Trimmed { partition: ONE, from: Seq(95), first: Seq(96) };
    assert_eq!(journal.inbox_read(ONE, Seq(95), 1).await, Err(gone));
}

#[tokio::test]
async fn damage_found_while_reading_stops_the_partition_alone() {
    let disk = SimDisk::new(7);
    let settings = Settings { cache_bytes: 0, ..small(2) };
    let journal = DiskJournal::open_on(Arc::new(disk.clone()), settings).unwrap();
    for partition in [ONE, PartitionId(1)] {
        journal.inbox_append(partition, vec![Bytes::from_static(b"record")]).await.unwrap();
    }
    let payload_at = SegmentHeader::data_start(3) as usize + HEADER_BYTES;
    disk.rot(&crate::segment::path(1), |bytes| bytes[payload_at + 5] ^= 1);
    match journal.inbox_read(ONE, Seq(1), 100).await {
        Err(ReadError::Damaged { partition, detail }) => {
            assert_eq!(partition, ONE);
            assert!(detail.contains("0000000001.segment at 8192"), "{detail}");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(journal.claim(ONE).await, Err(AppendError::Damaged { .. })));
    assert_eq!(journal.stopped().len(), 1);
    assert!(journal.claim(PartitionId(1)).await.is_ok());
    assert_eq!(journal.inbox_read(PartitionId(1), Seq(1), 100).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_unknown_partition_is_a_mistake() {
    let journal = DiskJournal::open_on(Arc::new(SimDisk::new(3)), small(2)).unwrap();
    let asked = tokio::spawn(async move { journal.claim(PartitionId(2)).await });
    assert!(asked.await.unwrap_err().is_panic());
}
