//! Whole collections in and out: what is exported can be imported, elsewhere or after a change.

use std::collections::{BTreeMap, BTreeSet};

use engine::jobs::JobCommand;
use kernel::job::{Collection, CollectionDraft, Draft, Job};
use schedule::{CollectionDocument, FrontEnd, JobDocument, JobStatus, Problems};
use serde::Serialize;
use serde_json::{Value, json};
use types::Span;

use super::CollectionPath;
use super::{Jobs, JobsError, check_name, new_uid, secrets, stored, stored_collection};

/// What an import changes.
#[derive(Debug, Serialize)]
pub(crate) struct Import {
    pub collection: Change,
    pub jobs: Vec<JobChange>,
}

#[derive(Debug, Serialize)]
pub(crate) struct JobChange {
    pub name: String,
    pub change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Change {
    Created,
    Updated,
    Unchanged,
    Deleted,
}

/// How an import is done.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// Only say what would change.
    pub dry_run: bool,
    /// Delete the jobs that the document does not name.
    pub prune: bool,
}

/// Whether a document says which jobs there are. A list of Azure holds its jobs under `value`.
fn has_jobs(document: &Value) -> bool {
    ["jobs", "value"].iter().any(|name| document.get(name).is_some())
}

impl Jobs {
    /// A collection with all its jobs, without secrets.
    pub(crate) fn export(&self, at: &CollectionPath) -> Result<Value, JobsError> {
        let collection = self.collection(at)?;
        let jobs = self.reader.jobs(&collection, None, usize::MAX)?;
        let jobs: Result<Vec<_>, JobsError> = jobs
            .iter()
            .map(|job| Ok(json!({ "name": job.definition.name, "properties": public(&stored(job)?) })))
            .collect();
        Ok(json!({ "collection": stored_collection(&collection)?, "jobs": jobs? }))
    }

    /// Writes what a document holds: all of it or nothing.
    pub(crate) async fn import(
        &self,
        at: &CollectionPath,
        document: &Value,
        manner: Manner,
    ) -> Result<Import, JobsError> {
        check_name(&at.name)?;
        let wanted = self.read_import(document)?;
        if manner.prune && !has_jobs(document) {
            let text = "jobs: required to prune; an empty list deletes all jobs of the collection";
            return Err(JobsError::Bad(text.to_owned()));
        }
        let existing = self.reader.collection(&at.id())?;
        let current = match &existing {
            Some(existing) => self.reader.jobs(existing, None, usize::MAX)?,
            None => Vec::new(),
        };
        let import = compare(existing.as_ref(), &current, &wanted, manner.prune)?;
        if manner.dry_run {
            return Ok(import);
        }
        let named = |change: Change| {
            let named = import.jobs.iter().filter(move |job| job.change == change);
            named.map(|job| job.name.to_lowercase()).collect::<BTreeSet<_>>()
        };
        let (same, deleted) = (named(Change::Unchanged), named(Change::Deleted));
        let changed = wanted.jobs.into_iter().filter(|(name, _)| !same.contains(&name.to_lowercase()));
        let sealed = secrets::seal_jobs(&self.vault, changed.collect()).await?;
        let draft = |(name, document): (String, JobDocument)| {
            let (uid, spec, document) = (new_uid(), document.spec(), document.stored());
            Draft { name, uid, spec, document, delay: Span::ZERO }
        };
        let jobs = sealed.into_iter().map(draft).collect();
        let collection = match import.collection {
            Change::Unchanged => None,
            _ => {
                let document = wanted.collection.unwrap_or_default_plan();
                Some(CollectionDraft {
                    subscription: at.subscription.clone(),
                    group: at.group.clone(),
                    name: at.name.clone(),
                    uid: new_uid(),
                    spec: document.spec(),
                    document: document.stored(),
                })
            }
        };
        let command = JobCommand::Import {
            collection: at.id(),
            draft: collection,
            jobs,
            deleted: deleted.into_iter().collect(),
        };
        self.ask(at, command).await?;
        Ok(import)
    }

