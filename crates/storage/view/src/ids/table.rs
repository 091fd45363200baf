//! A hash table of 35 bytes per slot that grows by a quarter, not by doubling: 41 to 52 bytes per id.
//!
//! The standard map keeps between 7/16 and 7/8 of its slots in use and would take up to 85 bytes per id. This one
//! uses linear probing; hashes are already random, so a slot's home is a part of its hash. Removing moves
//! later slots back, so there are no tombstones.

use types::{BodyHash, PartitionId};

use super::IdEntry;

pub(super) type Hash = [u8; 16];

#[derive(Default)]
pub(super) struct IdTable {
    slots: Vec<IdSlot>,
    used: usize,
}

/// Bytes only, so that nothing is lost to alignment.
#[derive(Clone, Copy)]
struct IdSlot {
    hash: Hash,
    body_hash: [u8; 16],
    partition: [u8; 2],
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Reserved,
    Durable,
}

impl IdSlot {
    fn is_of(&self, partition: PartitionId) -> bool {
        self.state != State::Empty && self.partition == partition.0.to_be_bytes()
    }
}

const EMPTY: IdSlot = IdSlot { hash: [0; 16], body_hash: [0; 16], partition: [0; 2], state: State::Empty };
const SLOTS_MIN: usize = 16;

impl IdTable {
    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<IdSlot>() + size_of::<IdTable>()
    }

    pub(super) fn get(&self, hash: &Hash) -> Option<IdEntry> {
        let slot = &self.slots[self.find(hash).ok()?];
        Some(IdEntry {
            body_hash: BodyHash(slot.body_hash),
            partition: PartitionId(u16::from_be_bytes(slot.partition)),
            durable: slot.state == State::Durable,
        })
    }

    pub(super) fn insert(&mut self, hash: &Hash, entry: IdEntry) {
        let slot = IdSlot {
            hash: *hash,
            body_hash: entry.body_hash.0,
            partition: entry.partition.0.to_be_bytes(),
            state: if entry.durable { State::Durable } else { State::Reserved },
        };
        match self.find(hash) {
            Ok(at) => self.slots[at] = slot,
            Err(at) if (self.used + 1) * 20 <= self.slots.len() * 17 => {
                self.slots[at] = slot;
                self.used += 1;
            }
            Err(_) => {
                self.resize((self.slots.len() + self.slots.len() / 4).max(SLOTS_MIN));
                self.place(slot);
            }
        }
    }

    pub(super) fn remove(&mut self, hash: &Hash) {
        let Ok(mut gap) = self.find(hash) else { return };
        self.used -= 1;
        let mut at = gap;
        loop {
            at = self.after(at);
            if self.slots[at].state == State::Empty {
                break;
            }
            // A slot may move back into the gap unless its home is after the gap.
            let home = self.home(&self.slots[at].hash);
            let from_home = (at + self.slots.len() - home) % self.slots.len();
            let from_gap = (at + self.slots.len() - gap) % self.slots.len();
            if from_home >= from_gap {
                self.slots[gap] = self.slots[at];
                gap = at;
            }
        }
        self.slots[gap] = EMPTY;
        if self.slots.len() > SLOTS_MIN && self.used * 4 < self.slots.len() {
            self.resize((self.slots.len() / 2).max(SLOTS_MIN));
        }
    }

    /// Removes all ids of a partition; returns how many there were.
    pub(super) fn remove_partition(&mut self, partition: PartitionId) -> usize {
        let gone: Vec<Hash> =
            self.slots.iter().filter(|slot| slot.is_of(partition)).map(|slot| slot.hash).collect();
        gone.iter().for_each(|hash| self.remove(hash));
        gone.len()
    }

    /// The index of the hash, or the empty slot where it would go; meaningless for an empty table.
    fn find(&self, hash: &Hash) -> Result<usize, usize> {
        if self.slots.is_empty() {
            return Err(0);
        }
        let mut at = self.home(hash);
        // Terminates, because at most 85 of 100 slots are in use.
        loop {
            let slot = &self.slots[at];
            match slot.state {
                State::Empty => return Err(at),
                _ if slot.hash == *hash => return Ok(at),
                _ => at = self.after(at),
            }
        }
    }

    fn home(&self, hash: &Hash) -> usize {
        let number = u64::from_be_bytes(hash[8..].try_into().expect("16 - 8 are 8"));
        let scaled = (u128::from(number) * self.slots.len() as u128) >> 64;
        usize::try_from(scaled).expect("less than the number of slots")
    }

    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    fn resize(&mut self, count: usize) {
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; count]);
        self.used = 0;
        old.into_iter().filter(|slot| slot.state != State::Empty).for_each(|slot| self.place(slot));
    }

    /// Inserts a slot that is not in the table yet and for which there is room.
    fn place(&mut self, slot: IdSlot) {
        let at = self.find(&slot.hash).expect_err("not in the table yet");
        self.slots[at] = slot;
        self.used += 1;
    }
}
