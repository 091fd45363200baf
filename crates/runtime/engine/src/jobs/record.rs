//! Jobs and collections as rows of the view.

use bytes::Bytes;
use journal::codec;
use kernel::job::{Collection, Job, JobDefinition, JobProgress};
use kernel::{Event, JobFact};
use types::{JobRef, PartitionId, Timestamp};
use view::{Error, JobRows, View};

/// Writes what an event changes about jobs. Writing is idempotent.
///
/// `due_before` is the due time that the view has for the job, if the caller knows it; otherwise the view looks it up.
pub(crate) fn write(
    view: &View,
    partition: PartitionId,
    due_before: Option<Option<Timestamp>>,
    event: &Event,
) -> Result<(), Error> {
    let table = JobTable { view, partition, due_before };
    match event {
        Event::Fired(fired) => table.write_progress(&fired.job, &fired.progress),
        Event::Job(fact) => table.write_fact(fact),
        Event::Accepted(_)
        | Event::Dropped { .. }
        | Event::CancelNoted { .. }
        | Event::Run { .. }
        | Event::Queue(_) => Ok(()),
    }
}

/// The rows being written.
struct JobTable<'a> {
    view: &'a View,
    partition: PartitionId,
    due_before: Option<Option<Timestamp>>,
}

impl JobTable<'_> {
    fn write_fact(&self, fact: &JobFact) -> Result<(), Error> {
        let (view, partition) = (self.view, self.partition);
        match fact {
            JobFact::Put(job) => {
                let at = &job.definition.at;
                // The progress first: no reader finds a job without it.
                self.write_progress(at, &job.progress)?;
                view.put_job(partition, at, &codec::encode(&job.definition))
            }
            JobFact::Progressed { job, progress } => self.write_progress(job, progress),
            JobFact::Deleted { job } => view.delete_job(partition, job),
            JobFact::CollectionPut(collection) => {
                view.put_collection(partition, &collection.id(), &codec::encode(collection))
            }
            JobFact::CollectionDeleted { id } => view.delete_collection(partition, id),
        }
    }

    fn write_progress(&self, at: &JobRef, progress: &JobProgress) -> Result<(), Error> {
        let bytes = codec::encode(progress);
        self.view.put_progress(self.partition, at, self.due_before, progress.due, &bytes)
    }
}

pub(crate) fn read_job(rows: &JobRows) -> Result<Job, codec::Unreadable> {
    let definition: JobDefinition = codec::decode(&rows.definition)?;
    Ok(Job { definition, progress: codec::decode(&rows.progress)? })
}

pub(crate) fn read_collection(row: &Bytes) -> Result<Collection, codec::Unreadable> {
    codec::decode(row)
}
