//! Collections, jobs and history as Azure Scheduler showed them.

use kernel::job::{Collection, Job};
use schedule::{CollectionProperties, Dialect, HistoryView, JobView, Resource, history_id, identity};
use serde_json::Value;

use crate::jobs::{
    Attempt, CollectionPath, JobsError, Shown, record, scope, status, stored, stored_collection,
};

pub(super) fn collection(collection: &Collection) -> Result<Resource<CollectionProperties>, JobsError> {
    Ok(scope(collection).collection(&collection.name, &stored_collection(collection)?))
}

pub(super) fn job(
    collection: &Collection,
    shown: &Shown,
    dialect: Dialect,
) -> Result<Resource<JobView>, JobsError> {
    let view = stored(&shown.job)?.render(&status(shown), dialect);
    Ok(scope(collection).job(&collection.name, &shown.job.definition.name, view))
}

pub(super) fn history(collection: &Collection, job: &Job, attempt: &Attempt) -> Resource<HistoryView> {
    let record = record(attempt);
    let id = history_id(record.start, attempt.rank());
    let view = record.render(Dialect::default());
    scope(collection).history(&collection.name, &job.definition.name, &id, view)
}

/// A body that names another collection than its path is a mistake of the client.
pub(super) fn check_collection_name(at: &CollectionPath, body: &Value) -> Result<(), JobsError> {
    check(body, &at.scope().collection_id(&at.name), &[&at.name])
}

pub(super) fn check_job_name(at: &CollectionPath, job: &str, body: &Value) -> Result<(), JobsError> {
    check(body, &at.scope().job_id(&at.name, job), &[&format!("{}/{job}", at.name), job])
}

fn check(body: &Value, id: &str, names: &[&str]) -> Result<(), JobsError> {
    let written = identity(body);
    if let Some(other) = written.id.filter(|other| !other.eq_ignore_ascii_case(id)) {
        return Err(JobsError::Bad(format!("id: '{other}' is not the '{id}' of the path")));
    }
    let is_known = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    match written.name.filter(|name| !is_known(name)) {
        Some(other) => Err(JobsError::Bad(format!("name: '{other}' is not the '{}' of the path", names[0]))),
        None => Ok(()),
    }
}
