//! Carrying out the engine's orders: render the request or the message, wait for the service's turn, let it go, sort
//! what came of it.

mod feed;
mod message;
mod show;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use host::Clock;
use http::HeaderMap;
use order::{CallOrder, CallSubject, Effects};
use types::{Outcome, Work, WorkflowName};
use workflow::{Definition, RenderedAction};

use crate::client::{Client, OutboundRequest};
use crate::headers::{TraceParent, call_headers};
use crate::job::JobOrders;
use crate::outcome::{self, Judge};
use crate::send::{SendResult, SendTarget, Sender};
use crate::service::{AttemptKind, CallVerdict, Permit, ServicePool, ServiceSettings};
use crate::sign_in::{self, Environment};
use crate::sort::{Sorted, sort};
use crate::url::Url;

/// Makes the calls of runs. Cheap to clone.
#[derive(Clone)]
pub struct Performer(Arc<PerformerInner>);

struct PerformerInner {
    client: Client,
    sender: Sender,
    services: ServicePool,
    jobs: JobOrders,
    clock: Clock,
    /// Reads a variable of the environment, where the secrets of services are.
    environment: Environment,
    // Which workflow versions have told their services' limits; touched once per call, for a look-up.
    configured: Mutex<BTreeMap<WorkflowName, BTreeSet<u32>>>,
    // Touched by notices with a feed alone, for a look-up.
    halves: Mutex<feed::Halves>,
}

impl Performer {
    /// Must be called within a tokio runtime.
    pub fn new(client: Client, sender: Sender, jobs: JobOrders, clock: Clock) -> Performer {
        let services = ServicePool::new(ServiceSettings::default());
        let environment = sign_in::PROCESS;
        let (configured, halves) = (Mutex::default(), Mutex::default());
        Performer(Arc::new(PerformerInner {
            client,
            sender,
            services,
            jobs,
            clock,
            environment,
            configured,
            halves,
        }))
    }

    /// The services that were called, and how they are doing.
    pub fn services(&self) -> &ServicePool {
        &self.0.services
    }
}

impl Effects for Performer {
    fn start(&self, order: CallOrder) {
        let inner = self.0.clone();
        // Each kind has a task of its own size: the larger one would be paid for by every call.
        match &order.subject {
            CallSubject::Job(_) => host::spawn("job call", async move { inner.jobs.perform(order).await }),
            CallSubject::Workflow { definition, version } => {
                let (definition, version) = (definition.clone(), *version);
                inner.configure(&definition, version);
                host::spawn("call", Box::pin(inner.call(order, definition, version)))
            }
        };
    }
}

/// An order without the way back.
struct CallAttempt<'o> {
    work: Work,
    attempt: u32,
    definition: &'o Definition,
    version: u32,
    context: &'o order::CallContext,
    /// The same for all attempts.
    key: String,
    stop: &'o order::Stop,
}

/// What an attempt comes to before it leaves.
enum Prepared<'d> {
    /// A call, and the service whose limits it is under: the address, because two workflows that name it differently
    /// still call the same one.
    Call(Box<OutboundRequest>, Cow<'d, str>),
    Send(Box<(SendTarget, types::Message)>, std::time::Duration),
}

/// Why an attempt does not leave.
enum NotSent {
    /// It would be the same each time.
    Permanent(String),
    /// An operator may fix it.
    Retryable(String),
}

impl PerformerInner {
    async fn call(self: Arc<PerformerInner>, order: CallOrder, definition: Arc<Definition>, version: u32) {
        let attempt = CallAttempt {
            work: order.work,
            attempt: order.attempt,
            definition: &definition,
            version,
            context: &order.context,
            key: order.idempotency_key(),
            stop: &order.stop,
        };
        match self.run(&attempt).await {
            Some(outcome) => order.reply.report(outcome),
            None => order.reply.withdraw(),
        }
    }

    /// Carries out an attempt. `None` when it was stopped before anything left.
    async fn run(&self, attempt: &CallAttempt<'_>) -> Option<Outcome> {
        match attempt.definition.feed(attempt.work) {
            None => self.act(attempt).await,
            Some(queue) => Box::pin(self.notify(attempt, queue)).await,
        }
    }

