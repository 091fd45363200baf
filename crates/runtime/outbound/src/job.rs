//! Carrying out one attempt of a job's action.

mod action;
mod certificate;
mod http;
mod message;
mod oauth;
mod orders;
mod send;
mod show;
mod status;
mod turn;
mod workflow;

use std::sync::Arc;
use std::time::Duration;

use host::Clock;
use order::Stop;
use types::{Outcome, Ticks, Timestamp};
use vault::Vault;

use crate::client::{Client, ServiceResponse};
use crate::fault::Fault;
use crate::job::action::Action;
use crate::job::http::HttpCaller;
use crate::job::send::MessageCaller;
use crate::limits;
use crate::mask::Mask;
use crate::send::Sender;
use crate::sort::Sorted;

pub(crate) use crate::job::message::is_credential;
pub use crate::job::orders::JobOrders;
pub use crate::job::workflow::{StartError, StartRequest, Starter, Starting};

/// Makes the calls of jobs. Cheap to clone.
///
/// A job says itself how often it tries, so no breaker pauses it and no retry budget delays it: an endpoint that is
/// down sees each attempt. What stays is a bound on the calls in flight to one origin.
#[derive(Clone)]
pub struct JobCaller(Arc<JobCallerInner>);

struct JobCallerInner {
    http: HttpCaller,
    messages: MessageCaller,
    starter: Arc<dyn Starter>,
}

/// How jobs are called.
#[derive(Debug, Clone)]
pub struct JobSettings {
    /// For one attempt, from the token to the last byte of the answer. Waiting for a turn does not count.
    pub timeout: Duration,
    /// How much of an answer's body is reported.
    pub body_chars_max: usize,
    pub calls_per_origin: usize,
    /// Where tokens come from: `<authority>/<tenant>/oauth2/token`.
    pub authority: String,
}

/// One attempt to be made.
#[derive(Clone, Copy)]
pub struct JobCall<'a> {
    /// The job's action as it is stored: canonical JSON with its secrets sealed.
    pub action: &'a str,
    pub part: ActionPart,
    pub job: &'a str,
    pub collection: &'a str,
    /// When the occurrence was due.
    pub expected_at: Ticks,
    /// 32 hexadecimal digits, the same for all attempts of an occurrence.
    pub execution_tag: &'a str,
    pub region: &'a str,
    pub idempotency_key: &'a str,
    /// 1 for the first.
    pub attempt: u32,
    /// Raised when the attempt is no longer wanted: one that has not left need not leave.
    pub stop: &'a Stop,
}

/// Which of a job's actions is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionPart {
    Main,
    /// The errorAction inside it.
    Error,
}

impl Default for JobSettings {
    fn default() -> JobSettings {
        JobSettings {
            timeout: limits::JOB_TIMEOUT,
            body_chars_max: limits::JOB_BODY_CHARS_MAX,
            calls_per_origin: limits::JOB_CALLS_PER_ORIGIN,
            authority: "https://login.microsoftonline.com".to_owned(),
        }
    }
}

impl JobCaller {
    pub fn new(
        client: Client,
        sender: Sender,
        vault: Arc<Vault>,
        starter: Arc<dyn Starter>,
        clock: Clock,
        settings: JobSettings,
    ) -> JobCaller {
        let messages = MessageCaller::new(sender, vault.clone(), &settings);
        JobCaller(Arc::new(JobCallerInner {
            http: HttpCaller::new(client, vault, clock, settings),
            messages,
            starter,
        }))
    }

    /// Makes the attempt. `None` when `stop` was raised before anything had left for the action's target.
    ///
    /// The outcome is never [`Outcome::Refused`]: whatever went wrong, the job's own retry policy decides what
    /// follows. Its text is the message of the job's history, without secrets.
    pub async fn call(&self, call: JobCall<'_>) -> Option<Outcome> {
        match Action::parse(call.action, call.part) {
            Ok(Action::Http(action)) => self.0.http.call(&action, &call).await,
            Ok(Action::Workflow(action)) => Some(workflow::start(&*self.0.starter, action, &call).await),
            Ok(Action::Message(action)) => Box::pin(self.0.messages.call(*action, &call)).await,
            Err(error) => Some(failed(format!("Action cannot be carried out: {error}"))),
        }
    }
}

/// What an answer from `host` means for an occurrence, for those who need no call to have one.
pub fn answered(host: &str, result: &Result<ServiceResponse, Fault>, now: Timestamp) -> Outcome {
    http::outcome(host, result, now, limits::JOB_BODY_CHARS_MAX, &Mask::default())
}

/// What the fate of a message means for an occurrence; `told` says which message went where.
pub fn sent(told: &str, sorted: Sorted) -> Outcome {
    send::outcome(told, sorted)
}

/// An attempt that failed before it had an answer.
fn failed(reason: String) -> Outcome {
    Outcome::Transient { status: None, reason, retry_after: None }
}
