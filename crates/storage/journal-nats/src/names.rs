//! The names of everything that an installation keeps in NATS.

use types::PartitionId;

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

/// Where a stream takes messages while its region is active under an epoch; 0 before any change of regions. Each promotion
/// opens it elsewhere, so that what was sent before the stream was replaced finds nobody.
pub fn subject_in(subject: &str, region_epoch: u64) -> String {
    if region_epoch == 0 { subject.to_owned() } else { format!("{subject}.{region_epoch}") }
}

/// What stands before the subjects of a stream that nobody may write to.
pub const FENCED: &str = "fenced.";

/// The region's epoch under which a stream takes messages at `opened`, when `subject` is its own before any change of
/// regions; none when that is fenced, or another's.
pub fn opened_at(subject: &str, opened: &str) -> Option<u64> {
    let rest = opened.strip_prefix(subject)?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix('.')?.parse().ok() }
}

/// The subject of a partition's stream before any change of regions; none when it is another stream.
pub fn subject_of(installation: &str, stream: &str) -> Option<String> {
    let own = stream.strip_prefix(installation)?.strip_prefix('_')?;
    let (kind, number) = own.split_once('_')?;
    match kind {
        "ING" => Some(format!("{installation}.ing.{number}")),
        "JRN" => Some(format!("{installation}.jrn.{number}")),
        _ => None,
    }
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
pub fn inbox_of(installation: &str, stream: &str) -> Option<PartitionId> {
    let number = stream.strip_prefix(installation)?.strip_prefix("_ING_")?;
    if number == CONTROL { Some(PartitionId::CONTROL) } else { number.parse().ok().map(PartitionId) }
}

/// A partition in names: five digits, so that they sort.
pub fn number(partition: PartitionId) -> String {
    if partition == PartitionId::CONTROL { CONTROL.to_owned() } else { format!("{:05}", partition.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_contains_the_epoch_in_which_its_stream_was_opened() {
        for partition in [PartitionId(7), PartitionId::CONTROL] {
            for subject in [inbox_subject("i", partition), events_subject("i", partition)] {
                for epoch in [0, 1, 12] {
                    let opened = subject_in(&subject, epoch);
                    assert_eq!(opened_at(&subject, &opened), Some(epoch), "{opened}");
                    assert_eq!(opened_at(&subject, &format!("{FENCED}{opened}")), None);
                    assert_eq!(opened_at(&format!("other.{subject}"), &opened), None);
                }
            }
        }
        assert_eq!(opened_at("i.jrn.00000", "i.jrn.probe.east"), None);
        assert_eq!(opened_at("i.jrn.00000", "i.jrn.00000.east"), None);
        assert_eq!(opened_at("fenced.jrn.00000", "fenced.fenced.jrn.00000"), None);
    }

    #[test]
    fn streams_have_their_subjects() {
        let one = PartitionId(1);
        assert_eq!(subject_of("i", &inbox_stream("i", one)), Some(inbox_subject("i", one)));
        assert_eq!(subject_of("i", &events_stream("i", one)), Some(events_subject("i", one)));
        assert_eq!(subject_of("i", "OBJ_i_snap"), None);
    }
}
