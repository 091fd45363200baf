//! One partition's tree: writes, reads and flushes.
//!
//! Reads are always of the newest state (sequence number `MAX`), so no old version of an entry is ever needed and
//! every flush and compaction drops them all. A reader keeps the tables alive that it has started to read.
//!
//! The tree takes its version lock for writing, with about four disk syncs under it, whenever a flush or a
//! compaction puts new tables in place; for these few milliseconds reads and writes of this partition wait.

mod checkpoint;
mod tight;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use lsm_tree::compaction::Leveled;
use lsm_tree::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry,
    PinningPolicy,
};
use lsm_tree::{
    AbstractTree, AnyTree, Cache, CompressionType, Config, DescriptorTable, Guard, SeqNo,
    SequenceNumberCounter,
};
use types::{PartitionId, RunId, Seq};

use crate::check::{self, TreePresence};
use crate::error::Error;
use crate::keys;
use crate::limits::{
    BLOCK_BYTES, FILTER_BITS_PER_KEY, LEVEL0_RUNS_MAX, LEVEL0_TABLES, TABLE_BYTES, TOMBSTONES_MIN,
    TOMBSTONES_ONE_IN,
};
use crate::retention::ForgetFrom;
use crate::room;
use crate::run::{self, EndedRun, RunSummary, SeenId};
use crate::view::OnFailure;

/// Shared by the trees of a view.
pub(crate) struct SharedResources {
    pub cache: Arc<Cache>,
    pub descriptors: Arc<DescriptorTable>,
    /// The bytes in all memtables. Signed, because a flush may be counted before the write that it flushed.
    pub memtable_bytes: AtomicI64,
    pub on_failure: OnFailure,
}

pub(crate) struct ViewPartition {
    pub id: PartitionId,
    dir: PathBuf,
    shared: Arc<SharedResources>,
    /// Created with the first write, because creating a tree costs a handful of disk syncs.
    tree: OnceLock<Tree>,
    making: Mutex<()>,
    /// Locked for reading while tables are written, for writing to wait until none are.
    tables_change: RwLock<()>,
    memtable_bytes: AtomicI64,
    flushed_through: Mutex<Option<Seq>>,
    /// Set once, by the first failure after which writing must not continue.
    stopped: OnceLock<Error>,
    pub(crate) forget_from: Mutex<ForgetFrom>,
}

struct Tree {
    tree: AnyTree,
    seqno: SequenceNumberCounter,
}

impl ViewPartition {
    /// Opens the partition's tree, or records that there is none yet.
    pub(crate) fn open(
        id: PartitionId,
        dir: PathBuf,
        shared: Arc<SharedResources>,
    ) -> Result<ViewPartition, Error> {
        let found = check::before_open(id, &dir)?;
        let partition = ViewPartition {
            id,
            dir,
            shared,
            tree: OnceLock::new(),
            making: Mutex::new(()),
            tables_change: RwLock::new(()),
            memtable_bytes: AtomicI64::new(0),
            flushed_through: Mutex::new(None),
            stopped: OnceLock::new(),
            forget_from: Mutex::new(ForgetFrom::default()),
        };
        if found == TreePresence::Tree {
            let tree = partition.open_tree()?;
            let mark = partition.read("reading the flush mark", tree.tree.get(keys::MARK, SeqNo::MAX))?;
            let mark = mark.map(|bytes| run::decode_mark(&bytes)).transpose();
            let mark = mark.map_err(|detail| Error::damaged(id, &partition.dir, detail))?;
            *partition.flushed_through.lock().expect("no panic under this lock") = mark.map(Seq);
            assert!(partition.tree.set(tree).is_ok(), "nobody else has seen the partition yet");
        }
        Ok(partition)
    }

