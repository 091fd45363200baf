//! Where a job is found, and what is said when it is not.

use std::fmt;
use std::str::FromStr;

use crate::client;
use crate::failure::Failure;

/// A job by its name: `collection/job`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub collection: String,
    pub job: String,
}

impl Place {
    /// The path of the job, and what follows it.
    pub fn path(&self, rest: &str) -> String {
        client::path("/v1/collections/{}/jobs/{}", &[&self.collection, &self.job]) + rest
    }

    /// An error of the server with the names that it leaves out.
    pub fn explain(&self, error: anyhow::Error, program: &str) -> anyhow::Error {
        if code_of(&error) != Some("unknown_job") {
            return explain_collection(error, &self.collection, program);
        }
        let Place { collection, job } = self;
        let text = format!(
            "collection '{collection}' has no job '{job}'; see its jobs with: {program} job list {collection}"
        );
        Failure::No(text).into()
    }
}

/// An error of the server with the name of the collection that it leaves out.
pub fn explain_collection(error: anyhow::Error, collection: &str, program: &str) -> anyhow::Error {
    match code_of(&error) {
        Some("unknown_collection") => Failure::No(format!(
            "no collection is named '{collection}'; see them with: {program} job collections"
        ))
        .into(),
        _ => error,
    }
}

/// The code by which the server tells its reasons apart.
pub fn code_of(error: &anyhow::Error) -> Option<&str> {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Refused(problem)) => Some(problem.code.as_str()),
        _ => None,
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        match text.split_once('/') {
            Some((collection, job)) if !collection.is_empty() && !job.is_empty() && !job.contains('/') => {
                Ok(Place { collection: collection.to_owned(), job: job.to_owned() })
            }
            _ => Err("write it as COLLECTION/JOB, like ops/report".to_owned()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.collection, self.job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_a_collection_and_a_name() {
        let place: Place = "s~g~ops/report".parse().unwrap();
        assert_eq!(place.path("/run"), "/v1/collections/s~g~ops/jobs/report/run");
        assert_eq!(place.to_string(), "s~g~ops/report");
        for text in ["ops", "ops/", "/report", "a/b/c", ""] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}
