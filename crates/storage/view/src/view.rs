//! The view for callers: opened once, cloned cheaply, read from anywhere.

mod tables;

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;

use lsm_tree::{Cache, DescriptorTable};
use types::{BodyHash, Key, PartitionId, RunId, Seq, Timestamp};

use crate::background::Background;
use crate::error::{Error, ListError, OpenError};
use crate::limits::OPEN_FILES_MAX;
use crate::list::{self, RunPage, RunQuery};
use crate::partition::{SharedResources, ViewPartition, sync_dir};
use crate::retention::{self, Forgotten};
use crate::run::EndedRun;
use tables::TreeLocation;

pub use tables::Staging;

/// The resources that a view may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Memory for cached blocks, over all partitions.
    pub cache_bytes: u64,
    /// Memory for data that is not on disk yet, over all partitions. Writers wait when twice this is in use.
    pub memtable_bytes_total: u64,
    /// Table files kept open, over all partitions.
    pub open_files_max: usize,
    pub on_failure: OnFailure,
}

/// The reaction when a table could not be written or synced, so that the state of the disk is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The partition accepts no further writes. For tests: the caller must restart it.
    StopPartition,
    /// The process ends with [`OnFailure::EXIT_CODE`] and recovers when it is started again.
    ExitProcess,
}

impl OnFailure {
    /// The exit code of a process that stopped itself because of its disk.
    pub const EXIT_CODE: i32 = 75;
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            cache_bytes: 32 * 1024 * 1024,
            memtable_bytes_total: 64 * 1024 * 1024,
            open_files_max: OPEN_FILES_MAX,
            on_failure: OnFailure::StopPartition,
        }
    }
}

/// The size of a view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    pub memtable_bytes: u64,
    pub disk_bytes: u64,
    pub tables: usize,
    pub partitions: Vec<PartitionSizes>,
}

/// The size of a partition's view, and how far it is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSizes {
    pub partition: PartitionId,
    pub memtable_bytes: u64,
    pub disk_bytes: u64,
    pub tables: usize,
    pub flushed_through: Option<Seq>,
    /// Why writing has stopped, if it has.
    pub stopped: Option<String>,
}

/// The ended runs of all partitions in one directory.
#[derive(Clone)]
pub struct View {
    inner: Arc<ViewInner>,
}

struct ViewInner {
    dir: PathBuf,
    shared: Arc<SharedResources>,
    background: Arc<Background>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Only opening and closing take this for writing.
    partitions: RwLock<OpenPartitions>,
    /// The current tree of each partition; see [`tables`].
    locations: Mutex<BTreeMap<PartitionId, u32>>,
    /// Locked for as long as the view lives; the system releases it with the process.
    _lock: File,
}

#[derive(Default)]
struct OpenPartitions {
    by_id: BTreeMap<PartitionId, Arc<ViewPartition>>,
    all: Arc<Vec<Arc<ViewPartition>>>,
    closed: bool,
}

