//! The name of a job, and the error if there is no such job.

use std::fmt;
use std::str::FromStr;

use crate::client::{self, Answer, Call};
use crate::names::NameKind;
use crate::session::Session;

/// A job by its name: `collection/job`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobName {
    pub collection: String,
    pub job: String,
}

impl JobName {
    /// The API path of the job with a suffix.
    pub fn path(&self, rest: &str) -> String {
        client::path("/v1/collections/{}/jobs/{}", &[&self.collection, &self.job]) + rest
    }

    /// Calls the API for this job; if it does not exist, the error suggests a similar name.
    pub async fn send(&self, session: &mut Session, call: Call) -> anyhow::Result<Answer> {
        session.find(call, NameKind::JobOf(&self.collection), &self.job).await
    }

    /// The error of a call for this job, with a similar name if it does not exist.
    pub async fn explain(&self, session: &mut Session, error: anyhow::Error) -> anyhow::Error {
        session.explain(error, NameKind::JobOf(&self.collection), &self.job).await
    }
}

impl FromStr for JobName {
    type Err = String;

    fn from_str(text: &str) -> Result<JobName, String> {
        match text.split_once('/') {
            Some((collection, job)) if !collection.is_empty() && !job.is_empty() && !job.contains('/') => {
                Ok(JobName { collection: collection.to_owned(), job: job.to_owned() })
            }
            _ => Err("must be COLLECTION/JOB, such as ops/report".to_owned()),
        }
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.collection, self.job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_a_collection_and_a_name() {
        let place: JobName = "s~g~ops/report".parse().unwrap();
        assert_eq!(place.path("/run"), "/v1/collections/s~g~ops/jobs/report/run");
        assert_eq!(place.to_string(), "s~g~ops/report");
        for text in ["ops", "ops/", "/report", "a/b/c", ""] {
            assert!(text.parse::<JobName>().is_err(), "{text}");
        }
    }
}
