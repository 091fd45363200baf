//! A disk in memory with a cache layer and a durable layer: it loses power at any operation, fails a sync,
//! fills up, rots. Everything it does follows from a seed.

mod world;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::disk::{Disk, DiskFile};
use world::World;

/// The smallest unit that a power cut can tear, in bytes.
pub const SECTOR_BYTES: usize = 512;

/// A simulated disk. Clones share it.
#[derive(Clone)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

struct SimFile {
    world: Arc<Mutex<World>>,
    inode: usize,
    /// The life of the process that opened the file.
    life: u64,
}

impl SimDisk {
    pub fn new(seed: u64) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(World::new(seed))) }
    }

    /// The process dies during its `operations`-th operation from now: that one and all later ones
    /// fail, until [`SimDisk::power_cut`] or [`SimDisk::kill`].
    pub fn die_after(&self, operations: u64) {
        self.lock().dies_in = Some(operations);
    }

    /// Suspends the scheduled death, until [`SimDisk::resume_death`].
    pub fn pause_death(&self) {
        let mut world = self.lock();
        world.paused = world.dies_in.take();
    }

    pub fn resume_death(&self) {
        let mut world = self.lock();
        world.dies_in = world.paused.take();
    }

    /// Whether the process has died.
    pub fn is_dead(&self) -> bool {
        self.lock().is_dead
    }

    /// The machine loses power: each sector and name that was not synced is old, new, or damaged.
    pub fn power_cut(&self) {
        self.lock().power_cut();
    }

    /// The process dies, the machine does not: the cache survives.
    pub fn kill(&self) {
        self.lock().revive();
    }

    /// The `count`-th sync of a file from now fails; the cache marks the unwritten bytes as clean.
    pub fn fail_sync_after(&self, count: u64) {
        self.lock().sync_fails_in = Some(count);
    }

    /// Cancels every scheduled fault that has not happened.
    pub fn calm(&self) {
        let mut world = self.lock();
        (world.dies_in, world.sync_fails_in) = (None, None);
        world.capacity = u64::MAX;
    }

    /// The total size of all files in bytes.
    pub fn set_capacity(&self, bytes: u64) {
        self.lock().capacity = bytes;
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Durable content by path.
    pub fn files(&self) -> Vec<(String, usize)> {
        self.lock().files()
    }

    /// Changes the durable bytes of a file, and the cached ones.
    pub fn rot(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        self.lock().rot(path, change);
    }

    /// Another disk with the same durable content.
    #[must_use]
    pub fn copy(&self, seed: u64) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(self.lock().copy(seed))) }
    }

    /// Another disk with all contents of this one, the cache written back.
    #[must_use]
    pub fn copy_written_out(&self, seed: u64) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(self.lock().copy_written_out(seed))) }
    }

    /// Whether a power cut now would lose anything.
    pub fn has_unsynced(&self) -> bool {
        self.lock().has_unsynced()
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no holder of the lock panics")
    }

    fn file(&self, inode: usize, life: u64) -> Arc<dyn DiskFile> {
        Arc::new(SimFile { world: Arc::clone(&self.world), inode, life })
    }
}

impl Disk for SimDisk {
    fn place(&self) -> String {
        "sim".to_owned()
    }

    fn create_dir(&self, _path: &str) -> io::Result<()> {
        self.lock().operate()
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut world = self.lock();
        let inode = world.create(path)?;
        Ok(self.file(inode, world.life))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let world = self.lock();
        let inode = world.find(path)?;
        Ok(self.file(inode, world.life))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.lock().list(dir)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.lock().rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.lock().remove(path)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.lock().sync_dir(dir)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(self.lock().free_bytes())
    }

    fn unique(&self) -> u128 {
        self.lock().unique()
    }
}

impl SimFile {
    fn world(&self) -> io::Result<MutexGuard<'_, World>> {
        let world = self.world.lock().expect("no holder of the lock panics");
        if world.life == self.life { Ok(world) } else { Err(world::dead()) }
    }
}

impl DiskFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.world()?.cached(self.inode)?.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let world = self.world()?;
        let content = world.cached(self.inode)?;
        let at = at as usize;
        let read = content.get(at..at + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(read);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.world()?.write(self.inode, bytes, at as usize)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let mut world = self.world()?;
        let have = world.cached(self.inode)?.len();
        let missing = (len as usize).saturating_sub(have);
        world.write(self.inode, &vec![0; missing], have)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.world()?.sync(self.inode)
    }
}
