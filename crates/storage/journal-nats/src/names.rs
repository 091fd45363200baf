//! The names of an installation's streams, subjects and buckets in NATS.

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

/// The subject of a stream while its region is active under an epoch; 0 before the first promotion. Each promotion opens
/// another subject, so that messages that were sent before reach no stream.
pub fn subject_in(subject: &str, region_epoch: u64) -> String {
    if region_epoch == 0 { subject.to_owned() } else { format!("{subject}.{region_epoch}") }
}

/// The prefix of the subjects of a closed stream.
pub const FENCED: &str = "fenced.";

/// The region's epoch under which a stream listens to `opened`, if `subject` is its subject before the first promotion; none
/// if the stream is closed, or the subject is another one.
pub fn opened_at(subject: &str, opened: &str) -> Option<u64> {
    let rest = opened.strip_prefix(subject)?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix('.')?.parse().ok() }
}

/// The subject of a partition's stream before the first promotion; none if it is another stream.
pub fn subject_of(installation: &str, stream: &str) -> Option<String> {
    let own = stream.strip_prefix(installation)?.strip_prefix('_')?;
    let (kind, number) = own.split_once('_')?;
    match kind {
        "ING" => Some(format!("{installation}.ing.{number}")),
        "JRN" => Some(format!("{installation}.jrn.{number}")),
        _ => None,
    }
}

/// The bucket of snapshots, if they are stored in NATS.
pub fn snapshot_bucket(installation: &str) -> String {
    format!("{installation}_snap")
}

/// The bucket of a region's divergent tails.
pub fn divergent_bucket(installation: &str) -> String {
    format!("{installation}_divergent")
}

/// The bucket of heartbeats.
pub fn instance_bucket(installation: &str) -> String {
    format!("{installation}_inst")
}

/// The bucket of partition owners.
pub fn partition_bucket(installation: &str) -> String {
    format!("{installation}_part")
}

/// The bucket of the region's record.
pub fn region_bucket(installation: &str) -> String {
    format!("{installation}_region")
}

/// The partition whose inbox a stream is, if it is an inbox.
pub fn inbox_of(installation: &str, stream: &str) -> Option<PartitionId> {
    let number = stream.strip_prefix(installation)?.strip_prefix("_ING_")?;
    if number == CONTROL { Some(PartitionId::CONTROL) } else { number.parse().ok().map(PartitionId) }
}

/// The partition as a part of names: five digits, so that names sort.
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
