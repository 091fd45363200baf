//! Consumers: they receive, think, and settle what they have, or never come back to it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use engine::queues::{QueueAnswer, QueueCommand, QueueError, Receive, ReceiveMode, Received};
use kernel::queue::{QueueRef, QueueRejection, Settle, SubQueue};
use types::Span;

use super::{Holding, QueueTask, partition, place, ready_since};
use crate::coverage::Situation;
use crate::observation::{Observation, Settling};
use crate::plan::queues::{Consume, Habit};
use crate::process::Process;
use crate::queue_model::fingerprint;
use crate::rng;
use crate::world::{Sim, Task, World};

/// One visit of a consumer.
pub async fn visit(sim: Arc<Sim>, process: Arc<Process>, n: u32) {
    let (operation, facts, asked_at) = {
        let world = sim.world();
        let consumer = world.traffic.consumers.get(&n);
        let Some(consumer) = consumer.filter(|consumer| consumer.waits) else { return };
        (consumer.operation.clone(), world.queue_model.facts, world.now())
    };
    let receive = receive(&operation);
    if receive.mode == ReceiveMode::Delete {
        sim.world().observe(Observation::DeletingAsked { at: receive.at.to_string() });
    }
    let (at, sub_queue) = (receive.at.clone(), receive.sub_queue);
    let answer = process.engine.queue(partition(&process, &at), QueueCommand::Receive(receive));
    let leaves = Duration::from_millis(operation.leave_after_ms.unwrap_or(u64::from(u32::MAX)));
    let answer = tokio::time::timeout(leaves, answer).await.ok();
    sim.look_for_death();
    let mut world = sim.world();
    if world.is_dead() {
        return;
    }
    match answer {
        Some(Ok(QueueAnswer::Received(received))) => {
            let waited = world.now() > asked_at && operation.patience_ms > 0;
            if received.is_empty() && waited && operation.session.is_none() {
                let wall = world.wall();
                if let Some(no) = ready_since(&world.queue_model, &at, sub_queue, facts, wall) {
                    let what =
                        format!("a consumer of {at} received nothing while message {} was there", no.0);
                    world.add_violation("L5", what);
                }
            }
            if !received.is_empty() && waited {
                world.coverage.note(Situation::WaitingServed);
            }
            for one in received {
                hold(&mut world, &operation, &at, one);
            }
        }
        Some(Ok(_))
        | Some(Err(
            QueueError::Rejected(_)
            | QueueError::Stopped { .. }
            | QueueError::NotHeld { .. }
            | QueueError::Unknown { .. },
        ))
        | None => {}
        Some(Err(QueueError::NoRoom | QueueError::NoMemory)) => {
            world.add_violation("L5", format!("{at} refuses consumers for room"))
        }
    }
    if let Some(consumer) = world.traffic.consumers.get_mut(&n) {
        consumer.waits = false;
        if consumer.visits > 0 {
            world.later(operation.pause_ms, Task::Queue(QueueTask::Visit { n }));
        }
    }
    drop(world);
    sim.wake.notify_one();
}

fn receive(operation: &Consume) -> Receive {
    Receive {
        at: place(operation.place),
        sub_queue: if operation.dead { SubQueue::Dead } else { SubQueue::Main },
        session: operation.session.map(|session| format!("s{session}")),
        mode: match operation.delete {
            true => ReceiveMode::Delete,
            false => ReceiveMode::Lock { lock: operation.lock_ms.map(Span::from_ms) },
        },
        max: usize::from(operation.max),
        patience: Span::from_ms(operation.patience_ms),
    }
}

fn received(world: &mut World, at: &QueueRef, one: &Received) {
    world.observe(Observation::MessageReceived {
        at: at.to_string(),
        no: one.taken.no,
        message: fingerprint(&one.message),
        lock: one.taken.lock,
        main: one.taken.dead.is_none(),
    });
}

/// A consumer has a message, and does with it what it is used to.
fn hold(world: &mut World, operation: &Consume, at: &QueueRef, one: Received) {
    received(world, at, &one);
    let Some((token, _)) = one.taken.lock else { return };
    let n = world.traffic.received;
    world.traffic.received += 1;
    let draw = rng::hash(&(world.plan.seed, n, "habit"));
    let habit = match operation.habit {
        Habit::Mixed => {
            let habits = [Habit::Complete, Habit::Abandon, Habit::DeadLetter, Habit::Renew, Habit::Forget];
            habits[draw as usize % habits.len()]
        }
        habit => habit,
    };
    let settlings = match habit {
        Habit::Complete | Habit::Mixed => vec![Settling::Complete],
        Habit::Abandon => vec![Settling::Abandon],
        Habit::DeadLetter => vec![Settling::DeadLetter],
        Habit::Renew => vec![Settling::Renew, Settling::Renew, Settling::Complete],
        Habit::Repeat => vec![Settling::Complete, Settling::Complete],
        Habit::Forget => return,
    };
    let (settlings, no) = (VecDeque::from(settlings), one.taken.no);
    let (at, life) = (at.clone(), world.life);
    let holding = Holding { at, no, token, settlings, think_ms: operation.think_ms, life, waits: false };
    world.traffic.holdings.insert(n, holding);
    world.later(operation.think_ms, Task::Queue(QueueTask::Settle { n }));
}

