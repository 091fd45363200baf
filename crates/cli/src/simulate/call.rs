//! A call that would leave: made from the definition by the shipped rules, and judged by them.

use action::Destination;
use bytes::Bytes;
use kernel::Run;
use order::CallContext;
use outbound::outcome::{Judge, never_sent};
use outbound::{Fault, ServiceResponse, limits, sort};
use schedule::{ActionTarget, JobDocument};
use types::{Outcome, Span, Timestamp, Work};
use workflow::{Definition, RenderedAction};

use super::script::ScriptReply;

/// A call as a script sees it.
#[derive(Debug, Clone)]
pub struct SimulatedCall {
    /// Empty for a notice.
    pub step: String,
    pub work: Work,
    pub service: Option<String>,
    /// `SEND` for a message, `START` for a workflow that a job starts.
    pub method: String,
    /// Where it goes; `queue:orders` and the like for a message.
    pub url: String,
    pub timeout: Span,
}

/// Whose runs are simulated.
pub enum CallKind<'a> {
    Workflow(&'a Definition),
    Job(&'a JobDocument),
}

impl SimulatedCall {
    /// What kind of work it is, in the words of a script.
    pub fn kind(&self) -> &'static str {
        kind(self.work)
    }

    /// The URL without its scheme, host and query.
    pub fn path(&self) -> &str {
        let Some((_, rest)) = self.url.split_once("://") else { return &self.url };
        let path = rest.find('/').map_or("/", |at| &rest[at..]);
        path.split(['?', '#']).next().unwrap_or(path)
    }

    fn host(&self) -> &str {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        rest.split(['/', '?', ':']).next().unwrap_or(rest)
    }

    fn is_message(&self) -> bool {
        self.method == "SEND"
    }
}

/// `do`, `alternative`, `undo` or `notice`: an action that a person named counts as what it progress_after_change in for.
pub fn kind(work: Work) -> &'static str {
    work.kind().declared().name()
}

impl CallKind<'_> {
    /// The call of an attempt, or the outcome of one that cannot be made.
    pub fn call(&self, run: &Run, work: Work) -> Result<SimulatedCall, Outcome> {
        let step = work.step().and_then(|index| run.plan().steps.get(usize::from(index.0)));
        let step = step.map(|step| step.name.to_string()).unwrap_or_default();
        match self {
            CallKind::Workflow(definition) => workflow_call(definition, run, work, step),
            CallKind::Job(document) => Ok(job_call(document, work, step)),
        }
    }

    /// The outcome of a call, as the run receives it.
    pub fn outcome(&self, run: &Run, call: &SimulatedCall, given: &ScriptReply, now: Timestamp) -> Outcome {
        match self {
            CallKind::Workflow(definition) => {
                let context = CallContext::of(run, call.work, run.reason());
                let context = context.seen_by(call.work);
                let judge = Judge { definition, work: call.work, context: &context };
                let sorted = sort(&given.result, now);
                match call.is_message() {
                    true => judge.sent(sorted),
                    false => judge.answered(&given.result, sorted),
                }
            }
            CallKind::Job(_) => job_outcome(call, &given.result, now),
        }
    }
}

fn workflow_call(
    definition: &Definition,
    run: &Run,
    work: Work,
    step: String,
) -> Result<SimulatedCall, Outcome> {
    let feed = definition.feed(work).filter(|_| !definition.declares(work));
    if let Some(queue) = feed {
        let url = format!("queue:{queue}");
        return Ok(SimulatedCall {
            step,
            work,
            service: None,
            method: "SEND".to_owned(),
            url,
            timeout: span(limits::DEADLINE),
        });
    }
    let context = CallContext::of(run, work, run.reason());
    match definition.render(work, &context.seen_by(work)) {
        Ok(RenderedAction::Call(request)) => Ok(SimulatedCall {
            step,
            work,
            service: request.service.map(|service| service.to_string()),
            method: request.method.to_string(),
            url: request.url,
            timeout: request.timeout,
        }),
        Ok(RenderedAction::Send(sending)) => {
            let (url, timeout) = (place_of(&sending.to), sending.timeout);
            let service = sending.service.map(|service| service.to_string());
            Ok(SimulatedCall { step, work, service, method: "SEND".to_owned(), url, timeout })
        }
        Err(error) => Err(never_sent(&error.to_string())),
    }
}

/// `queue:orders`, `rabbitmq:EXCHANGE/KEY` and the like.
pub(crate) fn place_of(to: &Destination<String>) -> String {
    format!("{}:{}", to.destination_type().name(), to.path(String::clone))
}

fn job_call(document: &JobDocument, work: Work, step: String) -> SimulatedCall {
    let action = document.action();
    let part = match work {
        Work::Alternative(_) => action.error_action.as_ref().unwrap_or(&action.main),
        _ => &action.main,
    };
    let (method, url) = match (&part.target, part.target.destination()) {
        (_, Some(to)) => ("SEND".to_owned(), place_of(&to)),
        (ActionTarget::Request(request), _) => (request.method.to_uppercase(), request.uri.clone()),
        (ActionTarget::Workflow(start), _) => ("START".to_owned(), format!("workflow:{}", start.name)),
        (_, None) => unreachable!("everything else has a destination"),
    };
    SimulatedCall { step, work, service: None, method, url, timeout: span(limits::JOB_TIMEOUT) }
}

fn job_outcome(call: &SimulatedCall, result: &Result<ServiceResponse, Fault>, now: Timestamp) -> Outcome {
    match call.method.as_str() {
        "SEND" => outbound::job::sent(&format!("Message to '{}'", call.url), sort(result, now)),
        "START" => outbound::job::sent(&format!("Start of '{}'", call.url), sort(result, now)),
        _ => outbound::job::answered(call.host(), result, now),
    }
}

fn span(duration: std::time::Duration) -> Span {
    Span::from_ms(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// The output of a step without a scripted response, if its definition does not accept the default response.
pub fn assumed_done() -> Outcome {
    Outcome::Done { status: 200, output: Bytes::from_static(b"null") }
}
