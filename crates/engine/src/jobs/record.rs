//! Jobs and collections as rows of the view.

use bytes::Bytes;
use journal::codec;
use kernel::job::{Collection, Job, JobDefinition, Standing};
use kernel::{Event, JobFact};
use view::{Error, JobRows, View};
use words::{JobRef, PartitionId};

/// Writes what an event says about jobs. The same event written again changes nothing.
pub(crate) fn write(view: &View, partition: PartitionId, event: &Event) -> Result<(), Error> {
    match event {
        Event::Fired(fired) => write_standing(view, partition, &fired.job, &fired.standing),
        Event::Job(fact) => write_fact(view, partition, fact),
        Event::Accepted(_) | Event::Dropped { .. } | Event::CancelNoted { .. } | Event::Run { .. } => Ok(()),
    }
}

fn write_fact(view: &View, partition: PartitionId, fact: &JobFact) -> Result<(), Error> {
    match fact {
        JobFact::Put(job) => {
            let at = &job.definition.at;
            // The standing first: no reader meets a job without one.
            write_standing(view, partition, at, &job.standing)?;
            view.put_job(partition, at, &codec::encode(&job.definition))
        }
        JobFact::Stands { job, standing } => write_standing(view, partition, job, standing),
        JobFact::Deleted { job } => view.delete_job(partition, job),
        JobFact::CollectionPut(collection) => {
            view.put_collection(partition, &collection.id(), &codec::encode(collection))
        }
        JobFact::CollectionDeleted { id } => view.delete_collection(partition, id),
    }
}

fn write_standing(
    view: &View,
    partition: PartitionId,
    at: &JobRef,
    standing: &Standing,
) -> Result<(), Error> {
    view.put_standing(partition, at, standing.due, &codec::encode(standing))
}

pub(crate) fn read_job(rows: &JobRows) -> Result<Job, codec::Unreadable> {
    let definition: JobDefinition = codec::decode(&rows.definition)?;
    Ok(Job { definition, standing: codec::decode(&rows.standing)? })
}

pub(crate) fn read_collection(row: &Bytes) -> Result<Collection, codec::Unreadable> {
    codec::decode(row)
}