    /// Writes a run and its index entries into memory.
    ///
    /// The run comes first and its indexes last, so that no list shows a run that cannot be read.
    pub(crate) fn put_ended(&self, run: &EndedRun) -> Result<(), Error> {
        let status = run::status_byte(run.status);
        let status = status.unwrap_or_else(|| panic!("run {} ends as {}", run.id, run.status));
        let tree = self.writable()?;
        let seqno = tree.seqno.next();
        let place = keys::place(run.accepted_at, &run.id);
        let summary = run::encode_summary(run, status, run.detail.len());
        let by_time = [keys::by_time(), place.clone()].concat();
        let by_time_value = summary.clone();
        let mut value = summary;
        value.extend_from_slice(&run.detail);
        let seen = SeenId { body_hash: run.body_hash, accepted_at: run.accepted_at };

        let mut bytes = tree.tree.insert(keys::run(&run.id), value, seqno).0;
        bytes += tree.tree.insert(keys::seen(&run.id), seen.encode(), seqno).0;
        bytes += tree.tree.insert(by_time, by_time_value, seqno).0;
        for key in keys::indexes(&place, &run.id, &run.workflow, &run.key, status) {
            bytes += tree.tree.insert(key, [], seqno).0;
        }
        self.count(bytes.cast_signed());
        self.forget_from.lock().expect("no panic under this lock").written(&place);
        Ok(())
    }

    /// Writes one entry into memory.
    pub(crate) fn put(&self, key: Vec<u8>, value: &[u8]) -> Result<(), Error> {
        let tree = self.writable()?;
        let bytes = tree.tree.insert(key, value, tree.seqno.next()).0;
        self.count(bytes.cast_signed());
        Ok(())
    }

    pub(crate) fn delete(&self, key: Vec<u8>) -> Result<(), Error> {
        let tree = self.writable()?;
        let bytes = tree.tree.remove(key, tree.seqno.next()).0;
        self.count(bytes.cast_signed());
        Ok(())
    }

    /// Removes an entry that was written once: entry and tombstone cancel out in a compaction. If it was
    /// written more often, an older one may reappear.
    pub(crate) fn delete_once(&self, key: Vec<u8>) -> Result<(), Error> {
        let tree = self.writable()?;
        let bytes = tree.tree.remove_weak(key, tree.seqno.next()).0;
        self.count(bytes.cast_signed());
        Ok(())
    }

    /// Removes a run, its entry in *by time* last: after a crash the remaining entries are found and removed again.
    pub(crate) fn remove(&self, place: &[u8], run: &RunSummary) -> Result<(), Error> {
        let tree = self.writable()?;
        let seqno = tree.seqno.next();
        let status = run::status_byte(run.status).expect("only final statuses are decoded");
        let mut bytes = 0;
        for key in keys::indexes(place, &run.id, &run.workflow, &run.key, status) {
            bytes += tree.tree.remove(key, seqno).0;
        }
        bytes += tree.tree.remove(keys::seen(&run.id), seqno).0;
        bytes += tree.tree.remove(keys::run(&run.id), seqno).0;
        bytes += tree.tree.remove([keys::by_time().as_slice(), place].concat(), seqno).0;
        self.count(bytes.cast_signed());
        Ok(())
    }

    pub(crate) fn run(&self, id: &RunId) -> Result<Option<EndedRun>, Error> {
        self.get("reading a run", &keys::run(id), run::decode_run)
    }

    pub(crate) fn seen(&self, id: &RunId) -> Result<Option<SeenId>, Error> {
        self.get("looking up an id", &keys::seen(id), SeenId::decode)
    }

    /// The summary at a position in *by time*.
    pub(crate) fn summary(&self, place: &[u8]) -> Result<Option<RunSummary>, Error> {
        let key = [keys::by_time().as_slice(), place].concat();
        self.get("reading a summary", &key, |bytes| run::decode_summary(bytes).map(|(summary, _)| summary))
    }

    /// Keys and values from `start` up to but without `end`.
    pub(crate) fn range(
        self: &Arc<Self>,
        start: Vec<u8>,
        end: Vec<u8>,
    ) -> Box<dyn DoubleEndedIterator<Item = Result<(lsm_tree::Slice, lsm_tree::Slice), Error>> + Send> {
        // The tree's memtables do not define a range that ends before it begins.
        let Some(tree) = self.tree.get().filter(|_| start < end) else { return Box::new(std::iter::empty()) };
        let partition = self.clone();
        let range = tree.tree.range(start..end, SeqNo::MAX, None);
        Box::new(range.map(move |entry| partition.read("reading an index", entry.into_inner())))
    }

    /// Makes everything written before durable, together with the mark.
    pub(crate) fn flush(&self, through: Seq) -> Result<(), Error> {
        let tree = self.writable()?;
        let mut flushed_through = self.flushed_through.lock().expect("no panic under this lock");
        if *flushed_through == Some(through) && self.memtable_bytes() == 0 {
            return Ok(());
        }
        let bytes = tree.tree.insert(keys::MARK, run::encode_mark(through.0), tree.seqno.next()).0;
        self.count(bytes.cast_signed());
        self.flush_memtables()?;
        *flushed_through = Some(through);
        Ok(())
    }

