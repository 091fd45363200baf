//! The desired owner of each partition, computed by every instance from the members that are alive.

use std::collections::BTreeMap;

use types::PartitionId;

use crate::{InstanceId, Member};

/// The desired owner of each partition.
pub type Owners<'a> = BTreeMap<PartitionId, &'a InstanceId>;

/// Assigns each partition to an instance; the result is empty if no member has an engine.
///
/// With `ordinals` (their number), a partition belongs to the instance with its ordinal. Partitions whose instance is
/// missing, and all partitions without ordinals, go to the instance with the highest hash for them (rendezvous hashing), up
/// to an even share each, because the busiest instance bounds the throughput of the cluster. A member that joins or leaves
/// moves few partitions between the others. All instances must use the same number of ordinals, or they contend for ever.
pub fn assign<'a>(
    members: impl IntoIterator<Item = &'a Member>,
    ordinals: Option<u32>,
    partitions: impl IntoIterator<Item = PartitionId>,
) -> Owners<'a> {
    let members: Vec<&Member> = members.into_iter().filter(|member| member.roles.engine).collect();
    let partitions: Vec<PartitionId> = partitions.into_iter().collect();
    let share = partitions.len().div_ceil(members.len().max(1));
    let ordinal_of = |partition: PartitionId| {
        ordinals.filter(|count| *count > 0).map(|count| u32::from(partition.0) % count)
    };
    let mut draws: Vec<_> = partitions
        .iter()
        .flat_map(|partition| members.iter().map(move |member| (*partition, *member)))
        .map(|(partition, member)| {
            let has_its_ordinal = member.ordinal.is_some() && member.ordinal == ordinal_of(partition);
            (has_its_ordinal, hash(&member.id, partition), &member.id, partition)
        })
        .collect();
    // Highest first. Ids decide between equal hashes, so that all instances compute the same.
    draws.sort_unstable_by(|a, b| b.cmp(a));
    let mut owners = Owners::new();
    let mut shares: BTreeMap<&InstanceId, usize> = BTreeMap::new();
    for (has_its_ordinal, _, id, partition) in draws {
        let has = shares.entry(id).or_default();
        if !owners.contains_key(&partition) && (has_its_ordinal || *has < share) {
            *has += 1;
            owners.insert(partition, id);
        }
    }
    owners
}

/// The weight of an instance for a partition. Written out, because all instances must compute the same value, whatever
/// they were built with.
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