    fn read_import(&self, document: &Value) -> Result<Wanted, JobsError> {
        let empty = Vec::new();
        let Some(members) = document.as_object() else {
            return Err(JobsError::Bad("write an object with 'collection' and 'jobs'".to_owned()));
        };
        // A list of Azure holds its jobs under `value`.
        let known = ["collection", "jobs", "value", "nextLink"];
        if let Some(other) = members.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(JobsError::Bad(format!("{other}: not known; write 'collection' and 'jobs'")));
        }
        let jobs = match members.get("jobs").or(members.get("value")) {
            Some(Value::Array(jobs)) => jobs,
            None => &empty,
            Some(_) => return Err(JobsError::Bad("jobs: write a list of jobs".to_owned())),
        };
        let collection =
            document.get("collection").map(|body| schedule::read_collection(body, FrontEnd::Native));
        let collection = Given(collection.transpose()?);
        let mut seen = BTreeSet::new();
        let mut read = Vec::new();
        for (index, body) in jobs.iter().enumerate() {
            let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
            // An export of Azure names a job "collection/job".
            let name = name.rsplit('/').next().unwrap_or_default();
            check_name(name).map_err(|error| JobsError::Bad(format!("jobs[{index}].{error}")))?;
            if !seen.insert(name.to_lowercase()) {
                return Err(JobsError::Bad(format!("jobs[{index}].name: '{name}' is there twice")));
            }
            let document = schedule::read_job(body, &self.limits, self.clock.wall());
            let document = document.map_err(|problems| {
                let text = format!("{problems} (exports leave secrets out)");
                Problems::one(format!("jobs[{index}] '{name}'"), text)
            })?;
            read.push((name.to_owned(), document));
        }
        Ok(Wanted { collection, jobs: read })
    }
}

struct Wanted {
    collection: Given,
    jobs: Vec<(String, JobDocument)>,
}

/// A collection that a document may describe.
struct Given(Option<CollectionDocument>);

impl Given {
    fn unwrap_or_default_plan(self) -> CollectionDocument {
        let plain = || schedule::read_collection(&json!({}), FrontEnd::Native);
        self.0.unwrap_or_else(|| plain().expect("an empty document makes a native collection"))
    }
}

fn compare(
    existing: Option<&Collection>,
    current: &[Job],
    wanted: &Wanted,
    prune: bool,
) -> Result<Import, JobsError> {
    let collection = match (existing, &wanted.collection.0) {
        (None, _) => Change::Created,
        (Some(existing), Some(wanted)) if stored_collection(existing)? != *wanted => Change::Updated,
        (Some(_), _) => Change::Unchanged,
    };
    let by_name: BTreeMap<&str, &Job> = current.iter().map(|job| (&*job.definition.at.name, job)).collect();
    let mut named = BTreeSet::new();
    let mut jobs = Vec::new();
    for (name, document) in &wanted.jobs {
        let lower = name.to_lowercase();
        let change = match by_name.get(lower.as_str()) {
            None => Change::Created,
            Some(job) if public(&stored(job)?) == public(document) && !has_secrets(document) => {
                Change::Unchanged
            }
            Some(_) => Change::Updated,
        };
        jobs.push(JobChange { name: name.clone(), change });
        named.insert(lower);
    }
    let gone = current.iter().filter(|job| prune && !named.contains(&*job.definition.at.name));
    jobs.extend(gone.map(|job| JobChange { name: job.definition.name.clone(), change: Change::Deleted }));
    Ok(Import { collection, jobs })
}

/// The document without secrets and without a status: what an export holds.
fn public(document: &JobDocument) -> Value {
    let state = if document.spec().enabled { types::JobState::Enabled } else { types::JobState::Disabled };
    let view = document.render(&JobStatus::new(state, None), schedule::Dialect::default());
    let mut value = serde_json::to_value(view).expect("a job is JSON");
    if let Some(members) = value.as_object_mut() {
        members.remove("status");
    }
    value
}

fn has_secrets(document: &JobDocument) -> bool {
    let mut any = false;
    let looked: Result<(), std::convert::Infallible> = document.clone().visit_secrets(|_, _| {
        any = true;
        Ok(())
    });
    let Ok(()) = looked;
    any
}
