//! The services: each keeps a ledger, honours keys and undos, and treats a call as the plan has it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{CallOrder, CallSubject, Effects};
use kernel::drill::Entry;
use types::{Outcome, RunId, Span, StepIndex, Work};

use crate::coverage::Sometimes;
use crate::dice;
use crate::plan::Fates;
use crate::sighting::{Place, Sighting};
use crate::world::{Sim, Task};

/// How long a caller waits for an answer, in ms.
const PATIENCE_MS: u64 = 5000;

/// The longest that a late call is on its way, in ms.
const LATE_MS: u64 = 300_000;

/// What all services together know.
#[derive(Default)]
pub struct Ledger {
    entries: BTreeMap<Place, Entry>,
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

/// How a call is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
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

/// The outside of a simulated process.
pub struct Services(pub Arc<Sim>);

impl Effects for Services {
    fn start(&self, order: CallOrder) {
        let sim = self.0.clone();
        if let Some(trip) = sim.order(&order) {
            tokio::spawn(travel(sim, order, trip));
        }
    }
}

/// What becomes of a call, drawn when it is ordered.
struct Trip {
    call: Call,
    fate: Fate,
    wait_ms: u64,
    there_ms: u64,
    back_ms: u64,
}

impl Sim {
    /// Notes an order; nothing leaves a process that is dead.
    fn order(&self, order: &CallOrder) -> Option<Trip> {
        self.look_for_death();
        let mut world = self.world();
        if world.is_dead() {
            return None;
        }
        let (run, work, attempt) = (order.context.run_id.clone(), order.work, order.attempt);
        let key = order.idempotency_key();
        world.calls += 1;
        let number = world.calls;
        world.see(Sighting::Ordered { run: run.clone(), work, attempt, key: key.clone() });
        match work {
            Work::Alternative(_) if matches!(order.subject, CallSubject::Job(_)) => {
                world.coverage.note(Sometimes::JobAlternative);
            }
            Work::Alternative(_) => world.coverage.note(Sometimes::Alternative),
            Work::Undo(_) if attempt > 1 => world.coverage.note(Sometimes::UndoRetried),
            _ => {}
        }
        let draw = dice::hash(&(world.plan.seed, &key, attempt, world.life));
        let fates = world.fates();
        let way = |salt: u64| dice::hash(&(draw, salt)) % (fates.way_ms + 1);
        let fate = if world.is_outage() { Fate::RequestLost } else { fate_of(fates, work, draw) };
        Some(Trip {
            call: Call { run, work, attempt, number },
            fate,
            wait_ms: way(1),
            there_ms: 1 + way(2),
            back_ms: 1 + way(3),
        })
    }
}

fn fate_of(fates: Fates, work: Work, draw: u64) -> Fate {
    let mut left = (draw % 1000) as u16;
    let undo = matches!(work, Work::Undo(_) | Work::UndoInstead(_));
    let refused = if undo { fates.undo_refused } else { fates.refused };
    let kinds = [
        (refused, Fate::Refused),
        (fates.transient, Fate::Transient),
        (fates.busy, Fate::Busy),
        (fates.answer_lost, Fate::AnswerLost),
        (fates.request_lost, Fate::RequestLost),
        (fates.late, Fate::Late),
        (fates.twice, Fate::Twice),
    ];
    for (rate, fate) in kinds {
        if left < rate {
            return fate;
        }
        left -= rate;
    }
    Fate::Well
}

/// One call from its order to its outcome. What is on the wire survives the process; what waits here does not.
async fn travel(sim: Arc<Sim>, order: CallOrder, trip: Trip) {
    let CallOrder { stop, reply, .. } = order;
    if trip.wait_ms > 0 {
        tokio::select! {
            biased;
            () = stop.raised() => {
                sim.world().coverage.note(Sometimes::Withdrawn);
                return reply.withdraw();
            }
            () = pass(trip.wait_ms) => {}
        }
    }
    let arrives = matches!(trip.fate, Fate::Well | Fate::AnswerLost | Fate::Late | Fate::Twice);
    let there_ms = match trip.fate {
        Fate::Late => PATIENCE_MS + dice::hash(&(trip.call.number, "late")) % LATE_MS,
        _ => trip.there_ms,
    };
    if arrives {
        sim.send(&trip.call, there_ms);
    }
    if trip.fate == Fate::Twice {
        sim.send(&trip.call, there_ms + dice::hash(&(trip.call.number, "twice")) % LATE_MS);
    }
    match trip.fate {
        Fate::AnswerLost | Fate::RequestLost | Fate::Late => pass(PATIENCE_MS).await,
        _ => pass(trip.there_ms + trip.back_ms).await,
    }
    let outcome = match trip.fate {
        Fate::Well | Fate::Twice => sim.world().answers.remove(&trip.call.number),
        Fate::Refused => Some(Outcome::Refused { status: Some(409), reason: "no".to_owned() }),
        Fate::Transient => Some(transient(None)),
        Fate::Busy => {
            sim.world().coverage.note(Sometimes::RetryAfter);
            Some(transient(Some(Span::from_secs(trip.call.number % 20))))
        }
        Fate::AnswerLost => {
            sim.world().coverage.note(Sometimes::AnswerLost);
            None
        }
        Fate::RequestLost | Fate::Late => None,
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
