//! I20: damage to what was durable is found, or is where nothing was. The disk of a world at rest is damaged in one
//! place, opened, and read from end to end.

use std::collections::BTreeMap;
use std::sync::Arc;

use journal::{Journal, ReadError, Snapshot};
use journal_disk::disk::Disk;
use journal_disk::simdisk::{SECTOR_BYTES, SimDisk};
use journal_disk::{DiskJournal, Settings};
use types::{PartitionId, Seq};

use crate::coverage::Situation;
use crate::plan::Limits;
use crate::rng::{self, Rng};
use crate::world::Sim;

/// One world in so many is damaged.
const ONE_IN: u64 = 4;

/// Places that are damaged, one at a time.
const PLACES: u64 = 4;

/// What a partition holds: first and last number of a stream and its bytes, or that it is known to be damaged.
type Content = Result<(Seq, Vec<u64>), String>;

#[derive(Debug, PartialEq, Eq)]
struct PartitionContent {
    events: Content,
    inbox: Content,
    snapshot: Result<Option<Snapshot>, String>,
}

pub async fn damage(sim: &Arc<Sim>) {
    let (disk_at_rest, limits, seed) = {
        let mut world = sim.world();
        let Some(disk_at_rest) = world.disk_at_rest.take() else { return };
        (disk_at_rest, world.plan.limits, world.plan.seed)
    };
    let mut rng = Rng::new(seed, "rot");
    if !rng.one_in(ONE_IN) {
        return;
    }
    let Some(whole) = read_all(&disk_at_rest.copy(seed), limits).await else {
        sim.world().add_violation("L4", "an installation at rest cannot be opened".to_owned());
        return;
    };
    for _ in 0..PLACES {
        let damaged = disk_at_rest.copy(rng.next());
        let how = damage_file(&damaged, &mut rng);
        let case = match read_all(&damaged, limits).await {
            None => Situation::DamageFound,
            Some(found) => match compare(&whole, &found) {
                Ok(case) => case,
                Err(what) => return sim.world().add_violation("I20", format!("{how}: {what}")),
            },
        };
        sim.world().coverage.note(case);
    }
}

/// Changes one place of one file; says which.
fn damage_file(disk: &SimDisk, rng: &mut Rng) -> String {
    let files = disk.files();
    let (path, size) = files[rng.below(files.len() as u64) as usize].clone();
    let at = rng.below(size.max(1) as u64) as usize;
    let sector = at / SECTOR_BYTES * SECTOR_BYTES;
    let end = (sector + SECTOR_BYTES).min(size);
    let other = rng.below((size / SECTOR_BYTES).max(1) as u64) as usize * SECTOR_BYTES;
    let kind = rng.below(6);
    let garbage = rng.next() as u8 | 1;
    let what = match kind {
        0 | 1 => "a bit flipped",
        2 => "a sector zeroed",
        3 => "a sector of garbage",
        4 => "two sectors exchanged",
        _ => "cut off",
    };
    if kind == 5 && rng.one_in(2) {
        let gone =
            disk.remove(&path).and_then(|()| disk.sync_dir(path.rsplit_once('/').map_or("", |at| at.0)));
        gone.expect("a disk without faults");
        return format!("{path}: gone");
    }
    disk.rot(&path, |bytes| match kind {
        _ if bytes.is_empty() => {}
        0 | 1 => bytes[at] ^= 1 << (garbage % 8),
        2 => bytes[sector..end].fill(0),
        3 => bytes[sector..end].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3) ^ garbage),
        4 if other + SECTOR_BYTES <= size && end - sector == SECTOR_BYTES => {
            let kept = bytes[sector..end].to_vec();
            bytes.copy_within(other..other + SECTOR_BYTES, sector);
            bytes[other..other + SECTOR_BYTES].copy_from_slice(&kept);
        }
        _ => bytes.truncate(at),
    });
    format!("{path} at {at}: {what}")
}

/// Reads everything; none when the journal says that it cannot be opened.
async fn read_all(disk: &SimDisk, limits: Limits) -> Option<BTreeMap<PartitionId, PartitionContent>> {
    let settings = Settings { segment_bytes: limits.segment_bytes, ..Settings::new(limits.partitions) };
    let settings = Settings { reserve_bytes: 0, ..settings };
    let (journal, _writer) = DiskJournal::open_manual(Arc::new(disk.clone()), &settings).ok()?;
    let mut all = BTreeMap::new();
    for partition in (0..limits.partitions).map(PartitionId).chain([PartitionId::CONTROL]) {
        let held = PartitionContent {
            events: stream(async |from| journal.read(partition, from, usize::MAX).await).await,
            inbox: stream(async |from| journal.inbox_read(partition, from, usize::MAX).await).await,
            snapshot: journal.snapshot_get(partition).await.map_err(|error| error.to_string()),
        };
        all.insert(partition, held);
    }
    Some(all)
}

async fn stream(read: impl AsyncFn(Seq) -> Result<Vec<journal::Record>, ReadError>) -> Content {
    let mut first = Seq(1);
    let mut answer = read(first).await;
    if let Err(ReadError::Trimmed { first: begins, .. }) = answer {
        first = begins;
        answer = read(first).await;
    }
    let records = answer.map_err(|error| error.to_string())?;
    Ok((first, records.iter().map(|record| rng::hash(&&record.bytes[..])).collect()))
}

fn compare(
    whole: &BTreeMap<PartitionId, PartitionContent>,
    found: &BTreeMap<PartitionId, PartitionContent>,
) -> Result<Situation, String> {
    let mut case = Situation::DamageHarmless;
    for (partition, held) in found {
        let before = &whole[partition];
        for (name, now, before) in
            [("events", &held.events, &before.events), ("inbox", &held.inbox, &before.inbox)]
        {
            match now {
                Err(_) => case = Situation::DamageFound,
                Ok(_) if now == before => {}
                Ok(_) => return Err(format!("the {name} of partition {partition} changed without a word")),
            }
        }
        match &held.snapshot {
            Err(_) => case = Situation::DamageFound,
            Ok(snapshot) if Ok(snapshot) == before.snapshot.as_ref() => {}
            Ok(Some(other)) if other.through >= newest(before) => {
                return Err(format!("the snapshot of partition {partition} changed without a word"));
            }
            // An older one, or none: recovery from there replays everything since, or finds it trimmed.
            Ok(_) => case = Situation::DamageFound,
        }
    }
    Ok(case)
}

fn newest(held: &PartitionContent) -> Seq {
    held.snapshot.as_ref().ok().and_then(Option::as_ref).map_or(Seq::ZERO, |snapshot| snapshot.through)
}