/// A consumer is done thinking about one of its messages.
pub async fn settle(sim: Arc<Sim>, process: Arc<Process>, n: u32) {
    let (at, no, token, settling) = {
        let mut world = sim.world();
        let Some(holding) = world.traffic.holdings.get(&n) else { return };
        let settling = *holding.settlings.front().expect("one that is done with is forgotten");
        let (at, no, token) = (holding.at.clone(), holding.no, holding.token);
        world.observe(Observation::SettleAsked { token, settling });
        (at, no, token, settling)
    };
    let how = match settling {
        Settling::Complete => Settle::Complete,
        Settling::Abandon => Settle::Abandon,
        Settling::DeadLetter => {
            Settle::DeadLetter { reason: "Bad".to_owned(), description: "cannot be read".to_owned() }
        }
        Settling::Renew => Settle::Renew,
    };
    let command = QueueCommand::Settle { at: at.clone(), token, how };
    let answer = process.engine.queue(partition(&process, &at), command).await;
    sim.look_for_death();
    let mut world = sim.world();
    if world.is_dead() {
        return;
    }
    let goes_on = match answer {
        Ok(QueueAnswer::Settled { locked_until: until }) => {
            world.observe(Observation::Settled { at: at.to_string(), no, token, settling, until });
            if world.traffic.holdings.get(&n).is_some_and(|holding| holding.life < world.life) {
                world.coverage.note(Situation::LockOverCrash);
            }
            true
        }
        Err(QueueError::Rejected(QueueRejection::LockLost)) => {
            world.coverage.note(Situation::LockLost);
            false
        }
        // The queue is gone, or the partition: so is the message, for this consumer.
        _ => false,
    };
    if let Some(holding) = world.traffic.holdings.get_mut(&n) {
        holding.waits = false;
        holding.settlings.pop_front();
        if goes_on && !holding.settlings.is_empty() {
            let think_ms = holding.think_ms;
            world.later(think_ms, Task::Queue(QueueTask::Settle { n }));
        } else {
            world.traffic.holdings.remove(&n);
        }
    }
    drop(world);
    sim.wake.notify_one();
}

/// Receives and completes all that can be received. What cannot, if anything.
pub async fn drain(sim: &Sim, process: &Process, at: &QueueRef) -> Option<String> {
    loop {
        let receive = Receive {
            at: at.clone(),
            sub_queue: SubQueue::Main,
            session: None,
            mode: ReceiveMode::Lock { lock: None },
            max: 10,
            patience: Span::ZERO,
        };
        let answer = process.engine.queue(partition(process, at), QueueCommand::Receive(receive)).await;
        let batch = match answer {
            Ok(QueueAnswer::Received(batch)) => batch,
            Ok(other) => return Some(format!("{at} answers a consumer with {other:?}")),
            Err(QueueError::Rejected(
                QueueRejection::NotFound(_) | QueueRejection::NoSubscription { .. },
            )) => {
                return None;
            }
            Err(error) => return Some(format!("nothing can be received from {at}: {error}")),
        };
        if batch.is_empty() {
            let mut world = sim.world();
            world.coverage.note(Situation::QueueDrained);
            let (facts, wall) = (world.queue_model.facts, world.wall());
            let left = ready_since(&world.queue_model, at, SubQueue::Main, facts, wall);
            return left.map(|no| format!("message {} of {at} is ready, and nobody gets it", no.0));
        }
        for one in batch {
            received(&mut sim.world(), at, &one);
            let (token, _) = one.taken.lock.expect("received by locking");
            let (settling, no) = (Settling::Complete, one.taken.no);
            sim.world().observe(Observation::SettleAsked { token, settling });
            let command = QueueCommand::Settle { at: at.clone(), token, how: Settle::Complete };
            match process.engine.queue(partition(process, at), command).await {
                Ok(_) => {
                    let at = at.to_string();
                    sim.world().observe(Observation::Settled { at, no, token, settling, until: None });
                }
                Err(QueueError::Rejected(QueueRejection::LockLost)) => {}
                Err(error) => return Some(format!("message {} of {at} cannot be completed: {error}", no.0)),
            }
        }
    }
}