    /// Does what the workflow, or a person, says. `None` when it was stopped before it left.
    async fn act(&self, attempt: &CallAttempt<'_>) -> Option<Outcome> {
        let (request, service) = match self.prepare(attempt) {
            Ok(Prepared::Call(request, service)) => (request, service),
            Ok(Prepared::Send(send, patience)) => {
                let (target, message) = *send;
                let sent = Box::pin(self.send(attempt, &target, message, patience)).await?;
                return Some(attempt.judge(|judge| judge.sent(sent)));
            }
            Err(NotSent::Permanent(reason)) => {
                return Some(outcome::never_sent(&reason));
            }
            Err(NotSent::Retryable(reason)) => {
                let reason = format!("not sent: {reason}");
                return Some(Outcome::Transient { status: None, reason, retry_after: None });
            }
        };
        let permit = self.permit(attempt, &service).await?;
        drop(service);
        let result = self.client.send(*request).await;
        let sorted = sort(&result, self.clock.now());
        permit.finish(CallVerdict::of(&result, &sorted));
        Some(attempt.judge(|judge| judge.answered(&result, sorted)))
    }

    /// `None` when the message was stopped before it left.
    async fn send(
        &self,
        attempt: &CallAttempt<'_>,
        target: &SendTarget,
        message: types::Message,
        patience: std::time::Duration,
    ) -> Option<Sorted> {
        let permit = self.permit(attempt, target.origin()).await?;
        let SendResult { sorted, verdict } = self.sender.send(target, message, patience).await;
        permit.finish(verdict);
        Some(sorted)
    }

    async fn permit(&self, attempt: &CallAttempt<'_>, service: &str) -> Option<Permit> {
        let kind = if attempt.attempt == 1 { AttemptKind::First } else { AttemptKind::Retry };
        tokio::select! {
            // The permit first: a call that may go when it is stopped is as good as on its way.
            biased;
            permit = self.services.acquire(service, kind) => Some(permit),
            () = attempt.stop.raised() => None,
        }
    }

    fn prepare<'d>(&self, attempt: &CallAttempt<'d>) -> Result<Prepared<'d>, NotSent> {
        match render(attempt).map_err(NotSent::Permanent)? {
            RenderedAction::Call(request) => {
                let (request, service) = prepare_call(attempt, request).map_err(NotSent::Permanent)?;
                Ok(Prepared::Call(Box::new(request), service))
            }
            RenderedAction::Send(sending) => {
                let patience = sending.timeout.as_std();
                let send = self.prepare_message(attempt, *sending)?;
                Ok(Prepared::Send(Box::new(send), patience))
            }
        }
    }

    /// The limits of a workflow's services come into force with its first call.
    fn configure(&self, definition: &Definition, version: u32) {
        let mut configured = self.configured.lock().expect("nobody panics while holding the set");
        if configured.get(definition.name()).is_some_and(|versions| versions.contains(&version)) {
            return;
        }
        configured.entry(definition.name().clone()).or_default().insert(version);
        for service in definition.services() {
            let settings = ServiceSettings { concurrency_max: service.concurrency };
            self.services.configure(&service.url, settings);
        }
    }
}

impl CallAttempt<'_> {
    fn judge(&self, judge: impl FnOnce(Judge<'_>) -> Outcome) -> Outcome {
        let context = self.context.seen_by(self.work);
        judge(Judge { definition: self.definition, work: self.work, context: &context })
    }
}

fn render(attempt: &CallAttempt<'_>) -> Result<RenderedAction, String> {
    let (definition, context) = (attempt.definition, attempt.context.seen_by(attempt.work));
    match &attempt.context.instead {
        None => definition.render(attempt.work, &context).map_err(|error| error.to_string()),
        Some(action) => {
            let action = definition.parse_action(action).map_err(|problems| problems.to_string())?;
            definition.render_action(&action, &context).map_err(|error| error.to_string())
        }
    }
}

/// The call, and the service whose limits it is under.
fn prepare_call<'d>(
    attempt: &CallAttempt<'d>,
    rendered: workflow::RenderedCall,
) -> Result<(OutboundRequest, Cow<'d, str>), String> {
    let definition = attempt.definition;
    let url = Url::parse(&rendered.url).map_err(|fault| fault.to_string())?;
    let named = rendered.service.as_ref();
    let named = named.and_then(|name| definition.services().iter().find(|service| service.name == *name));
    let service = match named {
        Some(service) => Cow::Borrowed(service.url.as_str()),
        None => Cow::Owned(url.origin.to_string()),
    };
    let key = attempt.key.as_str();
    let root = attempt.context.trace.as_deref().and_then(TraceParent::parse);
    let root = root.unwrap_or_else(|| TraceParent::root(attempt.context.run_id.as_str()));
    let own: HeaderMap = rendered.headers.into_iter().collect();
    let headers = call_headers(own, key, root, &format!("{key}/{}", attempt.attempt));
    let headers = headers.map_err(|error| error.to_string())?;
    let request = OutboundRequest {
        headers,
        body: rendered.body,
        deadline: rendered.timeout.as_std(),
        ..OutboundRequest::new(rendered.method, url)
    };
    Ok((request, service))
}

#[cfg(test)]
mod tests;
