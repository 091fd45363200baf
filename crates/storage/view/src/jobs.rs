//! Jobs and collections: rows that change, and the index of when each job is due.
//!
//! What a row means is its writer's business. A job has two: its definition, written when a person changes it, and
//! its standing, written with every occurrence and therefore small.
//!
//! An entry of *by due time* is a hint: it counts only if the job's standing names the same time. A replay can
//! leave a hint that no longer holds; whoever meets it lets it go ([`View::forget_due`]).

use bytes::Bytes;
use types::{JobRef, PartitionId, Timestamp, Uid};

use crate::View;
use crate::error::Error;
use crate::keys;

/// A key as the caller wrote it, and its value.
pub type CollectionRow = (String, Bytes);

/// The two rows of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRows {
    pub definition: Bytes,
    pub standing: Bytes,
}

/// How a standing without a due time is written: later than any other.
const NEVER: i64 = i64::MAX;

impl View {
    pub fn put_collection(&self, partition: PartitionId, id: &str, value: &[u8]) -> Result<(), Error> {
        self.partition(partition)?.put(keys::collection(id), value)?;
        self.written();
        Ok(())
    }

    pub fn delete_collection(&self, partition: PartitionId, id: &str) -> Result<(), Error> {
        self.partition(partition)?.delete(keys::collection(id))
    }

    pub fn collection(&self, partition: PartitionId, id: &str) -> Result<Option<Bytes>, Error> {
        let partition = self.partition(partition)?;
        partition
            .get("reading a collection", &keys::collection(id), |bytes| Ok(Bytes::copy_from_slice(bytes)))
    }

    /// The collections of a partition whose ids begin with `prefix`, in the order of their ids.
    pub fn collections(&self, partition: PartitionId, prefix: &str) -> Result<Vec<CollectionRow>, Error> {
        let start = keys::collection(prefix);
        let partition = self.partition(partition)?;
        let entries = partition.range(start.clone(), keys::behind(start));
        entries
            .map(|entry| {
                let (key, value) = entry?;
                let id = std::str::from_utf8(&key[1..]).map_err(|_| partition.damaged("a collection id"))?;
                Ok((id.to_owned(), Bytes::copy_from_slice(&value)))
            })
            .collect()
    }

    pub fn put_job(&self, partition: PartitionId, job: &JobRef, definition: &[u8]) -> Result<(), Error> {
        self.partition(partition)?.put(keys::job(job), definition)?;
        self.written();
        Ok(())
    }

    /// Writes where a job stands, and moves it in the index of due jobs. `before` is when it is due so far, for
    /// those who know; otherwise it is looked up.
    pub fn put_standing(
        &self,
        partition: PartitionId,
        job: &JobRef,
        before: Option<Option<Timestamp>>,
        due: Option<Timestamp>,
        standing: &[u8],
    ) -> Result<(), Error> {
        let partition = self.partition(partition)?;
        let key = keys::standing(job);
        let before = match before {
            Some(before) => before,
            None => partition.get("reading a job", &key, read_due)?.flatten(),
        };
        if before != due {
            if let Some(before) = before {
                partition.delete_once(keys::due(before, job))?;
            }
            if let Some(due) = due {
                partition.put(keys::due(due, job), &[])?;
            }
        }
        let due = due.map_or(NEVER, |due| due.0);
        partition.put(key, &[due.to_be_bytes().as_slice(), standing].concat())?;
        self.written();
        Ok(())
    }

    pub fn delete_job(&self, partition: PartitionId, job: &JobRef) -> Result<(), Error> {
        let partition = self.partition(partition)?;
        let standing = keys::standing(job);
        if let Some(Some(due)) = partition.get("reading a job", &standing, read_due)? {
            partition.delete_once(keys::due(due, job))?;
        }
        partition.delete(standing)?;
        partition.delete(keys::job(job))
    }

    pub fn job(&self, partition: PartitionId, job: &JobRef) -> Result<Option<JobRows>, Error> {
        let partition = self.partition(partition)?;
        let copy = |bytes: &[u8]| Ok(Bytes::copy_from_slice(bytes));
        let Some(definition) = partition.get("reading a job", &keys::job(job), copy)? else {
            return Ok(None);
        };
        let standing = partition.get("reading a job", &keys::standing(job), read_standing)?;
        let standing = standing.ok_or_else(|| partition.damaged("a job without its standing"))?;
        Ok(Some(JobRows { definition, standing }))
    }

    /// Up to `limit` jobs of a collection after the name `after`, in the order of their names.
    pub fn jobs(
        &self,
        id: PartitionId,
        collection: Uid,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(JobRef, JobRows)>, Error> {
        let partition = self.partition(id)?;
        let all = keys::job_in(collection, "");
        let start = match after {
            // No name holds a zero byte: this is the first key after it.
            Some(name) => [keys::job_in(collection, name), vec![0]].concat(),
            None => all.clone(),
        };
        let mut jobs = Vec::new();
        for entry in partition.range(start, keys::behind(all)).take(limit) {
            let (key, _) = entry?;
            let name = std::str::from_utf8(&key[17..]).map_err(|_| partition.damaged("a job's name"))?;
            let job = JobRef { collection, name: name.into() };
            if let Some(rows) = self.job(id, &job)? {
                jobs.push((job, rows));
            }
        }
        Ok(jobs)
    }

    /// Up to `limit` jobs that are due from `from` to `until`, both included, the earliest first.
    pub fn due_jobs(
        &self,
        partition: PartitionId,
        from: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Timestamp, JobRef)>, Error> {
        let partition = self.partition(partition)?;
        let entries = partition.range(keys::due_at(from), keys::behind(keys::due_at(until))).take(limit);
        entries
            .map(|entry| keys::read_due(&entry?.0).ok_or_else(|| partition.damaged("an entry of due jobs")))
            .collect()
    }

    /// Lets go of a hint that no longer holds.
    pub fn forget_due(&self, partition: PartitionId, at: Timestamp, job: &JobRef) -> Result<(), Error> {
        self.partition(partition)?.delete(keys::due(at, job))
    }
}

fn read_due(bytes: &[u8]) -> Result<Option<Timestamp>, String> {
    let due = bytes.first_chunk().map(|due| i64::from_be_bytes(*due));
    let due = due.ok_or("a standing without its due time")?;
    Ok((due != NEVER).then_some(Timestamp(due)))
}

fn read_standing(bytes: &[u8]) -> Result<Bytes, String> {
    let standing = bytes.get(8..).ok_or("a standing without its due time")?;
    Ok(Bytes::copy_from_slice(standing))
}
