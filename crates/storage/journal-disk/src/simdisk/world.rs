//! The state of a simulated disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::SECTOR_BYTES;

pub struct World {
    random: u64,
    inodes: Vec<Inode>,
    /// The files that may have a name.
    inodes_in_use: Vec<usize>,
    /// Names as a running process sees them.
    names: BTreeMap<String, usize>,
    /// Names that survive a power cut.
    durable_names: BTreeMap<String, usize>,
    /// Changes of names since their directory was synced.
    pending: Vec<NameChange>,
    pub life: u64,
    pub is_dead: bool,
    pub dies_in: Option<u64>,
    pub paused: Option<u64>,
    pub sync_fails_in: Option<u64>,
    pub capacity: u64,
    pub operations: u64,
}

#[derive(Clone, Default)]
struct Inode {
    cached: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors whose cached bytes are not written yet.
    dirty: BTreeSet<usize>,
}

#[derive(Clone)]
enum NameChange {
    Create(String, usize),
    Rename(String, String),
    Remove(String),
}

impl World {
    pub fn new(seed: u64) -> World {
        World {
            random: seed,
            inodes: Vec::new(),
            inodes_in_use: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            pending: Vec::new(),
            life: 0,
            is_dead: false,
            dies_in: None,
            paused: None,
            sync_fails_in: None,
            capacity: u64::MAX,
            operations: 0,
        }
    }

    pub fn copy(&self, seed: u64) -> World {
        World::with(seed, &self.durable_names, |inode| self.inodes[inode].durable.clone())
    }

    pub fn copy_written_out(&self, seed: u64) -> World {
        World::with(seed, &self.names, |inode| self.inodes[inode].cached.clone())
    }

    pub fn has_unsynced(&self) -> bool {
        !self.pending.is_empty()
            || self.inodes_in_use.iter().any(|inode| !self.inodes[*inode].dirty.is_empty())
    }

    fn with(seed: u64, names: &BTreeMap<String, usize>, content: impl Fn(usize) -> Vec<u8>) -> World {
        let mut copy = World::new(seed);
        for (name, inode) in names {
            let durable = content(*inode);
            copy.names.insert(name.clone(), copy.inodes.len());
            copy.inodes_in_use.push(copy.inodes.len());
            copy.inodes.push(Inode { cached: durable.clone(), durable, dirty: BTreeSet::new() });
        }
        copy.durable_names = copy.names.clone();
        copy
    }

    /// Counts an operation that changes something; fails if the process is dead or dies in it.
    pub fn operate(&mut self) -> io::Result<()> {
        if self.is_dead {
            return Err(dead());
        }
        self.operations += 1;
        if let Some(left) = &mut self.dies_in {
            if *left == 0 {
                self.is_dead = true;
                return Err(dead());
            }
            *left -= 1;
        }
        Ok(())
    }

    pub fn revive(&mut self) {
        self.is_dead = false;
        self.dies_in = None;
        self.sync_fails_in = None;
        self.life += 1;
    }

    pub fn power_cut(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        for change in pending {
            if self.roll(2) == 0 {
                apply(&mut self.durable_names, &change);
            }
        }
        self.names = self.durable_names.clone();
        for inode in std::mem::take(&mut self.inodes_in_use) {
            if self.names.values().any(|named| *named == inode) {
                self.cut_inode(inode);
                self.inodes_in_use.push(inode);
            } else {
                self.inodes[inode] = Inode::default();
            }
        }
        self.revive();
    }

    fn cut_inode(&mut self, number: usize) {
        let inode = &self.inodes[number];
        if inode.dirty.is_empty() && inode.cached.len() == inode.durable.len() {
            // After a failed sync the bytes may be in the cache only.
            if inode.cached != inode.durable {
                self.inodes[number].cached = self.inodes[number].durable.clone();
            }
            return;
        }
        let mut inode = std::mem::take(&mut self.inodes[number]);
        let (old, new) = (inode.durable.len(), inode.cached.len());
        let length = match self.roll(3) {
            0 => old,
            1 => new,
            _ => old.min(new) + self.roll(1 + old.abs_diff(new) as u64) as usize,
        };
        inode.durable.resize(length.max(old), 0);
        for sector in std::mem::take(&mut inode.dirty) {
            let start = sector * SECTOR_BYTES;
            let end = (start + SECTOR_BYTES).min(inode.durable.len()).min(inode.cached.len());
            if start >= end {
                continue;
            }
            match self.roll(16) {
                0..7 => inode.durable[start..end].copy_from_slice(&inode.cached[start..end]),
                7..13 => {}
                13..15 => inode.durable[start..end].fill(0),
                _ => {
                    for byte in &mut inode.durable[start..end] {
                        *byte = self.roll(256) as u8;
                    }
                }
            }
        }
        inode.durable.truncate(length);
        inode.cached = inode.durable.clone();
        self.inodes[number] = inode;
    }

