//! Reading collections and jobs. What the owner has acknowledged is there.

use kernel::job::{Collection, Job};
use view::View;
use words::{JobRef, PartitionId};

use super::{partition_of, record};

/// Reads the rows of jobs from the view. Cheap to clone.
#[derive(Clone)]
pub struct JobReader {
    view: View,
    partitions: u16,
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

    /// Where a collection lives.
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

    /// Those of them that are in some of the partitions.
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

    /// Up to `limit` jobs of a collection behind `after`, in the order of their names in lower case.
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
}
