//! Who should own each partition, computed by every instance for itself from those that live.

use std::collections::BTreeMap;

use types::PartitionId;

use crate::{InstanceId, Member};

/// The instances that should own partitions.
pub type Owners<'a> = BTreeMap<PartitionId, &'a InstanceId>;

/// The instance that should own each partition; none has one when nobody lives that could.
///
/// With `ordinals`, the number of places that instances have, it is the instance at the partition's place. Those whose
/// place is away, and all without places, go to the instance that has the highest hash for them, until that one has its
/// even share: the busiest instance bounds what all of them do together. One that comes or goes moves few partitions
/// between the others. All instances must be given the same number of places, or they contend for ever.
pub fn assign<'a>(
    members: impl IntoIterator<Item = &'a Member>,
    ordinals: Option<u32>,
    partitions: impl IntoIterator<Item = PartitionId>,
) -> Owners<'a> {
    let members: Vec<&Member> = members.into_iter().filter(|member| member.roles.engine).collect();
    let partitions: Vec<PartitionId> = partitions.into_iter().collect();
    let share = partitions.len().div_ceil(members.len().max(1));
    let place = |partition: PartitionId| {
        ordinals.filter(|count| *count > 0).map(|count| u32::from(partition.0) % count)
    };
    let mut draws: Vec<_> = partitions
        .iter()
        .flat_map(|partition| members.iter().map(move |member| (*partition, *member)))
        .map(|(partition, member)| {
            let at_its_place = member.ordinal.is_some() && member.ordinal == place(partition);
            (at_its_place, hash(&member.id, partition), &member.id, partition)
        })
        .collect();
    // Whoever is drawn most comes first. Names decide between equal hashes, so that everybody comes to the same.
    draws.sort_unstable_by(|a, b| b.cmp(a));
    let mut owners = Owners::new();
    let mut shares: BTreeMap<&InstanceId, usize> = BTreeMap::new();
    for (at_its_place, _, id, partition) in draws {
        let has = shares.entry(id).or_default();
        if !owners.contains_key(&partition) && (at_its_place || *has < share) {
            *has += 1;
            owners.insert(partition, id);
        }
    }
    owners
}

/// How much an instance is drawn to a partition. Written out, because all instances must come to the same answer,
/// whatever they were built with.
fn hash(id: &InstanceId, partition: PartitionId) -> u64 {
    // FNV-1a, then the finalizer of splitmix64: names that differ in one digit must not sort the same everywhere.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in id.0.bytes().chain([0]).chain(partition.0.to_be_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests;
