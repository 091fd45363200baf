//! The keys of a partition's tree.
//!
//! | table | key | value |
//! |---|---|---|
//! | mark | `m` | the journal sequence that the last flush covered |
//! | runs | `r` id | summary and detail |
//! | seen | `s` id | body hash, accepted_at |
//! | by time | `t` place | summary |
//! | by status | `u` status place | – |
//! | by workflow | `w` workflow `00` status place | – |
//! | by key | `k` key `00` status place | – ; only when the key is not the id |
//! | collections | `c` id | opaque |
//! | jobs | `j` collection name | opaque |
//! | progress | `n` collection name | due, opaque |
//! | by due time | `d` due collection name | – |
//! | messages | `q` number | opaque |
//!
//! A *place* is `accepted_at`, inverted so that the newest comes first, then the id: the order of every list, the
//! same in all indexes. Indexes without a value are joined with *by time* by their place; this costs a list one
//! point read per row and spares each run three more copies of its summary, and runs are written far more often
//! than they are listed. Names hold no zero byte, so it ends them.
//!
//! A page of a list is one range scan per partition (three when a workflow or key is given without a status),
//! merged by place: it reads its rows and one entry more per scan, however many runs there are.

use types::{JobRef, Key, RunId, RunStatus, Timestamp, Uid, WorkflowName};

use crate::run::status_byte;

pub(crate) const MARK: &[u8] = b"m";

const RUN: u8 = b'r';
const SEEN: u8 = b's';
const TIME: u8 = b't';
const STATUS: u8 = b'u';
const WORKFLOW: u8 = b'w';
const KEY: u8 = b'k';
const COLLECTION: u8 = b'c';
const JOB: u8 = b'j';
const PROGRESS: u8 = b'n';
const DUE: u8 = b'd';
const MESSAGE: u8 = b'q';

pub(crate) fn message(no: u64) -> Vec<u8> {
    [&[MESSAGE], no.to_be_bytes().as_slice()].concat()
}

pub(crate) fn collection(id: &str) -> Vec<u8> {
    [&[COLLECTION], id.as_bytes()].concat()
}

pub(crate) fn job(job: &JobRef) -> Vec<u8> {
    job_in(job.collection, &job.name)
}

pub(crate) fn job_in(collection: Uid, name: &str) -> Vec<u8> {
    [&[JOB], collection.0.as_slice(), name.as_bytes()].concat()
}

pub(crate) fn progress(job: &JobRef) -> Vec<u8> {
    [&[PROGRESS], job.collection.0.as_slice(), job.name.as_bytes()].concat()
}

/// The position of a job in the index of due jobs: the earliest first.
pub(crate) fn due(at: Timestamp, job: &JobRef) -> Vec<u8> {
    [due_at(at).as_slice(), &job.collection.0, job.name.as_bytes()].concat()
}

pub(crate) fn due_at(at: Timestamp) -> Vec<u8> {
    [&[DUE], (at.0.cast_unsigned() ^ (1 << 63)).to_be_bytes().as_slice()].concat()
}

/// The time and the job in a key of *by due time*.
pub(crate) fn read_due(key: &[u8]) -> Option<(Timestamp, JobRef)> {
    let (at, rest) = key.get(1..)?.split_first_chunk::<8>()?;
    let (collection, name) = rest.split_first_chunk::<16>()?;
    let at = Timestamp((u64::from_be_bytes(*at) ^ (1 << 63)).cast_signed());
    Some((at, JobRef { collection: Uid(*collection), name: std::str::from_utf8(name).ok()?.into() }))
}

/// The first key after all keys with `prefix`.
pub(crate) fn end_of(mut prefix: Vec<u8>) -> Vec<u8> {
    while let Some(last) = prefix.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            break;
        }
        prefix.pop();
    }
    prefix
}

/// The longest place: a time, and an id of 128 characters.
pub(crate) const PLACE_BYTES_MAX: usize = 8 + 128;

/// The statuses that a run can end with.
pub(crate) const FINAL: [RunStatus; 3] = [RunStatus::Completed, RunStatus::Undone, RunStatus::GivenUp];

pub(crate) fn run(id: &RunId) -> Vec<u8> {
    [&[RUN], id.as_str().as_bytes()].concat()
}

pub(crate) fn seen(id: &RunId) -> Vec<u8> {
    [&[SEEN], id.as_str().as_bytes()].concat()
}

/// The position of a run in every list: newest first, then by id.
pub(crate) fn place(accepted_at: Timestamp, id: &RunId) -> Vec<u8> {
    [&inverted(accepted_at).to_be_bytes(), id.as_str().as_bytes()].concat()
}

/// The number that sorts the newest time first.
pub(crate) fn inverted(time: Timestamp) -> u64 {
    !(time.0.cast_unsigned() ^ (1 << 63))
}

pub(crate) fn by_time() -> Vec<u8> {
    vec![TIME]
}

pub(crate) fn by_status(status: u8) -> Vec<u8> {
    vec![STATUS, status]
}

pub(crate) fn by_workflow(workflow: &WorkflowName, status: u8) -> Vec<u8> {
    [&[WORKFLOW], workflow.as_str().as_bytes(), &[0, status]].concat()
}

pub(crate) fn by_key(key: &Key, status: u8) -> Vec<u8> {
    [&[KEY], key.as_str().as_bytes(), &[0, status]].concat()
}

/// The index keys of a run besides *by time*.
pub(crate) fn indexes(
    place: &[u8],
    id: &RunId,
    workflow: &WorkflowName,
    key: &Key,
    status: u8,
) -> impl Iterator<Item = Vec<u8>> {
    let with_place = move |mut prefix: Vec<u8>| {
        prefix.extend_from_slice(place);
        prefix
    };
    let own_key = (key.as_str() != id.as_str()).then(|| with_place(by_key(key, status)));
    [with_place(by_status(status)), with_place(by_workflow(workflow, status))].into_iter().chain(own_key)
}

/// The status bytes that a query ranges over; none for a status that no run ends with.
pub(crate) fn statuses(status: Option<RunStatus>) -> Vec<u8> {
    let wanted = FINAL.into_iter().filter(|each| status.is_none_or(|status| status == *each));
    wanted.filter_map(status_byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_sort_newest_first_through_the_whole_range() {
        let id = RunId::new("a").unwrap();
        let times = [i64::MAX, 1_700_000_000_000, 1, 0, -1, i64::MIN];
        let places: Vec<_> = times.iter().map(|time| place(Timestamp(*time), &id)).collect();
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn a_name_that_begins_another_is_another_prefix() {
        let short = by_workflow(&WorkflowName::new("order").unwrap(), b'c');
        let long = by_workflow(&WorkflowName::new("order-2").unwrap(), b'c');
        assert!(!long.starts_with(&short));
    }
}
