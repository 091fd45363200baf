//! How many requests a second the journal stores for concurrent tasks, each waiting for its acknowledgement.
//!
//! `cargo bench -p journal-disk -- [tasks] [seconds] [directory]`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use journal::Journal;
use journal_disk::{DiskJournal, Settings};
use types::PartitionId;

const PARTITIONS: u16 = 32;
const RECORD_BYTES: usize = 300;

#[tokio::main]
async fn main() {
    // Cargo passes `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let number =
        |at: usize, default| arguments.get(at).map_or(default, |word| word.parse().expect("a number"));
    let (tasks, seconds) = (number(0, 4096), number(1, 5));
    let dir = tempfile::tempdir_in(arguments.get(2).map_or_else(std::env::temp_dir, PathBuf::from))
        .expect("a directory can be made");
    let journal = Arc::new(DiskJournal::open(dir.path(), Settings::new(PARTITIONS)).expect("it opens"));
    let taken = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let record = Bytes::from(vec![7; RECORD_BYTES]);
    let start = Instant::now();
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..tasks {
        let (journal, taken, over) = (Arc::clone(&journal), Arc::clone(&taken), Arc::clone(&over));
        let (record, partition) = (record.clone(), PartitionId((client % u64::from(PARTITIONS)) as u16));
        clients.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                journal.inbox_append(partition, vec![record.clone()]).await.expect("it is appended");
                taken.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    over.store(true, Ordering::Relaxed);
    clients.join_all().await;
    let rate = taken.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    println!("{tasks} tasks, {RECORD_BYTES} bytes each: {rate:.0} durable appends a second");
}
