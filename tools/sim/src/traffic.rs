//! Traffic at the queues: who sends, who consumes and who operates; all of them outlive the process.

mod consumers;
mod senders;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use engine::queues::partition_of;
use kernel::queue::{MessageNo, QueueRef, SubQueue};
use types::{QueueName, Timestamp, Uid};

use crate::observation::Settling;
use crate::plan::queues::{ALL, Consume, PLAIN, QueueOperation, RED, SESSIONS};
use crate::process::Process;
use crate::queue_model::{MessageStatus, QueueModel};
use crate::rng;
use crate::world::{Sim, Task, World};

/// How late a message may want attention in a healthy world, in ms.
const LATE_MS: i64 = 2000;

/// Everybody who has to do with queues.
#[derive(Debug, Default)]
pub struct Traffic {
    askers: BTreeMap<u32, Asker>,
    /// The senders among the askers, in the order in which they came.
    senders: Vec<u32>,
    consumers: BTreeMap<u32, Consumer>,
    holdings: BTreeMap<u32, Holding>,
    received: u32,
    drained: bool,
}

/// A client with one request, repeated until it is answered.
#[derive(Debug)]
struct Asker {
    operation: QueueOperation,
    /// What a scheduled message waits for.
    due: Option<Timestamp>,
    tries: u32,
    settled: bool,
}

#[derive(Debug)]
struct Consumer {
    operation: Consume,
    visits: u8,
    /// It waits for an answer.
    waits: bool,
}

/// A message that a consumer has and is not done with.
#[derive(Debug)]
struct Holding {
    at: QueueRef,
    no: MessageNo,
    token: Uid,
    settlings: VecDeque<Settling>,
    think_ms: u64,
    /// The life of the process that it came from.
    life: u32,
    /// It waits for an answer.
    waits: bool,
}

/// Something that is done about queues at its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueTask {
    Ask { n: u32 },
    Visit { n: u32 },
    Settle { n: u32 },
}

/// Where a number of a plan leads.
fn place(place: u8) -> QueueRef {
    let name = |name: &str| QueueName::new(name).expect("a valid name");
    match place {
        PLAIN => QueueRef::queue(name("orders")),
        SESSIONS => QueueRef::queue(name("calls")),
        ALL => QueueRef::subscription(name("news"), name("all")),
        RED => QueueRef::subscription(name("news"), name("red")),
        _ => QueueRef::queue(name("news")),
    }
}

/// Somebody comes.
pub fn begin(sim: &Arc<Sim>, process: &Arc<Process>, operation: QueueOperation) {
    let task = match operation {
        QueueOperation::Consume(operation) => {
            let consumers = &mut sim.world().traffic.consumers;
            let n = consumers.len() as u32;
            consumers.insert(n, Consumer { visits: operation.visits, operation, waits: false });
            QueueTask::Visit { n }
        }
        QueueOperation::Again { n } => {
            let traffic = &mut sim.world().traffic;
            let Some(n) = traffic.senders.get(n as usize).copied() else { return };
            if let Some(asker) = traffic.askers.get_mut(&n) {
                asker.settled = false;
            }
            QueueTask::Ask { n }
        }
        operation => {
            let traffic = &mut sim.world().traffic;
            let n = traffic.askers.len() as u32;
            if let QueueOperation::Send(_) = operation {
                traffic.senders.push(n);
            }
            traffic.askers.insert(n, Asker { operation, due: None, tries: 0, settled: false });
            QueueTask::Ask { n }
        }
    };
    carry_out(sim, process, task);
}

pub fn carry_out(sim: &Arc<Sim>, process: &Arc<Process>, task: QueueTask) {
    sim.world().traffic.set_out(task);
    let (sim, process) = (sim.clone(), process.clone());
    match task {
        QueueTask::Ask { n } => drop(tokio::spawn(senders::ask(sim, process, n))),
        QueueTask::Visit { n } => drop(tokio::spawn(consumers::visit(sim, process, n))),
        QueueTask::Settle { n } => drop(tokio::spawn(consumers::settle(sim, process, n))),
    }
}

