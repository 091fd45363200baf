//! Carrying out the engine's orders: render the request, wait for the service's turn, call, sort the answer.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use definition::{Definition, Ending};
use engine::{Effects, Order, Reply, Subject};
use host::Clock;
use http::HeaderMap;
use words::{Outcome, Work, WorkflowName};

use crate::client::{Answer, Client, Request};
use crate::fault::Fault;
use crate::headers::{TraceParent, call_headers};
use crate::job::JobOrders;
use crate::service::{Attempt, ServicePool, ServiceSettings, Verdict};
use crate::sort::{Sorted, sort};
use crate::url::Url;

/// Makes the calls that runs owe. Cheap to clone.
#[derive(Clone)]
pub struct Performer(Arc<Inner>);

struct Inner {
    client: Client,
    services: ServicePool,
    jobs: JobOrders,
    clock: Clock,
    // Which workflow versions have told their services' limits; touched once per call, for a look-up.
    configured: Mutex<BTreeMap<WorkflowName, BTreeSet<u32>>>,
}

impl Performer {
    /// Must be called within a tokio runtime.
    pub fn new(client: Client, jobs: JobOrders, clock: Clock) -> Performer {
        let services = ServicePool::new(ServiceSettings::default());
        Performer(Arc::new(Inner { client, services, jobs, clock, configured: Mutex::default() }))
    }

    /// The services that were called, and how they are doing.
    pub fn services(&self) -> &ServicePool {
        &self.0.services
    }
}

impl Effects for Performer {
    fn start(&self, order: Order) {
        let inner = self.0.clone();
        // Each kind has a task of its own size: the larger one would be paid for by every call.
        match &order.subject {
            Subject::Job(_) => host::spawn("job call", async move { inner.jobs.perform(order).await }),
            Subject::Workflow { definition, version } => {
                let definition = definition.clone();
                inner.configure(&definition, *version);
                host::spawn("call", Box::pin(inner.call(order, definition)))
            }
        };
    }
}

impl Inner {
    async fn call(self: Arc<Inner>, order: Order, definition: Arc<Definition>) {
        let (request, service) = match prepare(&order, &definition) {
            Ok(prepared) => prepared,
            Err(reason) => {
                return order
                    .reply
                    .tell(Outcome::Refused { status: None, reason: format!("not sent: {reason}") });
            }
        };
        let attempt = if order.attempt == 1 { Attempt::First } else { Attempt::Retry };
        let permit = tokio::select! {
            // The permit first: a call that may go when it is stopped is as good as on its way.
            biased;
            permit = self.services.acquire(&service, attempt) => permit,
            () = order.stop.raised() => return order.reply.withdraw(),
        };
        drop(service);
        let result = self.client.send(request).await;
        let sorted = sort(&result, self.clock.now());
        permit.finish(Verdict::of(&result, &sorted));
        finish(order, &definition, &result, sorted);
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

/// The request of an order, and the service whose limits it is under: the address, because two workflows that
/// name it differently still call the same one.
fn prepare<'d>(order: &Order, definition: &'d Definition) -> Result<(Request, Cow<'d, str>), String> {
    let rendered = with_context(order, |context| match &order.context.instead {
        None => definition.render(order.work, context).map_err(|error| error.to_string()),
        Some(action) => {
            let action = definition.parse_action(action).map_err(|problems| problems.to_string())?;
            definition.render_action(&action, context).map_err(|error| error.to_string())
        }
    })?;
    let url = Url::parse(&rendered.url).map_err(|fault| fault.to_string())?;
    let named = rendered.service.as_ref();
    let named = named.and_then(|name| definition.services().iter().find(|service| service.name == *name));
    let service = match named {
        Some(service) => Cow::Borrowed(service.url.as_str()),
        None => Cow::Owned(url.origin.to_string()),
    };
    let key = order.idempotency_key();
    let root = order.context.trace.as_deref().and_then(TraceParent::parse);
    let root = root.unwrap_or_else(|| TraceParent::root(order.context.run_id.as_str()));
    let own: HeaderMap = rendered.headers.into_iter().collect();
    let headers = call_headers(own, &key, root, &format!("{key}/{}", order.attempt));
    let headers = headers.map_err(|error| error.to_string())?;
    let request = Request {
        headers,
        body: rendered.body,
        deadline: rendered.timeout.as_std(),
        ..Request::new(rendered.method, url)
    };
    Ok((request, service))
}

fn with_context<T>(order: &Order, work: impl FnOnce(&definition::Context<'_>) -> T) -> T {
    let context = &order.context;
    let ending = matches!(order.work, Work::Notice(_)).then_some(Ending {
        status: context.status,
        reason: context.reason.as_deref(),
        steps_done: &context.steps_done,
        steps_undone: &context.steps_undone,
    });
    work(&definition::Context {
        run: &context.run_id,
        key: &context.key,
        request: &context.request,
        outputs: &context.outputs,
        ending,
    })
}

fn finish(order: Order, definition: &Definition, result: &Result<Answer, Fault>, sorted: Sorted) {
    let outcome = match (sorted, result) {
        (Sorted::Done { status, body }, Ok(answer)) => {
            let judged = with_context(&order, |context| {
                definition.judge(order.work, context, status, &answer.headers, &body)
            });
            match judged {
                definition::Verdict::Done { output } => Outcome::Done { status, output },
                definition::Verdict::Refused { reason } => Outcome::Refused { status: Some(status), reason },
            }
        }
        (Sorted::Done { status, .. }, Err(_)) => {
            Outcome::Unknown { reason: format!("{status} without an answer") }
        }
        (Sorted::Refused { status: Some(status @ (404 | 410)), .. }, _) if is_undo(order.work) => {
            // An undo is a tombstone: it succeeds for what was never done.
            Outcome::Done { status, output: bytes::Bytes::from_static(b"null") }
        }
        (Sorted::Refused { status, reason }, _) => Outcome::Refused { status, reason },
        (Sorted::Transient { status, reason, retry_after }, _) => {
            Outcome::Transient { status, reason, retry_after }
        }
        (Sorted::Unknown { reason }, _) => Outcome::Unknown { reason },
    };
    let reply: Reply = order.reply;
    reply.tell(outcome);
}

fn is_undo(work: Work) -> bool {
    matches!(work, Work::Undo(_) | Work::UndoInstead(_))
}
