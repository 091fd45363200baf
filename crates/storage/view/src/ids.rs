//! The ids of accepted or live runs, in memory: they distinguish a repeated request from a new one.
//!
//! Ids of ended runs are in the view ([`crate::View::seen`]); together the two know every id. An id is stored
//! as 16 bytes of SHA-256 over a secret of this process and the id, so that a client can neither make two ids
//! collide nor crowd many into one region of the table.

mod table;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, RwLock};

use sha2::{Digest, Sha256};
use types::{BodyHash, PartitionId, RunId};

use table::{Hash, IdTable};

/// Enough that threads seldom contend for one, few enough that empty ones cost nothing.
const SHARDS: usize = 64;

/// The register of ids that are accepted or live. Share it in an `Arc`.
pub struct Ids {
    secret: [u8; 16],
    shards: Vec<Mutex<IdTable>>,
    /// Kept beside the shards, because every request reads it.
    held: AtomicUsize,
    /// Clients that wait for an acknowledgement at this moment.
    entering: AtomicUsize,
    /// Every request reads this, and changes are rare.
    states: RwLock<PartitionStates>,
}

/// The state of a partition's ids in this instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionState {
    /// All of them are known.
    Held,
    /// The partition has stopped, maybe before its ids were restored: an id that is not registered may still be in use.
    Stopped,
    /// Another instance knows them.
    Elsewhere,
}

struct PartitionStates {
    /// Whether partitions change owners: then those without a state here are owned elsewhere.
    shared: bool,
    by_partition: BTreeMap<PartitionId, PartitionState>,
}

/// What is known of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdEntry {
    pub body_hash: BodyHash,
    pub partition: PartitionId,
    /// Whether its record is known to be durable.
    pub durable: bool,
}

/// A client that waits for an acknowledgement, counted until this is dropped.
pub struct WaitingClient<'a>(&'a AtomicUsize);

impl Drop for WaitingClient<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The answer to a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdReservation {
    /// The id was new and is now reserved, not yet durable.
    New,
    /// The same request again.
    Same { durable: bool, partition: PartitionId },
    /// Another request with the same id.
    Conflict { durable: bool, partition: PartitionId },
}

impl Ids {
    pub fn new() -> Ids {
        let draw = || RandomState::new().hash_one(0u8).to_be_bytes();
        let mut secret = [0; 16];
        secret[..8].copy_from_slice(&draw());
        secret[8..].copy_from_slice(&draw());
        let shards = (0..SHARDS).map(|_| Mutex::new(IdTable::default())).collect();
        Ids {
            secret,
            shards,
            held: AtomicUsize::new(0),
            entering: AtomicUsize::new(0),
            states: RwLock::new(PartitionStates { shared: false, by_partition: BTreeMap::new() }),
        }
    }

    /// Reserves the id for a request, unless it is in use.
    pub fn reserve(&self, id: &RunId, body_hash: BodyHash, partition: PartitionId) -> IdReservation {
        let hash = self.hash(id);
        let mut shard = self.shard(&hash);
        match shard.get(&hash) {
            None => {
                shard.insert(&hash, IdEntry { body_hash, partition, durable: false });
                self.held.fetch_add(1, Ordering::Relaxed);
                IdReservation::New
            }
            Some(IdEntry { body_hash: known, partition, durable }) if known == body_hash => {
                IdReservation::Same { durable, partition }
            }
            Some(IdEntry { partition, durable, .. }) => IdReservation::Conflict { durable, partition },
        }
    }

    /// The reserved id's record has become durable. Unknown ids are ignored.
    pub fn confirm(&self, id: &RunId) {
        let hash = self.hash(id);
        let mut shard = self.shard(&hash);
        if let Some(entry) = shard.get(&hash) {
            shard.insert(&hash, IdEntry { durable: true, ..entry });
        }
    }

    /// The append has failed, or the run has ended and is in the view. Unknown ids are ignored.
    pub fn release(&self, id: &RunId) {
        let hash = self.hash(id);
        let mut shard = self.shard(&hash);
        if shard.get(&hash).is_some() {
            shard.remove(&hash);
            self.held.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Registers the id of a record that recovery has found: durable, whatever was known before.
    pub fn restore(&self, id: &RunId, body_hash: BodyHash, partition: PartitionId) {
        let hash = self.hash(id);
        let mut shard = self.shard(&hash);
        if shard.get(&hash).is_none() {
            self.held.fetch_add(1, Ordering::Relaxed);
        }
        shard.insert(&hash, IdEntry { body_hash, partition, durable: true });
    }

    pub fn find(&self, id: &RunId) -> Option<IdEntry> {
        let hash = self.hash(id);
        self.shard(&hash).get(&hash)
    }

    /// From now on a partition counts as owned only after `set_partition_state`.
    pub fn hold_none(&self) {
        *self.states.write().expect("no panic under this lock") =
            PartitionStates { shared: true, by_partition: BTreeMap::new() };
    }

    /// Whether partitions change owners.
    pub fn partitions_move(&self) -> bool {
        self.states.read().expect("no panic under this lock").shared
    }

    pub fn set_partition_state(&self, partition: PartitionId, state: PartitionState) {
        self.states.write().expect("no panic under this lock").by_partition.insert(partition, state);
    }

    pub fn partition_state(&self, partition: PartitionId) -> PartitionState {
        let states = self.states.read().expect("no panic under this lock");
        let unsaid = if states.shared { PartitionState::Elsewhere } else { PartitionState::Held };
        states.by_partition.get(&partition).copied().unwrap_or(unsaid)
    }

    /// Whether the ids of any partition are known here.
    pub fn holds_any(&self) -> bool {
        let states = self.states.read().expect("no panic under this lock");
        !states.shared || states.by_partition.values().any(|state| *state == PartitionState::Held)
    }

    /// Removes all ids of a partition.
    pub fn forget(&self, partition: PartitionId) {
        for shard in &self.shards {
            let gone = lock(shard).remove_partition(partition);
            self.held.fetch_sub(gone, Ordering::Relaxed);
        }
    }

    /// Counts a client that submits something, for as long as it waits.
    pub fn count_client(&self) -> WaitingClient<'_> {
        self.entering.fetch_add(1, Ordering::Relaxed);
        WaitingClient(&self.entering)
    }

    /// How many clients wait for an acknowledgement.
    pub fn entering(&self) -> usize {
        self.entering.load(Ordering::Relaxed)
    }

    /// How many ids are registered.
    pub fn len(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that the register uses.
    pub fn memory_bytes(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).memory_bytes()).sum()
    }

    fn hash(&self, id: &RunId) -> Hash {
        let digest = Sha256::new().chain_update(self.secret).chain_update(id.as_str()).finalize();
        digest[..16].try_into().expect("a digest has 32 bytes")
    }

    /// The first byte selects the shard; the table uses the bytes after it.
    fn shard(&self, hash: &Hash) -> MutexGuard<'_, IdTable> {
        lock(&self.shards[usize::from(hash[0]) % SHARDS])
    }
}

impl Default for Ids {
    fn default() -> Ids {
        Ids::new()
    }
}

fn lock(shard: &Mutex<IdTable>) -> MutexGuard<'_, IdTable> {
    shard.lock().expect("no panic under this lock")
}

#[cfg(test)]
mod tests;