impl View {
    /// Opens the directory and creates it if necessary. Partitions are opened one by one.
    pub fn open(dir: &Path, settings: Settings) -> Result<View, OpenError> {
        let failed = |source: io::Error| OpenError::Io { dir: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        sync_dir(dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))
            .map_err(failed)?;
        let lock = File::create(dir.join("lock")).map_err(failed)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::InUse { dir: dir.to_owned() },
            TryLockError::Error(source) => failed(source),
        })?;
        let locations = Mutex::new(tables::locations(dir).map_err(failed)?);
        let shared = Arc::new(SharedResources {
            cache: Arc::new(Cache::with_capacity_bytes(settings.cache_bytes)),
            descriptors: Arc::new(DescriptorTable::new(settings.open_files_max)),
            memtable_bytes: AtomicI64::new(0),
            on_failure: settings.on_failure,
        });
        let (background, thread) = Background::start(shared.clone(), settings.memtable_bytes_total);
        let inner = ViewInner {
            dir: dir.to_owned(),
            shared,
            background,
            thread: Mutex::new(Some(thread)),
            partitions: RwLock::default(),
            locations,
            _lock: lock,
        };
        Ok(View { inner: Arc::new(inner) })
    }

    /// Opens a partition; its tree is created with its first write. Opening it again does nothing.
    ///
    /// A damaged tree is an error that names the file; other partitions are not affected.
    pub fn open_partition(&self, id: PartitionId) -> Result<(), Error> {
        let mut partitions = self.inner.partitions.write().expect("no panic under this lock");
        if partitions.closed {
            return Err(Error::Closed { partition: id });
        }
        if partitions.by_id.contains_key(&id) {
            return Ok(());
        }
        let partition = ViewPartition::open(id, self.inner.partition_dir(id), self.inner.shared.clone())?;
        partitions.by_id.insert(id, Arc::new(partition));
        self.inner.changed(&mut partitions);
        Ok(())
    }

    /// Removes a partition from the view. Data that was not flushed is lost, as after a crash.
    pub fn close_partition(&self, id: PartitionId) {
        let mut partitions = self.inner.partitions.write().expect("no panic under this lock");
        if let Some(partition) = partitions.by_id.remove(&id) {
            self.inner.changed(&mut partitions);
            partition.close();
        }
    }

    /// Closes a partition and moves its directory aside, keeping every byte, so that opening it starts empty.
    ///
    /// An operator's decision: ended runs that were trimmed from the journal are then only in the directory returned.
    pub fn set_aside(&self, id: PartitionId) -> Result<PathBuf, Error> {
        self.close_partition(id);
        let from = self.inner.partition_dir(id);
        let name = |number: u32| self.inner.dir.join(format!("p-{:05}.aside-{number}", id.0));
        let to = (1..).map(name).find(|path| !path.exists()).expect("numbers do not run out");
        let moved = fs::rename(&from, &to).and_then(|()| sync_dir(&self.inner.dir));
        moved.map_err(|error| Error::io(id, "moving its directory aside", &error))?;
        Ok(to)
    }

    /// Writes an ended run into memory: durable with the next [`View::flush`]. Writing is idempotent.
    ///
    /// One writer per partition. When far more memory is in use than the settings allow because the disk cannot keep
    /// up, the call waits up to 50 ms for room.
    ///
    /// # Panics
    ///
    /// When the status is not final: such a run has not ended.
    pub fn put_ended(&self, partition: PartitionId, run: &EndedRun) -> Result<(), Error> {
        self.partition(partition)?.put_ended(run)?;
        self.inner.background.written();
        Ok(())
    }

    /// Makes everything written to the partition before durable, with `through` as its mark.
    ///
    /// On a full disk it returns [`Error::Full`] and changes nothing. Any other failure stops the partition or the
    /// process for good: whether the data is durable is then unknown.
    pub fn flush(&self, partition: PartitionId, through: Seq) -> Result<(), Error> {
        self.partition(partition)?.flush(through)?;
        self.inner.background.wake();
        Ok(())
    }

    /// The mark of the last flush; `None` when there never was one, or when the tree was lost.
    pub fn flushed_through(&self, partition: PartitionId) -> Result<Option<Seq>, Error> {
        Ok(self.partition(partition)?.flushed_through())
    }

    /// The run with this id, searched for in the hinted partition, then in all others that are open.
    pub fn run(&self, id: &RunId, hint: Option<PartitionId>) -> Result<Option<EndedRun>, Error> {
        self.find(hint, |partition| partition.run(id))
    }

    /// The body hash of an ended run with this id, without reading the run.
    ///
    /// A miss looks in every open partition: filters keep it off the disk. When the id alone determines the partition,
    /// [`View::seen_in`] looks in one.
    pub fn seen(&self, id: &RunId, hint: Option<PartitionId>) -> Result<Option<BodyHash>, Error> {
        let seen = self.find(hint, |partition| partition.seen(id))?;
        Ok(seen.map(|seen| seen.body_hash))
    }

    /// As [`View::seen`], in one partition only.
    pub fn seen_in(&self, partition: PartitionId, id: &RunId) -> Result<Option<BodyHash>, Error> {
        Ok(self.partition(partition)?.seen(id)?.map(|seen| seen.body_hash))
    }

    /// One page of ended runs over all open partitions.
    pub fn list(&self, query: &RunQuery) -> Result<RunPage, ListError> {
        list::list(&self.inner.all(), query)
    }

    /// Removes up to `limit` of the oldest runs that were accepted and have ended before `time`, with their
    /// index entries. Durable with the next [`View::flush`]; a replay may restore them until the next call.
    pub fn forget_before(
        &self,
        partition: PartitionId,
        time: Timestamp,
        limit: usize,
    ) -> Result<Forgotten, Error> {
        let forgotten = retention::forget_before(&self.partition(partition)?, time, limit)?;
        self.inner.background.written();
        Ok(forgotten)
    }

    /// Removes all runs with a key but the newest `keep`; the key is not their id. Returns how many.
    pub fn keep_newest(&self, partition: PartitionId, key: &Key, keep: usize) -> Result<usize, Error> {
        let removed = retention::keep_newest(&self.partition(partition)?, key, keep)?;
        self.inner.background.written();
        Ok(removed)
    }

    /// Reads every table file of a partition and compares it with its checksum. Returns the bytes read.
    pub fn verify(&self, partition: PartitionId) -> Result<u64, Error> {
        self.partition(partition)?.verify()
    }

    /// The size of the view, for metrics.
    pub fn sizes(&self) -> Sizes {
        let all = self.inner.all();
        let sizes = all.iter().map(|partition| PartitionSizes {
            partition: partition.id,
            memtable_bytes: partition.memtable_bytes(),
            disk_bytes: partition.disk_bytes(),
            tables: partition.tables(),
            flushed_through: partition.flushed_through(),
            stopped: partition.stopped().map(Error::to_string),
        });
        let partitions: Vec<_> = sizes.collect();
        Sizes {
            memtable_bytes: self.inner.background.held_bytes(),
            disk_bytes: partitions.iter().map(|each| each.disk_bytes).sum(),
            tables: partitions.iter().map(|each| each.tables).sum(),
            partitions,
        }
    }

    /// Closes all partitions and ends the view's thread; every later call returns [`Error::Closed`]. The last
    /// clone does the same when it is dropped. Data that was not flushed is lost, as after a crash.
    pub fn close(&self) {
        self.inner.close();
    }

    pub(crate) fn partition(&self, id: PartitionId) -> Result<Arc<ViewPartition>, Error> {
        let partitions = self.inner.partitions.read().expect("no panic under this lock");
        partitions.by_id.get(&id).cloned().ok_or(Error::Closed { partition: id })
    }

    /// Notifies the thread that writes tables that there is more to write.
    pub(crate) fn written(&self) {
        self.inner.background.written();
    }

    fn find<T>(
        &self,
        hint: Option<PartitionId>,
        find: impl Fn(&ViewPartition) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        let all = self.inner.all();
        let hinted = all.iter().filter(|partition| Some(partition.id) == hint);
        let others = all.iter().filter(|partition| Some(partition.id) != hint);
        for partition in hinted.chain(others) {
            if let Some(found) = find(partition)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl ViewInner {
    fn partition_dir(&self, id: PartitionId) -> PathBuf {
        let locations = self.locations.lock().expect("no panic under this lock");
        self.dir.join(TreeLocation { id, number: locations.get(&id).copied().unwrap_or_default() }.name())
    }

    fn all(&self) -> Arc<Vec<Arc<ViewPartition>>> {
        self.partitions.read().expect("no panic under this lock").all.clone()
    }

    fn changed(&self, partitions: &mut OpenPartitions) {
        partitions.all = Arc::new(partitions.by_id.values().cloned().collect());
        self.background.look_after(partitions.all.clone());
    }

    fn close(&self) {
        let closed = OpenPartitions { closed: true, ..OpenPartitions::default() };
        let partitions =
            std::mem::replace(&mut *self.partitions.write().expect("no panic under this lock"), closed);
        self.background.close();
        partitions.by_id.values().for_each(|partition| partition.close());
        let thread = self.thread.lock().expect("no panic under this lock").take();
        if let Some(thread) = thread {
            thread.join().expect("the view's thread does not panic");
        }
    }
}

impl Drop for ViewInner {
    fn drop(&mut self) {
        self.close();
    }
}
