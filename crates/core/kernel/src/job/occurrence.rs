//! An occurrence as its run carries it: all that the call and the history need, whatever becomes of the job.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use types::plan::NoticeEvents;
use types::{JobRef, Overlap, Plan, PlanStep, Retry, StepName, Ticks, Uid, WorkflowName};

use super::JobDefinition;
use crate::{Request, Run};

/// The request body of an occurrence's run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Occurrence {
    /// The collection as `subscription/group/name`.
    pub collection: String,
    pub collection_uid: Uid,
    pub job: String,
    /// When the rule has it, in steps of 100 ns since 1970.
    pub expected: Ticks,
    /// 1 for the first occurrence of the job.
    pub number: u64,
    pub by_hand: bool,
    pub retry: Retry,
    pub alternative: Option<Retry>,
    pub serial: bool,
    /// The job as it was written then, with secrets sealed.
    pub document: Box<RawValue>,
}

/// The one step of an occurrence.
pub const STEP: &str = "action";

/// What the workflow of every occurrence is called.
pub const WORKFLOW: &str = types::JOB_WORKFLOW;

pub(super) fn workflow() -> WorkflowName {
    WorkflowName::new(WORKFLOW).expect("three letters make a name")
}

impl Occurrence {
    pub(super) fn of(job: &JobDefinition, expected: Ticks, number: u64, by_hand: bool) -> Occurrence {
        let document = RawValue::from_string(job.document.clone());
        Occurrence {
            collection: job.collection.clone(),
            collection_uid: job.at.collection,
            job: job.name.clone(),
            expected,
            number,
            by_hand,
            retry: job.spec.retry,
            alternative: job.spec.alternative,
            serial: job.spec.overlap == Overlap::Queue,
            document: document.expect("a job's document was made as JSON"),
        }
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an occurrence holds nothing that JSON cannot")
    }

    /// The occurrence inside a run's request; none when it is not one.
    pub fn of_request(request: &Request) -> Option<Occurrence> {
        (request.workflow.as_str() == WORKFLOW).then(|| serde_json::from_slice(&request.body).ok()).flatten()
    }

    fn plan(&self) -> Plan {
        let step = PlanStep {
            name: StepName::new(STEP).expect("six letters make a name"),
            after: Vec::new(),
            retry: self.retry,
            alternative: self.alternative,
            undo: None,
            pivot: false,
            complete_by: None,
        };
        Plan {
            steps: vec![step],
            deadline: None,
            serial: self.serial,
            notices: NoticeEvents::default(),
            notice_retry: Retry::None,
        }
    }
}

/// The plan of an occurrence's run: one step.
pub fn plan_of(request: &Request) -> Option<Plan> {
    Occurrence::of_request(request).map(|occurrence| occurrence.plan())
}

/// The job that a run is an occurrence of.
pub fn job_of(run: &Run) -> Option<JobRef> {
    let occurrence = Occurrence::of_request(&run.request)?;
    let name = occurrence.job.to_lowercase().into();
    Some(JobRef { collection: occurrence.collection_uid, name })
}
