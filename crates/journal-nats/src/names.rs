//! The names of everything that an installation keeps in NATS.

use words::PartitionId;

/// The control partition in names.
const CONTROL: &str = "ctl";

/// The stream of a partition's inbox.
pub fn inbox_stream(installation: &str, partition: PartitionId) -> String {
    format!("{installation}_ING_{}", number(partition))
}

pub fn inbox_subject(installation: &str, partition: PartitionId) -> String {
    format!("{installation}.ing.{}", number(partition))
}

/// The stream of a partition's events.
pub fn events_stream(installation: &str, partition: PartitionId) -> String {
    format!("{installation}_JRN_{}", number(partition))
}

pub fn events_subject(installation: &str, partition: PartitionId) -> String {
    format!("{installation}.jrn.{}", number(partition))
}

/// The bucket of objects that snapshots are kept in, when they are kept in NATS.
pub fn snapshot_bucket(installation: &str) -> String {
    format!("{installation}_snap")
}

/// The bucket of objects that a region keeps its divergent tails in.
pub fn divergent_bucket(installation: &str) -> String {
    format!("{installation}_divergent")
}

/// The bucket in which instances say that they live.
pub fn instance_bucket(installation: &str) -> String {
    format!("{installation}_inst")
}

/// The bucket that says who holds a partition.
pub fn partition_bucket(installation: &str) -> String {
    format!("{installation}_part")
}

/// The bucket that says which role the region has.
pub fn region_bucket(installation: &str) -> String {
    format!("{installation}_region")
}

/// The partition that a stream is the inbox of, if it is one.
pub(crate) fn inbox_of(installation: &str, stream: &str) -> Option<PartitionId> {
    let number = stream.strip_prefix(installation)?.strip_prefix("_ING_")?;
    if number == CONTROL { Some(PartitionId::CONTROL) } else { number.parse().ok().map(PartitionId) }
}

/// A partition in names: five digits, so that they sort.
pub fn number(partition: PartitionId) -> String {
    if partition == PartitionId::CONTROL { CONTROL.to_owned() } else { format!("{:05}", partition.0) }
}
