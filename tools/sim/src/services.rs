//! The services: each keeps a ledger, honours idempotency keys and undos, and fails as the plan says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{CallOrder, CallSubject, Effects};
use kernel::drill::Entry;
use types::{Outcome, RunId, Span, StepIndex, Work};

use crate::coverage::Situation;
use crate::observation::{Observation, StepKey};
use crate::plan::ServiceFaults;
use crate::rng;
use crate::world::{Sim, Task};

/// How long a caller waits for an answer, in ms.
const PATIENCE_MS: u64 = 5000;

/// The longest that a late call is on its way, in ms.
const LATE_MS: u64 = 300_000;

/// What all services together know.
#[derive(Default)]
pub struct Ledger {
    entries: BTreeMap<StepKey, Entry>,
}

/// A call on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub run: RunId,
    pub work: Work,
    pub attempt: u32,
    /// Counts the calls of a simulation.
    pub number: u64,
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallFault {
    Well,
    Refused,
    Transient,
    Busy,
    AnswerLost,
    RequestLost,
    Late,
    Twice,
}

impl Ledger {
    pub fn in_effect(&self, run: &RunId, step: StepIndex) -> bool {
        self.entries.get(&(run.clone(), step)).is_some_and(|entry| entry.in_effect)
    }

    /// A call reaches its service: the outcome, and whether it had an effect.
    pub fn reach(&mut self, run: &RunId, work: Work) -> (Outcome, bool) {
        let Some(step) = work.step() else { return (done(), false) };
        let entry = self.entries.entry((run.clone(), step)).or_default();
        match work {
            Work::Undo(_) | Work::UndoInstead(_) => {
                entry.tombstone = true;
                entry.in_effect = false;
                (done(), false)
            }
            _ if entry.tombstone => {
                (Outcome::Refused { status: Some(410), reason: "undone".to_owned() }, false)
            }
            _ if entry.in_effect => (done(), false),
            _ => {
                entry.in_effect = true;
                entry.effects += 1;
                (done(), true)
            }
        }
    }
}

fn done() -> Outcome {
    Outcome::Done { status: 200, output: Bytes::from_static(b"{}") }
}

/// The services, as a simulated process calls them.
pub struct Services(pub Arc<Sim>);

impl Effects for Services {
    fn start(&self, order: CallOrder) {
        let sim = self.0.clone();
        if let Some(trip) = sim.order(&order) {
            tokio::spawn(travel(sim, order, trip));
        }
    }
}

/// The course of a call, drawn when it is ordered.
struct CallPlan {
    call: Call,
    fault: CallFault,
    wait_ms: u64,
    there_ms: u64,
    back_ms: u64,
}

impl Sim {
    /// Notes an order; nothing leaves a process that is dead.
    fn order(&self, order: &CallOrder) -> Option<CallPlan> {
        self.look_for_death();
        let mut world = self.world();
        if world.is_dead() {
            return None;
        }
        let (run, work, attempt) = (order.context.run_id.clone(), order.work, order.attempt);
        let key = order.idempotency_key();
        world.calls += 1;
        let number = world.calls;
        world.observe(Observation::Ordered { run: run.clone(), work, attempt, key: key.clone() });
        match work {
            Work::Alternative(_) if matches!(order.subject, CallSubject::Job(_)) => {
                world.coverage.note(Situation::JobAlternative);
            }
            Work::Alternative(_) => world.coverage.note(Situation::Alternative),
            Work::Undo(_) if attempt > 1 => world.coverage.note(Situation::UndoRetried),
            _ => {}
        }
        let draw = rng::hash(&(world.plan.seed, &key, attempt, world.life));
        let service_faults = world.service_faults();
        let way = |salt: u64| rng::hash(&(draw, salt)) % (service_faults.latency_ms + 1);
        let fault =
            if world.is_outage() { CallFault::RequestLost } else { fault_of(service_faults, work, draw) };
        Some(CallPlan {
            call: Call { run, work, attempt, number },
            fault,
            wait_ms: way(1),
            there_ms: 1 + way(2),
            back_ms: 1 + way(3),
        })
    }
}

fn fault_of(service_faults: ServiceFaults, work: Work, draw: u64) -> CallFault {
    let mut left = (draw % 1000) as u16;
    let undo = matches!(work, Work::Undo(_) | Work::UndoInstead(_));
    let refused = if undo { service_faults.undo_refused } else { service_faults.refused };
    let kinds = [
        (refused, CallFault::Refused),
        (service_faults.transient, CallFault::Transient),
        (service_faults.busy, CallFault::Busy),
        (service_faults.answer_lost, CallFault::AnswerLost),
        (service_faults.request_lost, CallFault::RequestLost),
        (service_faults.late, CallFault::Late),
        (service_faults.twice, CallFault::Twice),
    ];
    for (rate, fault) in kinds {
        if left < rate {
            return fault;
        }
        left -= rate;
    }
    CallFault::Well
}

/// One call from its order to its outcome. What was sent survives the process; what waits here does not.
async fn travel(sim: Arc<Sim>, order: CallOrder, trip: CallPlan) {
    let CallOrder { stop, reply, .. } = order;
    if trip.wait_ms > 0 {
        tokio::select! {
            biased;
            () = stop.raised() => {
                sim.world().coverage.note(Situation::Withdrawn);
                return reply.withdraw();
            }
            () = pass(trip.wait_ms) => {}
        }
    }
    let arrives =
        matches!(trip.fault, CallFault::Well | CallFault::AnswerLost | CallFault::Late | CallFault::Twice);
    let there_ms = match trip.fault {
        CallFault::Late => PATIENCE_MS + rng::hash(&(trip.call.number, "late")) % LATE_MS,
        _ => trip.there_ms,
    };
    if arrives {
        sim.send(&trip.call, there_ms);
    }
    if trip.fault == CallFault::Twice {
        sim.send(&trip.call, there_ms + rng::hash(&(trip.call.number, "twice")) % LATE_MS);
    }
    match trip.fault {
        CallFault::AnswerLost | CallFault::RequestLost | CallFault::Late => pass(PATIENCE_MS).await,
        _ => pass(trip.there_ms + trip.back_ms).await,
    }
    let outcome = match trip.fault {
        CallFault::Well | CallFault::Twice => sim.world().answers.remove(&trip.call.number),
        CallFault::Refused => Some(Outcome::Refused { status: Some(409), reason: "no".to_owned() }),
        CallFault::Transient => Some(transient(None)),
        CallFault::Busy => {
            sim.world().coverage.note(Situation::RetryAfter);
            Some(transient(Some(Span::from_secs(trip.call.number % 20))))
        }
        CallFault::AnswerLost => {
            sim.world().coverage.note(Situation::AnswerLost);
            None
        }
        CallFault::RequestLost | CallFault::Late => None,
    };
    reply.report(outcome.unwrap_or_else(|| Outcome::Unknown { reason: "no answer".to_owned() }));
}

fn transient(retry_after: Option<Span>) -> Outcome {
    Outcome::Transient { status: Some(503), reason: "down".to_owned(), retry_after }
}

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

impl Sim {
    /// Puts a call on the wire.
    fn send(&self, call: &Call, ms: u64) {
        self.world().later(ms, Task::Arrive(call.clone()));
        self.wake.notify_one();
    }
}
