//! The services of a cluster: one ledger for all regions, which distinguishes calls by their keys alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{CallOrder, Effects};
use tokio::sync::oneshot;
use types::{Outcome, RunId, StepIndex, Work};

use super::checker::Ordered;
use super::coverage::Situation;
use super::world::Sim;
use crate::observation::Observation;
use crate::plan::ServiceFaults;
use crate::rng;

/// How long a caller waits for an answer, in ms.
const PATIENCE_MS: u64 = 5000;

/// The longest that a late call is on its way, in ms.
const LATE_MS: u64 = 30_000;

/// What all services together know.
#[derive(Default)]
pub struct Ledger {
    /// The keys of calls that had their effect.
    keys: BTreeSet<String>,
    steps: BTreeMap<(RunId, StepIndex), StepEffects>,
}

#[derive(Default)]
struct StepEffects {
    /// How often it came into effect, by itself and by its alternative.
    effects: [u32; 2],
    in_effect: bool,
    undone: bool,
}

/// A call that has left.
#[derive(Debug, Clone)]
struct Call {
    run: RunId,
    work: Work,
    attempt: u32,
    key: String,
    /// Whether the past that it follows from is the one that counts.
    counts: bool,
}

impl Ledger {
    pub fn in_effect(&self, run: &RunId, step: StepIndex) -> bool {
        self.steps.get(&(run.clone(), step)).is_some_and(|effects_of_step| effects_of_step.in_effect)
    }

    /// A call reaches its service: the outcome, and how many effects its step has had when this was one.
    fn reach(&mut self, call: &Call) -> (Outcome, Option<u32>) {
        let Some(step) = call.work.step() else { return (done(), None) };
        let effects_of_step = self.steps.entry((call.run.clone(), step)).or_default();
        match call.work {
            Work::Undo(_) | Work::UndoInstead(_) => {
                (effects_of_step.undone, effects_of_step.in_effect) = (true, false);
                (done(), None)
            }
            _ if effects_of_step.undone => {
                (Outcome::Refused { status: Some(410), reason: "undone".to_owned() }, None)
            }
            _ if !self.keys.insert(call.key.clone()) => (done(), None),
            _ => {
                effects_of_step.in_effect = true;
                let effects =
                    &mut effects_of_step.effects[usize::from(matches!(call.work, Work::Alternative(_)))];
                *effects += 1;
                (done(), Some(*effects))
            }
        }
    }
}

fn done() -> Outcome {
    Outcome::Done { status: 200, output: Bytes::from_static(b"{}") }
}

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallFault {
    Well,
    Refused,
    Transient,
    AnswerLost,
    RequestLost,
    Late,
    Twice,
}

/// The services, as one instance calls them.
pub struct SimulatedServices {
    pub sim: Arc<Sim>,
    pub life: u32,
}

impl Effects for SimulatedServices {
    fn start(&self, order: CallOrder) {
        let (sim, life) = (self.sim.clone(), self.life);
        let mut call = Call {
            run: order.context.run_id.clone(),
            work: order.work,
            attempt: order.attempt,
            key: order.idempotency_key(),
            counts: true,
        };
        if sim.world().lives[&life].dead {
            return;
        }
        call.counts = sim.ordered(life, &call);
        tokio::spawn(travel(sim, life, order, call));
    }
}

