//! Where a job is found, and what is said when it is not.

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
    /// The path of the job, and what follows it.
    pub fn path(&self, rest: &str) -> String {
        client::path("/v1/collections/{}/jobs/{}", &[&self.collection, &self.job]) + rest
    }

    /// Sends a call about this job; if there is none, the error says which is near.
    pub async fn send(&self, session: &mut Session, call: Call) -> anyhow::Result<Answer> {
        session.find(call, NameKind::JobOf(&self.collection), &self.job).await
    }

    /// An error of a call about this job, with the name that is near if there is no such job.
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
            _ => Err("write it as COLLECTION/JOB, like ops/report".to_owned()),
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