    pub fn create(&mut self, path: &str) -> io::Result<usize> {
        self.operate()?;
        if let Some(inode) = self.names.get(path) {
            let emptied = &mut self.inodes[*inode];
            emptied.cached.clear();
            emptied.dirty.clear();
            return Ok(*inode);
        }
        let inode = self.inodes.len();
        self.inodes.push(Inode::default());
        self.inodes_in_use.push(inode);
        self.change_name(NameChange::Create(path.to_owned(), inode));
        Ok(inode)
    }

    pub fn find(&self, path: &str) -> io::Result<usize> {
        if self.is_dead {
            return Err(dead());
        }
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        if self.is_dead {
            return Err(dead());
        }
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let inside = self.names.keys().filter_map(|name| name.strip_prefix(&prefix));
        Ok(inside.filter(|name| !name.contains('/')).map(str::to_owned).collect())
    }

    pub fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.operate()?;
        self.find(from)?;
        self.change_name(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    pub fn remove(&mut self, path: &str) -> io::Result<()> {
        self.operate()?;
        self.find(path)?;
        self.change_name(NameChange::Remove(path.to_owned()));
        Ok(())
    }

    fn change_name(&mut self, change: NameChange) {
        apply(&mut self.names, &change);
        self.pending.push(change);
    }

    pub fn sync_dir(&mut self, dir: &str) -> io::Result<()> {
        self.operate()?;
        let (done, pending) =
            std::mem::take(&mut self.pending).into_iter().partition(|change| dir_of(change) == dir);
        self.pending = pending;
        let done: Vec<NameChange> = done;
        for change in done {
            apply(&mut self.durable_names, &change);
        }
        Ok(())
    }

    pub fn cached(&self, inode: usize) -> io::Result<&Vec<u8>> {
        if self.is_dead { Err(dead()) } else { Ok(&self.inodes[inode].cached) }
    }

    pub fn write(&mut self, inode: usize, bytes: &[u8], at: usize) -> io::Result<()> {
        if self.is_dead {
            return Err(dead());
        }
        let dies = self.operate();
        // A process that dies during a write leaves a part of it.
        let reached = if dies.is_err() { self.roll(1 + bytes.len() as u64) as usize } else { bytes.len() };
        let end = at + reached;
        let growth = end.saturating_sub(self.inodes[inode].cached.len()) as u64;
        if growth > self.free_bytes() {
            return dies.and(Err(io::ErrorKind::StorageFull.into()));
        }
        let inode = &mut self.inodes[inode];
        if end > inode.cached.len() {
            inode.cached.resize(end, 0);
        }
        inode.cached[at..end].copy_from_slice(&bytes[..reached]);
        inode.dirty.extend(at / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES));
        dies
    }

    pub fn sync(&mut self, inode: usize) -> io::Result<()> {
        self.operate()?;
        if let Some(left) = &mut self.sync_fails_in {
            if *left == 0 {
                self.sync_fails_in = None;
                return self.fail_sync(inode);
            }
            *left -= 1;
        }
        let inode = &mut self.inodes[inode];
        inode.durable.resize(inode.cached.len(), 0);
        for sector in std::mem::take(&mut inode.dirty) {
            let start = sector * SECTOR_BYTES;
            let end = (start + SECTOR_BYTES).min(inode.cached.len());
            inode.durable[start..end].copy_from_slice(&inode.cached[start..end]);
        }
        Ok(())
    }

    /// The pages become clean, although only some or none of them were written.
    fn fail_sync(&mut self, number: usize) -> io::Result<()> {
        let mut inode = std::mem::take(&mut self.inodes[number]);
        inode.durable.resize(inode.cached.len(), 0);
        for sector in std::mem::take(&mut inode.dirty) {
            let start = sector * SECTOR_BYTES;
            let end = (start + SECTOR_BYTES).min(inode.cached.len());
            if self.roll(2) == 0 {
                inode.durable[start..end].copy_from_slice(&inode.cached[start..end]);
            }
        }
        self.inodes[number] = inode;
        Err(io::Error::other("the sync failed"))
    }

    pub fn free_bytes(&self) -> u64 {
        let used: usize = self.names.values().map(|inode| self.inodes[*inode].cached.len()).sum();
        self.capacity.saturating_sub(used as u64)
    }

    pub fn files(&self) -> Vec<(String, usize)> {
        let named = self.durable_names.iter();
        named.map(|(name, inode)| (name.clone(), self.inodes[*inode].durable.len())).collect()
    }

    pub fn rot(&mut self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let inode = &mut self.inodes[self.durable_names[path]];
        change(&mut inode.durable);
        inode.cached = inode.durable.clone();
        inode.dirty.clear();
    }

    pub fn unique(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    fn roll(&mut self, below: u64) -> u64 {
        self.next() % below
    }

    fn next(&mut self) -> u64 {
        // splitmix64
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &NameChange) {
    match change {
        NameChange::Create(path, inode) => {
            names.insert(path.clone(), *inode);
        }
        NameChange::Rename(from, to) => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
        NameChange::Remove(path) => {
            names.remove(path);
        }
    }
}

fn dir_of(change: &NameChange) -> &str {
    let (NameChange::Create(path, _) | NameChange::Rename(_, path) | NameChange::Remove(path)) = change;
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

pub fn dead() -> io::Error {
    io::Error::other("the process is dead")
}
