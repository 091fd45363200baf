//! I15: edits of a job are linearizable: versions grow by one, a condition holds when its edit is made, what was
//! acknowledged is there, and an occurrence is fired with the job as it is then.

use std::collections::{BTreeMap, BTreeSet};

use kernel::job::{Job, Occurrence};
use kernel::{Event, Fired, JobFact};
use types::{RunId, Uid};

use super::{Checker, Violations};
use crate::observation::{DurableEvent, EditRequest, EditResponse, Observation};

#[derive(Default)]
pub struct Edits {
    asked: BTreeMap<u32, Asked>,
    /// The version of each job after each of its edits; 0 when it is gone.
    versions: BTreeMap<String, Vec<u32>>,
    /// What became of the edits that are durable.
    written: BTreeMap<u32, u32>,
    uids: BTreeSet<Uid>,
    fired: BTreeSet<RunId>,
}

struct Asked {
    wanted: EditRequest,
    /// How many edits there were before.
    from: usize,
}

impl Checker for Edits {
    fn id(&self) -> &'static str {
        "I15"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        match observation {
            Observation::EditAsked { ask, wanted } => {
                let from = self.versions_of(wanted.job()).len() - 1;
                self.asked.insert(*ask, Asked { wanted: wanted.clone(), from });
            }
            Observation::EditAnswered { ask, verdict } if !self.is_right(*ask, verdict) => {
                let wanted = &self.asked[ask].wanted;
                violations.add_violation(format!("edit {ask}, {wanted:?}, was answered with {verdict:?}"));
            }
            _ => {}
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        match durable.event {
            Event::Fired(fired) => self.see_fired(durable, fired, violations),
            Event::Job(fact) => match &**fact {
                JobFact::Put(job) => self.see_put(durable, job, violations),
                JobFact::Deleted { job } => {
                    if !self.asked.values().any(|asked| asked.wanted.deletes(&job.name)) {
                        violations
                            .add_violation(format!("{} was deleted, and nobody asked for it", job.name));
                    }
                    self.versions_of(&job.name).push(0);
                }
                JobFact::Progressed { .. }
                | JobFact::CollectionPut(_)
                | JobFact::CollectionDeleted { .. } => {}
            },
            _ => {}
        }
    }
}

impl Edits {
    fn versions_of(&mut self, job: &str) -> &mut Vec<u32> {
        self.versions.entry(job.to_owned()).or_insert_with(|| vec![0])
    }

    fn see_put(&mut self, durable: &DurableEvent<'_>, job: &Job, violations: &mut Violations<'_>) {
        let definition = &job.definition;
        let (name, version) = (definition.at.name.to_string(), definition.version);
        let before = durable.job_model.jobs.get(&definition.at).map(|before| &before.definition);
        match before {
            Some(before) if version == before.version + 1 && definition.uid == before.uid => {}
            None if version == 1 && self.uids.insert(definition.uid) => {}
            _ => violations.add_violation(format!("{name} became version {version} after {before:?}")),
        }
        let ask: u32 = definition.document.parse().unwrap_or_default();
        match self.asked.get(&ask).map(|asked| &asked.wanted) {
            Some(EditRequest::Put { job, version: expected, nothing }) if *job == name => {
                let current = before.map_or(0, |before| before.version);
                if expected.is_some_and(|expected| expected != current) || (*nothing && current != 0) {
                    violations.add_violation(format!("edit {ask} of {name} was made at version {current}"));
                }
            }
            _ => {
                violations.add_violation(format!("{name} became what nobody wrote: {}", definition.document))
            }
        }
        if self.written.insert(ask, version).is_some() {
            violations.add_violation(format!("edit {ask} of {name} was made twice"));
        }
        self.versions_of(&name).push(version);
    }

    fn see_fired(&mut self, durable: &DurableEvent<'_>, fired: &Fired, violations: &mut Violations<'_>) {
        let id = &fired.request.id;
        self.fired.insert(id.clone());
        let definition = durable.job_model.jobs.get(&fired.job).map(|job| &job.definition);
        let document = Occurrence::of_request(&fired.request).map(|occurrence| occurrence.document);
        let current = definition.is_some_and(|definition| {
            definition.version == fired.request.version
                && document.is_some_and(|document| document.get() == definition.document)
        });
        if !current {
            let version = definition.map(|definition| definition.version);
            violations.add_violation(format!(
                "{id} is of version {}, the job of {version:?}",
                fired.request.version
            ));
        }
    }

    /// Whether an answer can be right at some moment since its question.
    fn is_right(&self, ask: u32, verdict: &EditResponse) -> bool {
        let Some(Asked { wanted, from }) = self.asked.get(&ask) else { return false };
        let versions = self.versions.get(wanted.job()).map_or(&[][..], |versions| &versions[*from..]);
        match (verdict, wanted) {
            (EditResponse::Written { version, created }, EditRequest::Put { .. }) => {
                self.written.get(&ask) == Some(version) && *created == (*version == 1)
            }
            (EditResponse::Deleted, EditRequest::Delete { version, nothing: false, .. }) => {
                let fits = |before: u32| before != 0 && version.is_none_or(|version| version == before);
                versions.windows(2).any(|pair| fits(pair[0]) && pair[1] == 0)
            }
            (
                EditResponse::Changed { current },
                EditRequest::Put { version: Some(version), .. }
                | EditRequest::Delete { version: Some(version), .. },
            ) => version != current && versions.contains(current),
            (
                EditResponse::Exists,
                EditRequest::Put { nothing: true, .. } | EditRequest::Delete { nothing: true, .. },
            ) => versions.iter().any(|version| *version != 0),
            (EditResponse::NoJob, EditRequest::Delete { .. } | EditRequest::Run { .. }) => {
                versions.contains(&0)
            }
            (EditResponse::Fired { run }, EditRequest::Run { .. }) => self.fired.contains(run),
            (EditResponse::Other, _) => true,
            _ => false,
        }
    }
}
