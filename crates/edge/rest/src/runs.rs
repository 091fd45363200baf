//! Runs: found wherever they are, shown, cancelled and decided on.

mod listing;
mod show;

use std::sync::Arc;

use axum::body::Body;
use engine::jobs::JobReader;
use engine::{CommandError, Engine, archive};
use journal::{DynJournal, Journal};
use kernel::job::Occurrence;
use kernel::{Command, Rejection, Request, Run};
use types::{PartitionId, RunId, RunStatus};
use view::{EndedRun, Ids, PartitionState, View};

use crate::api::{Cluster, Workflows};
use crate::error::ApiError;
use crate::limits::WAITING_READ_BYTES;

pub(crate) use listing::{ENDED_FIRST, after_ended_runs, after_live_run, ended_cursor, is_live, page};

/// The runs of the partitions that this instance owns. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Runs {
    pub engine: Engine,
    pub view: View,
    pub ids: Arc<Ids>,
    pub journal: DynJournal,
    pub jobs: JobReader,
    pub workflows: Workflows,
    pub cluster: Cluster,
}

/// A run, wherever it was found.
pub(crate) enum FoundRun {
    /// Durable in the inbox of a partition.
    Waiting(PartitionId),
    Live(PartitionId, Box<Run>),
    Ended(Box<EndedRun>, Box<Run>),
}

impl FoundRun {
    pub(crate) fn status(&self) -> RunStatus {
        match self {
            FoundRun::Waiting(_) => RunStatus::Accepted,
            FoundRun::Live(_, run) | FoundRun::Ended(_, run) => run.status(),
        }
    }
}

impl Runs {
    /// Finds a run: in its partition's memory, in the view, or waiting in the inbox.
    pub(crate) async fn find(&self, id: &RunId) -> Result<Option<FoundRun>, ApiError> {
        let entry = self.entry(id);
        if let Some(entry) = entry {
            let asked = id.clone();
            let live = self.engine.query(entry.partition, move |state| state.find(&asked).cloned()).await?;
            if let Some(run) = live {
                return Ok(Some(FoundRun::Live(entry.partition, Box::new(run))));
            }
        }
        let hint = entry.map(|entry| entry.partition);
        let hint = hint.unwrap_or_else(|| PartitionId::of(&id.clone().into(), self.cluster.partitions));
        let ended = self.view.run(id, Some(hint)).map_err(|error| ApiError::View(error.to_string()))?;
        let is_alone = self.cluster.directory.is_alone();
        if let Some(ended) = ended {
            let run = archive::open(&ended).map_err(|error| ApiError::View(format!("run {id}: {error}")))?;
            // The view may still have runs of a partition that another instance owns by now, and knows more about.
            if is_alone || self.engine.holds(self.partition_of_ended(&ended, &run)) {
                return Ok(Some(FoundRun::Ended(Box::new(ended), Box::new(run))));
            }
        }
        match entry.filter(|entry| entry.durable) {
            Some(entry) => Ok(Some(FoundRun::Waiting(entry.partition))),
            None => {
                self.check_all_run(hint)?;
                if is_alone { Ok(None) } else { self.find_waiting(id, hint).await }
            }
        }
    }

    /// The same, or the error of a run that does not exist.
    async fn get(&self, id: &RunId) -> Result<FoundRun, ApiError> {
        self.find(id).await?.ok_or_else(|| ApiError::NotFound(format!("no run {id}")))
    }

    /// Looks for a request that another instance has written to an inbox: this instance learns of it when the partition
    /// takes it from there. Past what is read here the request may still wait, so its absence cannot be reported then.
    async fn find_waiting(&self, id: &RunId, hint: PartitionId) -> Result<Option<FoundRun>, ApiError> {
        for partition in self.cluster.owned_partitions() {
            let through = self.engine.query(partition, |state| state.inbox_through()).await?;
            let tail = *self.journal.inbox_tail(partition).borrow();
            if through >= tail {
                continue;
            }
            let records = self.journal.inbox_read(partition, through.next(), WAITING_READ_BYTES).await;
            let records = records.map_err(|error| ApiError::View(error.to_string()))?;
            let mut requests = records.iter().filter_map(|record| journal::codec::decode(&record.bytes).ok());
            if requests.any(|request: Request| request.id == *id) {
                return Ok(Some(FoundRun::Waiting(partition)));
            }
            if records.last().is_none_or(|last| last.seq < tail) {
                let text =
                    format!("run {id} was not found, and may wait in the inbox of partition {partition}");
                return Err(ApiError::Unsure(text));
            }
        }
        let ended = self.engine.holds(hint) && self.view.seen_in(hint, id).is_ok_and(|seen| seen.is_some());
        if self.entry(id).is_some() || ended {
            // Taken from the inbox between two look-ups: the next one finds it.
            return Err(ApiError::NotHeld { partition: hint });
        }
        Ok(None)
    }

