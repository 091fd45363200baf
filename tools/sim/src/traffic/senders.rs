//! Senders and an operator: each wants one thing, and repeats it until it is answered.

use std::sync::Arc;

use engine::queues::{Outgoing, QueueAnswer, QueueCommand, QueueError};
use kernel::queue::{QueueRejection, SendResult, SubQueue};
use types::{Filter, Message, Property, Span, Timestamp};

use super::{QueueTask, partition, place};
use crate::coverage::Situation;
use crate::observation::Observation;
use crate::plan::queues::{QueueOperation, RED, Send, TOPIC};
use crate::process::Process;
use crate::queue_model::fingerprint;
use crate::world::{Sim, Task, World};

/// How often a client tries again when there is no such queue, and how long it waits, in ms.
const TRIES_MAX: u32 = 6;
const AGAIN_MS: u64 = 500;

/// The label of what one subscription takes.
const RED_LABEL: &str = "red";

/// One attempt of a sender or an operator.
pub async fn ask(sim: Arc<Sim>, process: Arc<Process>, n: u32) {
    let (operation, due) = {
        let mut world = sim.world();
        let wall = world.wall();
        let Some(asker) = world.traffic.askers.get_mut(&n).filter(|asker| !asker.settled) else { return };
        asker.tries += 1;
        if let QueueOperation::Send(Send { delay_ms: Some(delay_ms), .. }) = asker.operation {
            asker.due.get_or_insert(wall + Span::from_ms(delay_ms));
        }
        (asker.operation.clone(), asker.due)
    };
    let at = match &operation {
        QueueOperation::Put { place: number, .. }
        | QueueOperation::Delete { place: number }
        | QueueOperation::Redrive { place: number, .. }
        | QueueOperation::Purge { place: number, .. }
        | QueueOperation::Send(Send { place: number, .. }) => place(*number),
        QueueOperation::PutTopic { .. } => place(TOPIC),
        QueueOperation::Again { .. } | QueueOperation::Consume(_) => return,
    };
    let command = command(&operation, n, due);
    let to = at.to_string();
    let ids = announce(&mut sim.world(), &to, &command);
    let partition = partition(&process, &at);
    let answer = process.engine.queue(partition, command).await;
    sim.look_for_death();
    let mut world = sim.world();
    if world.is_dead() {
        return;
    }
    match answer {
        Ok(QueueAnswer::Sent(results)) => {
            let messages = ids.into_iter().zip(results).map(|(id, result)| match result {
                SendResult::Taken(no) => (id, Some(no)),
                SendResult::Duplicate => (id, None),
            });
            let messages: Vec<_> = messages.collect();
            if messages.iter().any(|(_, no)| no.is_none()) {
                world.coverage.note(Situation::DuplicateDropped);
            }
            world.observe(Observation::MessagesTaken { to, partition, messages });
        }
        Ok(_) => {}
        Err(error) => {
            if let Some(ms) = again_ms(&mut world, n, &operation, &error) {
                world.later(ms, Task::Queue(QueueTask::Ask { n }));
                drop(world);
                return sim.wake.notify_one();
            }
        }
    }
    if let Some(asker) = world.traffic.askers.get_mut(&n) {
        asker.settled = true;
    }
}

/// When a refused client tries again, if it does.
fn again_ms(world: &mut World, n: u32, operation: &QueueOperation, error: &QueueError) -> Option<u64> {
    match error {
        QueueError::NoRoom | QueueError::NoMemory => {
            world.coverage.note(Situation::SendRefusedDisk);
            Some(AGAIN_MS * 4)
        }
        QueueError::Stopped { .. } | QueueError::NotHeld { .. } | QueueError::Unknown { .. } => {
            Some(AGAIN_MS)
        }
        QueueError::Rejected(QueueRejection::NotFound(_)) => {
            let tries = world.traffic.askers.get(&n)?.tries;
            let waits = !matches!(operation, QueueOperation::Delete { .. }) && tries < TRIES_MAX;
            waits.then_some(AGAIN_MS)
        }
        QueueError::Rejected(QueueRejection::Full { .. }) => {
            world.coverage.note(Situation::QueueFull);
            None
        }
        QueueError::Rejected(_) => None,
    }
}

/// Records the request as an observation; the ids of what is sent.
fn announce(world: &mut World, at: &str, command: &QueueCommand) -> Vec<String> {
    match command {
        QueueCommand::Send { messages, .. } => {
            let offered = messages.iter().map(|each| (each.message.id.clone(), fingerprint(&each.message)));
            let offered: Vec<(String, u64)> = offered.collect();
            let ids = offered.iter().map(|(id, _)| id.clone()).collect();
            world.observe(Observation::MessagesOffered { to: at.to_owned(), messages: offered });
            ids
        }
        QueueCommand::Purge { .. } => {
            world.observe(Observation::PurgeAsked { at: at.to_owned() });
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn command(operation: &QueueOperation, n: u32, due: Option<Timestamp>) -> QueueCommand {
    match operation {
        QueueOperation::Put { place: number, spec } => {
            let (at, spec) = (place(*number), (**spec).clone());
            match at.subscription {
                None => QueueCommand::PutQueue { name: at.name, spec },
                Some(name) => {
                    let label = (*number == RED).then(|| RED_LABEL.to_owned());
                    let filter = Filter { label, ..Filter::default() };
                    QueueCommand::PutSubscription { topic: at.name, name, spec, filter }
                }
            }
        }
        QueueOperation::PutTopic { spec } => {
            QueueCommand::PutTopic { name: place(TOPIC).name, spec: spec.clone() }
        }
        QueueOperation::Delete { place: number } => QueueCommand::Delete { at: place(*number) },
        QueueOperation::Send(send) => {
            let messages = (0..send.count).map(|nth| message(send, n, nth, due)).collect();
            QueueCommand::Send { to: place(send.place).name, messages }
        }
        QueueOperation::Redrive { place: number, max } => {
            QueueCommand::Redrive { at: place(*number), max: usize::from(*max) }
        }
        QueueOperation::Purge { place: number, dead } => {
            let sub_queue = if *dead { SubQueue::Dead } else { SubQueue::Main };
            QueueCommand::Purge { at: place(*number), sub_queue, max: 3 }
        }
        QueueOperation::Again { .. } | QueueOperation::Consume(_) => unreachable!("not asked like this"),
    }
}

fn message(send: &Send, n: u32, nth: u8, due: Option<Timestamp>) -> Outgoing {
    // The first letter tells the checkers whether an id counts.
    let id = format!("{}{n}-{nth}", if send.own_id { 'm' } else { 'x' });
    let mut message = Message::new(id.clone(), format!("{id} {}", ".".repeat(usize::from(send.body_bytes))));
    message.label = Some(if send.red { RED_LABEL } else { "blue" }.to_owned());
    message.session = send.session.map(|session| format!("s{session}"));
    message.time_to_live = send.time_to_live_ms.map(Span::from_ms);
    message.scheduled_at = due;
    message.properties.insert("nth".to_owned(), Property::Number(nth.to_string()));
    Outgoing { message, own_id: send.own_id }
}
