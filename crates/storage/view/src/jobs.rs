//! Jobs and collections: rows that change, and the index of when each job is due.
//!
//! The rows are opaque to the view. A job has two: its definition, written when a user changes it, and
//! its progress, written with every occurrence and therefore small.
//!
//! An entry of *by due time* is a hint: it is valid only if the job's progress row has the same time. A replay can
//! leave a stale hint; the reader that finds it removes it ([`View::forget_due`]).

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
    pub progress: Bytes,
}

/// The encoding of a missing due time: later than any other.
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
        let entries = partition.range(start.clone(), keys::end_of(start));
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

    /// Writes the progress of a job, and moves it in the index of due jobs. `before` is its previous due time, if the
    /// caller knows it; otherwise it is looked up.
    pub fn put_progress(
        &self,
        partition: PartitionId,
        job: &JobRef,
        before: Option<Option<Timestamp>>,
        due: Option<Timestamp>,
        progress: &[u8],
    ) -> Result<(), Error> {
        let partition = self.partition(partition)?;
        let key = keys::progress(job);
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
        partition.put(key, &[due.to_be_bytes().as_slice(), progress].concat())?;
        self.written();
        Ok(())
    }

    pub fn delete_job(&self, partition: PartitionId, job: &JobRef) -> Result<(), Error> {
        let partition = self.partition(partition)?;
        let progress = keys::progress(job);
        if let Some(Some(due)) = partition.get("reading a job", &progress, read_due)? {
            partition.delete_once(keys::due(due, job))?;
        }
        partition.delete(progress)?;
        partition.delete(keys::job(job))
    }

    pub fn job(&self, partition: PartitionId, job: &JobRef) -> Result<Option<JobRows>, Error> {
        let partition = self.partition(partition)?;
        let copy = |bytes: &[u8]| Ok(Bytes::copy_from_slice(bytes));
        let Some(definition) = partition.get("reading a job", &keys::job(job), copy)? else {
            return Ok(None);
        };
        let progress = partition.get("reading a job", &keys::progress(job), read_progress)?;
        let progress = progress.ok_or_else(|| partition.damaged("a job without its progress"))?;
        Ok(Some(JobRows { definition, progress }))
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
            // No name contains a zero byte: this is the first key after it.
            Some(name) => [keys::job_in(collection, name), vec![0]].concat(),
            None => all.clone(),
        };
        let mut jobs = Vec::new();
        for entry in partition.range(start, keys::end_of(all)).take(limit) {
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
        let entries = partition.range(keys::due_at(from), keys::end_of(keys::due_at(until))).take(limit);
        entries
            .map(|entry| keys::read_due(&entry?.0).ok_or_else(|| partition.damaged("an entry of due jobs")))
            .collect()
    }

    /// Removes a stale hint.
    pub fn forget_due(&self, partition: PartitionId, at: Timestamp, job: &JobRef) -> Result<(), Error> {
        self.partition(partition)?.delete(keys::due(at, job))
    }
}

fn read_due(bytes: &[u8]) -> Result<Option<Timestamp>, String> {
    let due = bytes.first_chunk().map(|due| i64::from_be_bytes(*due));
    let due = due.ok_or("a progress row without its due time")?;
    Ok((due != NEVER).then_some(Timestamp(due)))
}

fn read_progress(bytes: &[u8]) -> Result<Bytes, String> {
    let progress = bytes.get(8..).ok_or("a progress row without its due time")?;
    Ok(Bytes::copy_from_slice(progress))
}
