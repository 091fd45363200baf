//! Who should own a partition, computed by every instance for itself from those that live.

use words::PartitionId;

use crate::{InstanceId, Member};

/// The instance that should own a partition; `None` when nobody that lives could.
///
/// With `ordinals`, the number of places that instances have, it is the instance at the partition's place. While that
/// one is away, and without places, it is the one with the highest hash, so that one that comes or goes moves no
/// partition between the others. All instances must be given the same number of places, or they contend for ever.
pub fn desired<'a>(
    members: impl IntoIterator<Item = &'a Member>,
    ordinals: Option<u32>,
    partition: PartitionId,
) -> Option<&'a InstanceId> {
    let place = ordinals.filter(|count| *count > 0).map(|count| u32::from(partition.0) % count);
    let rank = |member: &Member| {
        let at_its_place = place.is_some() && member.ordinal == place;
        (at_its_place, hash(&member.id, partition))
    };
    members
        .into_iter()
        .filter(|member| member.roles.engine)
        .max_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.id.cmp(&b.id)))
        .map(|member| &member.id)
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