    /// Writes the memtables to a table. The mark does not move.
    pub(crate) fn flush_memtables(&self) -> Result<(), Error> {
        // The manifest counts the runs of a level in one byte; more of them would be lost silently.
        while self.writable()?.tree.l0_run_count() >= LEVEL0_RUNS_MAX && self.compact_once()? {}
        let runs = self.writable()?.tree.l0_run_count();
        assert!(runs < usize::from(u8::MAX), "partition {} has {runs} runs at level 0", self.id);
        let flushed = match room::for_flush(self.id, &self.dir, self.memtable_bytes()) {
            Ok(()) => self.flush_with_room()?,
            Err(full) if room::is_worth_a_try(&full) => self.flush_tight(full)?,
            Err(full) => return Err(full),
        };
        self.count(-flushed.cast_signed());
        Ok(())
    }

    fn flush_with_room(&self) -> Result<u64, Error> {
        let _changing = self.tables_change.read().expect("no panic under this lock");
        let tree = &self.writable()?.tree;
        let flushed = {
            let lock = tree.get_flush_lock();
            tree.rotate_memtable();
            tree.flush(&lock, SeqNo::MAX)
        };
        Ok(self.written("flushing", flushed)?.unwrap_or(0))
    }

    /// One step of compaction; false when there was nothing to do.
    pub(crate) fn compact_once(&self) -> Result<bool, Error> {
        let _changing = self.tables_change.read().expect("no panic under this lock");
        let tree = &self.writable()?.tree;
        let before = tree.current_version().id();
        let tombstones = tree.tombstone_count();
        let crowded = tombstones > TOMBSTONES_MIN.max(tree.approximate_len() as u64 / TOMBSTONES_ONE_IN);
        let compacted = if crowded {
            room::for_whole_tree(self.id, &self.dir, tree.disk_space())?;
            tree.major_compact(TABLE_BYTES, SeqNo::MAX)
        } else {
            room::for_compaction(self.id, &self.dir, tree.disk_space())?;
            let strategy =
                Leveled::default().with_l0_threshold(LEVEL0_TABLES).with_table_target_size(TABLE_BYTES);
            tree.compact(Arc::new(strategy), SeqNo::MAX)
        };
        self.written("compacting", compacted)?;
        Ok(tree.current_version().id() != before)
    }

    /// Ends all writing, and waits for writes in progress: afterwards the directory does not change.
    pub(crate) fn close(&self) {
        self.stopped.get_or_init(|| Error::Closed { partition: self.id });
        drop(self.tables_change.write().expect("no panic under this lock"));
    }

    /// Reads every table and compares it with its checksum. Returns the bytes read.
    pub(crate) fn verify(&self) -> Result<u64, Error> {
        let Some(tree) = self.tree.get() else {
            return check::find_damage(self.id, &self.dir).map(|()| 0);
        };
        // Holding the version keeps compaction from deleting its tables.
        let version = tree.tree.current_version();
        let read = version
            .iter_tables()
            .map(|table| check::whole_table(self.id, &table.path, table.checksum().into_u128()));
        read.sum()
    }

    pub(crate) fn flushed_through(&self) -> Option<Seq> {
        *self.flushed_through.lock().expect("no panic under this lock")
    }

    pub(crate) fn memtable_bytes(&self) -> u64 {
        self.memtable_bytes.load(Ordering::Acquire).max(0).cast_unsigned()
    }

    pub(crate) fn disk_bytes(&self) -> u64 {
        self.tree.get().map_or(0, |tree| tree.tree.disk_space())
    }

    pub(crate) fn tables(&self) -> usize {
        self.tree.get().map_or(0, |tree| tree.tree.table_count())
    }

    pub(crate) fn has_tree(&self) -> bool {
        self.tree.get().is_some()
    }

    pub(crate) fn stopped(&self) -> Option<&Error> {
        self.stopped.get()
    }