    /// The index entry of an id that is accepted or live, in a partition that this instance owns.
    fn entry(&self, id: &RunId) -> Option<view::IdEntry> {
        self.ids
            .find(id)
            .filter(|entry| self.ids.partition_state(entry.partition) != PartitionState::Elsewhere)
    }

    fn partition_of_ended(&self, ended: &EndedRun, run: &Run) -> PartitionId {
        match Occurrence::of_request(&run.request) {
            Some(occurrence) => self.jobs.partition_of(&occurrence.collection.to_lowercase()),
            None => PartitionId::of(&ended.key, self.cluster.partitions),
        }
    }

    /// A run can be reported as missing only when every partition runs: a stopped one may have it.
    fn check_all_run(&self, hint: PartitionId) -> Result<(), CommandError> {
        let stopped = self.engine.partitions().into_iter().filter_map(|info| Some((info.id, info.stopped?)));
        // The partition that the id itself leads to is the likeliest.
        match stopped.max_by_key(|(id, _)| *id == hint) {
            None => Ok(()),
            Some((partition, reason)) => Err(CommandError::Stopped { partition, reason }),
        }
    }

    /// Looks for a request near the head of the inbox. One far from it is not read: polling it must not cost a walk
    /// through the backlog.
    async fn read_waiting(&self, id: &RunId, partition: PartitionId) -> Result<Option<Request>, ApiError> {
        let through = self.engine.query(partition, |state| state.inbox_through()).await?;
        let records = self.journal.inbox_read(partition, through.next(), WAITING_READ_BYTES).await;
        let records = records.map_err(|error| ApiError::View(error.to_string()))?;
        let requests = records.iter().filter_map(|record| journal::codec::decode(&record.bytes).ok());
        Ok(requests.into_iter().find(|request: &Request| request.id == *id))
    }

    /// A run as JSON.
    pub(crate) async fn show(&self, id: &RunId) -> Result<Body, ApiError> {
        let encode = |run: &Run, partition: PartitionId, reason: Option<String>| {
            let detail = show::detail(run, &self.workflows.step_names(run), partition, reason);
            serde_json::to_vec(&detail).expect("a run in memory can always be encoded")
        };
        Ok(Body::from(match self.get(id).await? {
            FoundRun::Waiting(partition) => {
                let request = self.read_waiting(id, partition).await?;
                show::waiting(id, partition, request.as_ref()).to_string().into_bytes()
            }
            FoundRun::Live(partition, run) => encode(&run, partition, run.reason()),
            FoundRun::Ended(ended, run) => {
                let partition = self.partition_of_ended(&ended, &run);
                encode(&run, partition, ended.reason.clone())
            }
        }))
    }

    /// Cancels a run, also one that still waits in the inbox.
    pub(crate) async fn cancel(&self, id: &RunId, by: &str) -> Result<(), ApiError> {
        let Some(entry) = self.entry(id) else { return Err(ended(self.get(id).await?.status())) };
        let command = Command::Cancel { pending: entry.durable };
        self.command(entry.partition, id, by, command).await
    }

    /// Sends a command to a run that was found in a partition.
    pub(crate) async fn command(
        &self,
        partition: PartitionId,
        id: &RunId,
        by: &str,
        command: Command,
    ) -> Result<(), ApiError> {
        let answer = self.engine.command(partition, id.clone(), by.to_owned(), command).await;
        if let Err(CommandError::Rejected(Rejection::NotFound)) = &answer
            && let Some(found) = self.find(id).await?
            && found.status().is_final()
        {
            // It ended since it was found.
            return Err(ended(found.status()));
        }
        Ok(answer?)
    }
}

fn ended(status: RunStatus) -> ApiError {
    CommandError::Rejected(Rejection::Ended(status)).into()
}
