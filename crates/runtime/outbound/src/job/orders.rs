//! The engine's orders for jobs, handed to the caller.

use kernel::job::Occurrence;
use order::{CallContext, CallOrder, CallSubject, Stop};
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use types::{Outcome, Work};

use super::{ActionPart, JobCall, JobCaller};
use crate::shown::CallPreview;

/// Carries out the calls of occurrences.
#[derive(Clone)]
pub struct JobOrders {
    pub caller: JobCaller,
    /// Where this process runs, as targets see it.
    pub region: String,
}

/// The part of a job's document that is carried out.
#[derive(Deserialize)]
struct StoredJob<'a> {
    #[serde(borrow)]
    action: &'a RawValue,
}

impl JobOrders {
    pub(crate) async fn perform(&self, order: CallOrder) {
        let CallSubject::Job(occurrence) = &order.subject else { unreachable!("only occurrences come here") };
        match self.call(&order, occurrence).await {
            Some(outcome) => order.reply.report(outcome),
            None => order.reply.withdraw(),
        }
    }

    async fn call(&self, order: &CallOrder, occurrence: &Occurrence) -> Option<Outcome> {
        let document = match StoredJob::of(occurrence) {
            Ok(document) => document,
            Err(reason) => return Some(Outcome::Transient { status: None, reason, retry_after: None }),
        };
        let (tag, key) = (execution_tag(order.context.run_id.as_str()), order.idempotency_key());
        let call = JobCall {
            attempt: order.attempt,
            ..self.call_of(occurrence, &document, order.work, &tag, &key, &order.stop)
        };
        self.caller.call(call).await
    }

    /// The call as people may see it.
    pub(crate) fn show(
        &self,
        occurrence: &Occurrence,
        context: &CallContext,
        work: Work,
        attempt: u32,
        key: &str,
    ) -> Result<CallPreview, String> {
        let document = StoredJob::of(occurrence)?;
        let (tag, stop) = (execution_tag(context.run_id.as_str()), Stop::default());
        let call = self.call_of(occurrence, &document, work, &tag, key, &stop);
        self.caller.show(&JobCall { attempt, ..call })
    }

    /// The first attempt of an occurrence.
    fn call_of<'a>(
        &'a self,
        occurrence: &'a Occurrence,
        document: &StoredJob<'a>,
        work: Work,
        execution_tag: &'a str,
        idempotency_key: &'a str,
        stop: &'a Stop,
    ) -> JobCall<'a> {
        JobCall {
            action: document.action.get(),
            part: if matches!(work, Work::Alternative(_)) { ActionPart::Error } else { ActionPart::Main },
            job: &occurrence.job,
            collection: occurrence.collection.rsplit('/').next().unwrap_or_default(),
            expected_at: occurrence.expected,
            execution_tag,
            region: &self.region,
            idempotency_key,
            attempt: 1,
            stop,
        }
    }
}

impl<'a> StoredJob<'a> {
    fn of(occurrence: &'a Occurrence) -> Result<StoredJob<'a>, String> {
        serde_json::from_str(occurrence.document.get())
            .map_err(|error| format!("the job's document cannot be read: {error}"))
    }
}

/// The same for all attempts of an occurrence.
fn execution_tag(run: &str) -> String {
    let half: [u8; 16] = Sha256::digest(run)[..16].try_into().expect("16 of 32 bytes");
    format!("{:032x}", u128::from_be_bytes(half))
}