    pub(crate) fn get<T>(
        &self,
        attempt: &'static str,
        key: &[u8],
        decode: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<Option<T>, Error> {
        let Some(tree) = self.tree.get() else { return Ok(None) };
        let value = self.read(attempt, tree.tree.get(key, SeqNo::MAX))?;
        value.map(|bytes| decode(&bytes)).transpose().map_err(|detail| self.damaged(&detail))
    }

    /// Stops the partition because of an entry that cannot be decoded.
    pub(crate) fn damaged(&self, detail: &str) -> Error {
        self.stop(Error::damaged(self.id, &self.dir, detail))
    }

    /// The tree, created if necessary, unless writing has stopped.
    fn writable(&self) -> Result<&Tree, Error> {
        if let Some(error) = self.stopped.get() {
            return Err(error.clone());
        }
        if let Some(tree) = self.tree.get() {
            return Ok(tree);
        }
        let _making = self.making.lock().expect("no panic under this lock");
        if self.tree.get().is_none() {
            let made = self.make_dir().and_then(|()| self.open_tree());
            let tree = made.map_err(|error| self.stop(error))?;
            assert!(self.tree.set(tree).is_ok(), "set only under this lock");
        }
        Ok(self.tree.get().expect("set above"))
    }

    fn make_dir(&self) -> Result<(), Error> {
        let parent = self.dir.parent().expect("a partition lies in the view's directory");
        let made = fs::create_dir_all(&self.dir).and_then(|()| sync_dir(parent));
        made.map_err(|error| Error::io(self.id, "making its directory", &error))
    }

    fn open_tree(&self) -> Result<Tree, Error> {
        let (seqno, visible) = (SequenceNumberCounter::default(), SequenceNumberCounter::default());
        let bloom = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(FILTER_BITS_PER_KEY));
        let tree = Config::new(&self.dir, seqno.clone(), visible)
            .use_cache(self.shared.cache.clone())
            .use_descriptor_table(Some(self.shared.descriptors.clone()))
            .filter_policy(FilterPolicy::all(bloom))
            .expect_point_read_hits(false)
            // Level 0 is small and stays in memory; below it filters and indexes are cut into parts of 4 KiB, so that
            // a look-up loads one part into the cache, not the filter of a whole table.
            .filter_block_pinning_policy(PinningPolicy::new([true, false]))
            .filter_block_partitioning_policy(PinningPolicy::new([false, true]))
            .index_block_pinning_policy(PinningPolicy::new([true, false]))
            .index_block_partitioning_policy(PinningPolicy::new([false, true]))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
            .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
            .open();
        let tree = self.read("opening its tree", tree)?;
        // The tree does not persist its counter; with a lower number, old entries would hide new ones.
        seqno.set(tree.get_highest_persisted_seqno().map_or(1, |highest| highest + 1));
        Ok(Tree { tree, seqno })
    }

    fn count(&self, bytes: i64) {
        self.memtable_bytes.fetch_add(bytes, Ordering::AcqRel);
        self.shared.memtable_bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Classifies a failed read: damage stops the partition, any other error fails only this read.
    fn read<T>(&self, attempt: &'static str, result: lsm_tree::Result<T>) -> Result<T, Error> {
        result.map_err(|error| match Error::of_tree(self.id, &self.dir, attempt, error) {
            error @ Error::Damaged { .. } => self.stop(error),
            error => error,
        })
    }

    /// Classifies a failed write: it stops the partition, because the state of the disk is unknown.
    fn written<T>(&self, attempt: &'static str, result: lsm_tree::Result<T>) -> Result<T, Error> {
        result.map_err(|error| self.stop(Error::of_tree(self.id, &self.dir, attempt, error)))
    }

    /// Stops all later writing; reads continue, each of them verified. Returns the error that names the file.
    fn stop(&self, error: Error) -> Error {
        let stop = || {
            // Reading all tables takes a while, but happens once and shows the operator which file is damaged.
            let error = match error {
                Error::Damaged { .. } => self.verify().err().unwrap_or(error),
                error => error,
            };
            tracing::error!(partition = %self.id, %error, "the view of a partition has stopped");
            if matches!(error, Error::Io { .. }) && self.shared.on_failure == OnFailure::ExitProcess {
                tracing::error!("a view cannot be written: stopping");
                std::process::exit(OnFailure::EXIT_CODE);
            }
            error
        };
        self.stopped.get_or_init(stop).clone()
    }
}

impl Drop for ViewPartition {
    fn drop(&mut self) {
        self.shared.memtable_bytes.fetch_sub(self.memtable_bytes.load(Ordering::Acquire), Ordering::AcqRel);
    }
}

/// Makes the entries of a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
