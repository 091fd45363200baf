//! The reference model of jobs: their rows, computed from durable events without the engine or the view.

use std::collections::BTreeMap;

use kernel::job::{Collection, Job};
use kernel::{Event, Fact, JobFact};
use types::{JobRef, Key, RunId};

/// The jobs and collections of a simulation, and the running occurrences.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct JobModel {
    pub jobs: BTreeMap<JobRef, Job>,
    /// By where they are found.
    pub collections: BTreeMap<String, Collection>,
    live: BTreeMap<RunId, Key>,
}

impl JobModel {
    /// How many occurrences of a job are running.
    pub fn live(&self, job: &Job) -> usize {
        let key = job.key();
        self.live.values().filter(|live| **live == key).count()
    }

    pub fn fold(&mut self, event: &Event, run: Option<&RunId>) {
        match event {
            Event::Fired(fired) => {
                if let Some(job) = self.jobs.get_mut(&fired.job) {
                    job.progress = fired.progress.clone();
                }
                self.live.insert(fired.request.id.clone(), fired.request.key.clone());
            }
            Event::Run { fact: Fact::Completed | Fact::Undone | Fact::GivenUp, .. } => {
                self.live.remove(run.expect("the event of a run has one"));
            }
            Event::Job(fact) => self.fold_fact(fact),
            _ => {}
        }
    }

    fn fold_fact(&mut self, fact: &JobFact) {
        match fact {
            JobFact::Put(job) => {
                self.jobs.insert(job.definition.at.clone(), (**job).clone());
            }
            JobFact::Progressed { job, progress } => {
                if let Some(job) = self.jobs.get_mut(job) {
                    job.progress = progress.clone();
                }
            }
            JobFact::Deleted { job } => {
                self.jobs.remove(job);
            }
            JobFact::CollectionPut(collection) => {
                self.collections.insert(collection.id(), (**collection).clone());
            }
            JobFact::CollectionDeleted { id } => {
                self.collections.remove(id);
            }
        }
    }
}
