//! What the disk allows: records written together and synced, one group after the other.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::super::comparison::Side;
use super::super::load::{histogram, side};

/// As large as a segment of the journal, and written once before: a sync then has no sizes to write down.
const FILE_BYTES: u64 = 64 << 20;

/// Writes groups of `records` records of so many bytes and syncs each; a record's latency is that of its group.
pub fn appends(path: &Path, bytes: usize, records: usize, time: Duration) -> anyhow::Result<Side> {
    let writing = || format!("writing {}", path.display());
    let file = File::create(path).with_context(writing)?;
    let group = vec![7; bytes * records];
    let block = vec![0; 1 << 20];
    for place in 0..FILE_BYTES >> 20 {
        file.write_all_at(&block, place << 20).with_context(writing)?;
    }
    file.sync_all().with_context(writing)?;
    let (mut latencies, mut at) = (histogram(), 0);
    let begun = Instant::now();
    while begun.elapsed() < time {
        if at + group.len() as u64 > FILE_BYTES {
            at = 0;
        }
        let begun = Instant::now();
        file.write_all_at(&group, at).with_context(writing)?;
        file.sync_data().with_context(writing)?;
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        latencies.saturating_record_n(micros, records as u64);
        at += group.len() as u64;
    }
    Ok(side(&latencies, latencies.len() as f64 / begun.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_of_a_group_counts() {
        let directory = tempfile::tempdir().unwrap();
        let side = appends(&directory.path().join("raw"), 100, 10, Duration::from_millis(50)).unwrap();
        assert!(side.throughput > 0.0 && side.p50_ms > 0.0 && side.p50_ms <= side.p99_ms, "{side:?}");
    }
}