async fn travel(sim: Arc<Sim>, life: u32, order: CallOrder, call: Call) {
    let (fault, draw, latency_ms) = {
        let mut world = sim.world();
        let draw = world.draw(life, &call.key);
        let service_faults = world.service_faults();
        (fault_of(service_faults, call.work, draw), draw, service_faults.latency_ms)
    };
    let way = |salt: u64| 1 + rng::hash(&(draw, salt)) % (latency_ms + 1);
    let CallOrder { stop, reply, .. } = order;
    tokio::select! {
        biased;
        () = stop.raised() => return reply.withdraw(),
        () = pass(way(1)) => {}
    }
    // What has not left a process stays with it.
    sim.gate(life).await;
    let there_ms = if fault == CallFault::Late { PATIENCE_MS + draw % LATE_MS } else { way(2) };
    let arrives =
        matches!(fault, CallFault::Well | CallFault::AnswerLost | CallFault::Late | CallFault::Twice);
    let answer = arrives.then(|| sim.send(life, &call, there_ms));
    if fault == CallFault::Twice {
        sim.send(life, &call, there_ms + draw % LATE_MS);
    }
    let outcome = match fault {
        CallFault::Well | CallFault::Twice => {
            let answer = answer.expect("it was sent").await.expect("what is on the wire arrives");
            pass(way(3)).await;
            answer
        }
        CallFault::Refused => refused(way(2) + way(3)).await,
        CallFault::Transient => {
            pass(way(2) + way(3)).await;
            Outcome::Transient { status: Some(503), reason: "down".to_owned(), retry_after: None }
        }
        CallFault::AnswerLost | CallFault::RequestLost | CallFault::Late => {
            pass(PATIENCE_MS).await;
            Outcome::Unknown { reason: "no answer".to_owned() }
        }
    };
    sim.gate(life).await;
    reply.report(outcome);
}

async fn refused(ms: u64) -> Outcome {
    pass(ms).await;
    Outcome::Refused { status: Some(409), reason: "no".to_owned() }
}

fn fault_of(service_faults: ServiceFaults, work: Work, draw: u64) -> CallFault {
    let undo = matches!(work, Work::Undo(_) | Work::UndoInstead(_));
    let mut left = (draw % 1000) as u16;
    let kinds = [
        (if undo { 0 } else { service_faults.refused }, CallFault::Refused),
        (service_faults.transient, CallFault::Transient),
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

async fn pass(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

impl Sim {
    /// An instance orders a call. True when its past counts.
    fn ordered(&self, life: u32, call: &Call) -> bool {
        let now = self.now();
        let mut world = self.world();
        world.figures.calls += 1;
        let Call { run, work, attempt, key, .. } = call.clone();
        world.say(now, || format!("{life} orders {key} attempt {attempt}"));
        let observation = Observation::Ordered { run, work, attempt, key };
        world.observe(now, &observation);
        let region = world.lives[&life].region;
        let term = world.regions[region].term;
        let ordered = world.checker.order(life, region, term, &observation);
        if ordered == Ordered::Zombie {
            world.coverage.note(Situation::ZombieCalled);
        }
        ordered != Ordered::Stranger
    }

    /// Sends a call: it arrives even if the caller dies.
    fn send(self: &Arc<Sim>, life: u32, call: &Call, ms: u64) -> oneshot::Receiver<Outcome> {
        let (sim, call) = (self.clone(), call.clone());
        let (tx, answer) = oneshot::channel();
        let term = {
            let mut world = sim.world();
            world.figures.on_the_wire += 1;
            world.regions[world.lives[&life].region].term
        };
        tokio::spawn(async move {
            pass(ms).await;
            let now = sim.now();
            let mut world = sim.world();
            world.figures.on_the_wire -= 1;
            let (outcome, effects) = world.ledger.reach(&call);
            // The caller may have given up.
            let _ = tx.send(outcome);
            let Call { run, work, attempt, counts, .. } = call;
            world.say(now, || format!("reached {run} {work:?} attempt {attempt}, {effects:?}"));
            if let Some(effects) = effects.filter(|effects| *effects > 1) {
                world.checker.add_violation("I4", format!("{run} {work:?} has had {effects} effects"));
            }
            let region = world.lives[&life].region;
            let observation = Observation::Reached { run, work, attempt, effect: effects.is_some() };
            world.observe(now, &observation);
            if counts && world.regions[region].term == term {
                world.checker.reached(region, &observation);
            }
        });
        answer
    }
}
