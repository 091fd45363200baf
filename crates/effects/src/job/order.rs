//! The engine's orders for jobs, handed to the caller.

use engine::{Order, Subject};
use kernel::job::Occurrence;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use words::{Outcome, Work};

use super::{JobCall, JobCaller, Part};

/// Carries out what occurrences owe.
#[derive(Clone)]
pub struct JobOrders {
    pub caller: JobCaller,
    /// Where this process runs, as targets are told.
    pub region: String,
}

/// The part of a job's document that is carried out.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    action: &'a RawValue,
}

impl JobOrders {
    pub(crate) async fn perform(&self, order: Order) {
        let Subject::Job(occurrence) = &order.subject else { unreachable!("only occurrences come here") };
        match self.call(&order, occurrence).await {
            Some(outcome) => order.reply.tell(outcome),
            None => order.reply.withdraw(),
        }
    }

    async fn call(&self, order: &Order, occurrence: &Occurrence) -> Option<Outcome> {
        let document: Document<'_> = match serde_json::from_str(occurrence.document.get()) {
            Ok(document) => document,
            Err(error) => {
                let reason = format!("the job's document cannot be read: {error}");
                return Some(Outcome::Transient { status: None, reason, retry_after: None });
            }
        };
        let collection = occurrence.collection.rsplit('/').next().unwrap_or_default();
        let call = JobCall {
            action: document.action.get(),
            part: if matches!(order.work, Work::Alternative(_)) { Part::Error } else { Part::Main },
            job: &occurrence.job,
            collection,
            expected_at: occurrence.expected,
            execution_tag: &execution_tag(order.context.run_id.as_str()),
            region: &self.region,
            idempotency_key: &order.idempotency_key(),
            attempt: order.attempt,
            stop: &order.stop,
        };
        self.caller.call(call).await
    }
}

/// The same for all attempts of an occurrence.
fn execution_tag(run: &str) -> String {
    let half: [u8; 16] = Sha256::digest(run)[..16].try_into().expect("16 of 32 bytes");
    format!("{:032x}", u128::from_be_bytes(half))
}
