//! Reads collections and jobs. Every change that the owner has acknowledged is visible.

use kernel::job::{Collection, Job};
use types::{JobRef, PartitionId, Timestamp};
use view::View;

use super::{partition_of, record};

/// Reads the rows of jobs from the view. Cheap to clone.
#[derive(Clone)]
pub struct JobReader {
    view: View,
    partitions: u16,
}

/// A future occurrence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpcomingFiring {
    pub at: Timestamp,
    /// The collection as `subscription/group/name`, as it was written.
    pub collection: String,
    pub job: String,
}

/// Why a job or a collection cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadJobError {
    #[error(transparent)]
    View(#[from] view::Error),
    #[error(transparent)]
    Unreadable(#[from] journal::codec::Unreadable),
}

impl JobReader {
    pub fn new(view: View, partitions: u16) -> JobReader {
        JobReader { view, partitions }
    }

    /// The partition of a collection.
    pub fn partition_of(&self, collection: &str) -> PartitionId {
        partition_of(collection, self.partitions)
    }

    pub fn collection(&self, id: &str) -> Result<Option<Collection>, ReadJobError> {
        let row = self.view.collection(self.partition_of(id), id)?;
        Ok(row.map(|row| record::read_collection(&row)).transpose()?)
    }

    /// The collections whose ids begin with `prefix`, in the order of their ids.
    pub fn collections(&self, prefix: &str) -> Result<Vec<Collection>, ReadJobError> {
        self.collections_in((0..self.partitions).map(PartitionId), prefix)
    }

    /// The same, limited to some of the partitions.
    pub fn collections_in(
        &self,
        partitions: impl IntoIterator<Item = PartitionId>,
        prefix: &str,
    ) -> Result<Vec<Collection>, ReadJobError> {
        let mut rows = Vec::new();
        for partition in partitions {
            rows.extend(self.view.collections(partition, prefix)?);
        }
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        let collections = rows.iter().map(|(_, row)| record::read_collection(row));
        Ok(collections.collect::<Result<_, _>>()?)
    }

    pub fn job(&self, collection: &Collection, name: &str) -> Result<Option<Job>, ReadJobError> {
        let at = JobRef { collection: collection.uid, name: name.to_lowercase().into() };
        let rows = self.view.job(self.partition_of(&collection.id()), &at)?;
        Ok(rows.map(|rows| record::read_job(&rows)).transpose()?)
    }

    /// Up to `limit` jobs of a collection after the name `after`, in the order of their names in lower case.
    pub fn jobs(
        &self,
        collection: &Collection,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Job>, ReadJobError> {
        let partition = self.partition_of(&collection.id());
        let rows = self.view.jobs(partition, collection.uid, after, limit)?;
        Ok(rows.iter().map(|(_, rows)| record::read_job(rows)).collect::<Result<_, _>>()?)
    }

    /// The next firings of some partitions, up to `limit`, the soonest first; overdue ones are included.
    pub fn firings_in(
        &self,
        partitions: impl IntoIterator<Item = PartitionId>,
        limit: usize,
    ) -> Result<Vec<UpcomingFiring>, ReadJobError> {
        let mut hints = Vec::new();
        for partition in partitions {
            let due = self.view.due_jobs(partition, Timestamp(0), Timestamp(i64::MAX - 1), limit)?;
            hints.extend(due.into_iter().map(|(at, job)| (at, job, partition)));
        }
        hints.sort();
        let mut firings = Vec::new();
        for (at, job, partition) in hints {
            if firings.len() == limit {
                break;
            }
            let rows = self.view.job(partition, &job)?;
            let Some(job) = rows.map(|rows| record::read_job(&rows)).transpose()? else { continue };
            // A finished job has a due time as well: the time to delete it.
            if job.progress.due == Some(at) && job.progress.next.is_some() {
                let (collection, job) = (job.definition.collection, job.definition.name);
                firings.push(UpcomingFiring { at, collection, job });
            }
        }
        Ok(firings)
    }

    /// How many jobs of some partitions were due before a moment and have not fired, counting up to `limit` in each.
    pub fn late_in(
        &self,
        partitions: impl IntoIterator<Item = PartitionId>,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64, ReadJobError> {
        let mut late = 0;
        for partition in partitions {
            late += self.view.due_jobs(partition, Timestamp(0), before, limit)?.len() as u64;
        }
        Ok(late)
    }
}