/// Those whom the last process left without an answer come back, or give up.
pub fn greet(world: &mut World) {
    let (seed, life) = (world.plan.seed, world.life);
    let draw = |n: u32, who: &str| rng::hash(&(seed, n, life, who));
    let Traffic { askers, consumers, holdings, .. } = &mut world.traffic;
    let waiting = askers.iter().filter(|(_, asker)| !asker.settled);
    let mut again: Vec<(u64, QueueTask)> =
        waiting.map(|(n, _)| (draw(*n, "asker"), QueueTask::Ask { n: *n })).collect();
    for (n, consumer) in consumers.iter_mut().filter(|(_, consumer)| consumer.waits) {
        consumer.waits = false;
        again.push((draw(*n, "consumer"), QueueTask::Visit { n: *n }));
    }
    // A consumer does not know whether its message was settled: it tries again, or lets it be.
    holdings.retain(|n, holding| !holding.waits || !draw(*n, "holding").is_multiple_of(3));
    for (n, holding) in holdings.iter_mut().filter(|(_, holding)| holding.waits) {
        holding.waits = false;
        again.push((draw(*n, "holding"), QueueTask::Settle { n: *n }));
    }
    for (draw, task) in again {
        world.later(draw % 2000, Task::Queue(task));
    }
}

/// Everything is well again: nobody waits for an answer, what time brings has come, and in half of the worlds
/// whatever can be received is. What is still owed before that, if anything is.
pub async fn wind_down(sim: &Arc<Sim>, process: &Process) -> Option<String> {
    let drain = {
        let mut world = sim.world();
        if !world.traffic.is_quiet() {
            return Some("somebody waits for an answer of a queue".to_owned());
        }
        let seed = world.plan.seed;
        let drained = std::mem::replace(&mut world.traffic.drained, true);
        !drained && rng::hash(&(seed, "drain")).is_multiple_of(2)
    };
    if drain {
        for number in [PLAIN, SESSIONS, ALL, RED] {
            let at = place(number);
            if let Some(owed) = consumers::drain(sim, process, &at).await {
                return Some(owed);
            }
        }
    }
    late(&sim.world())
}

/// A message whose time came long ago, and to which nothing happened.
fn late(world: &World) -> Option<String> {
    let wall = world.wall();
    let queues = world.queue_model.partitions.values().flat_map(|in_partition| in_partition.queues.values());
    for (no, kept) in queues.flat_map(|held| &held.messages) {
        let wakes_at = match kept.status {
            MessageStatus::Scheduled { at } | MessageStatus::Locked { until: at, .. } => Some(at),
            MessageStatus::Ready => kept.expires_at.filter(|_| !kept.dead),
        };
        if wakes_at.is_some_and(|at| at.0 + LATE_MS < wall.0) {
            return Some(format!("message {} should have been seen to, it is {}: {kept:?}", no.0, wall.0));
        }
    }
    None
}

impl Traffic {
    /// A consumer waits from now on, even if the process dies before it receives the request.
    fn set_out(&mut self, task: QueueTask) {
        match task {
            QueueTask::Ask { .. } => {}
            QueueTask::Visit { n } => {
                if let Some(consumer) = self.consumers.get_mut(&n).filter(|consumer| consumer.visits > 0) {
                    consumer.visits -= 1;
                    consumer.waits = true;
                }
            }
            QueueTask::Settle { n } => {
                if let Some(holding) = self.holdings.get_mut(&n) {
                    holding.waits = true;
                }
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.askers.values().all(|asker| asker.settled)
            && self.consumers.values().all(|consumer| !consumer.waits)
            && self.holdings.is_empty()
    }
}

/// What could have been received from a queue ever since a fact: it is ready, has not expired, and waits for no other
/// message of its session.
fn ready_since(
    queue_model: &QueueModel,
    at: &QueueRef,
    sub_queue: SubQueue,
    since: u64,
    wall: Timestamp,
) -> Option<MessageNo> {
    let held = queue_model.held(&at.name, at.subscription.as_ref())?;
    if held.spec.sessions && sub_queue == SubQueue::Main {
        return None;
    }
    let mut messages = held.messages.iter();
    let found = messages.find(|(_, kept)| {
        kept.dead == (sub_queue == SubQueue::Dead)
            && kept.status == MessageStatus::Ready
            && kept.since <= since
            && (kept.dead || kept.expires_at.is_none_or(|expires_at| expires_at > wall))
    });
    found.map(|(no, _)| *no)
}

fn partition(process: &Process, at: &QueueRef) -> types::PartitionId {
    partition_of(&at.name, process.partition_count())
}
