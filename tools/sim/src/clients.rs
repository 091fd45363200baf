//! The clients: they repeat what was not acknowledged, and sometimes what was; they cancel; and a person decides.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::CommandError;
use ingest::{
    DurableRequest, IncomingRequest, Location, RefusalReason, Sender, SubmitError, WorkflowVersion,
};
use kernel::{Command, Decision, Rejection, Run};
use types::{PartitionId, RunId, RunStatus, StepIndex, WorkflowName};

use crate::coverage::Situation;
use crate::observation::{Observation, fingerprint};
use crate::process::Process;
use crate::rng;
use crate::workflows;
use crate::world::{Sim, Task, World};

/// What a client remembers of its request.
#[derive(Debug, Clone)]
pub struct Client {
    pub workflow: u8,
    /// It knows what became of the request and sends no more.
    pub settled: bool,
    /// Where the request is, once it was acknowledged.
    pub partition: Option<PartitionId>,
}

/// The id of a client's request.
pub fn id(n: u32) -> RunId {
    RunId::new(&format!("r{n}")).expect("a letter and digits make an id")
}

fn body(n: u32, impostor: bool) -> Bytes {
    // Few keys, so that serial runs meet.
    Bytes::from(format!(r#"{{"n":{n},"key":"k{}","impostor":{impostor}}}"#, n % 3))
}

/// Submits a request and acts on the answer.
pub async fn submit(sim: Arc<Sim>, process: Arc<Process>, n: u32, impostor: bool) {
    let workflow = match sim.world().clients.get(&n) {
        Some(client) => client.workflow,
        None => return,
    };
    let name = WorkflowName::new(workflows::NAMES[usize::from(workflow)]).expect("a valid name");
    let catalog = process.control.catalogs().load();
    let entry = catalog.current(&name).expect("the workflows are applied before anybody comes");
    let workflow = WorkflowVersion { definition: &entry.definition, version: entry.version };
    let body = body(n, impostor);
    let sent = fingerprint(&body);
    sim.world().observe(Observation::Sent { id: id(n), body: sent });
    let incoming = IncomingRequest {
        body,
        header_id: Some(id(n)),
        sender: Sender::Internal,
        ..IncomingRequest::default()
    };
    let answer = match process.ingest.admit_and_locate(workflow, incoming) {
        Ok(Location::Here(located)) => process.ingest.submit(located).await,
        Ok(Location::There(_)) => unreachable!("the only instance owns every partition"),
        Err(error) => Err(error),
    };
    sim.look_for_death();
    let mut world = sim.world();
    if world.is_dead() {
        return;
    }
    let again_ms = act_on(&mut world, n, impostor, sent, answer);
    if let Some(ms) = again_ms.filter(|_| !impostor) {
        world.later(ms, Task::Resend { n });
        drop(world);
        sim.wake.notify_one();
    }
}

/// Notes the answer to request `n`; the time in ms after which the client tries again, if it does.
fn act_on(
    world: &mut World,
    n: u32,
    impostor: bool,
    sent: u64,
    answer: Result<DurableRequest, SubmitError>,
) -> Option<u64> {
    match answer {
        Ok(submitted) => {
            if !submitted.new {
                world.coverage.note(Situation::Replayed);
            }
            world.figures.acknowledged += 1;
            world.observe(Observation::Acked {
                id: submitted.id,
                body: sent,
                partition: submitted.partition,
            });
            let client = world.clients.get_mut(&n).expect("asked for above");
            client.settled = true;
            client.partition = Some(submitted.partition);
            None
        }
        Err(SubmitError::Conflict { .. }) => {
            world.coverage.note(Situation::Conflict);
            if !impostor {
                // Somebody else was first with this id.
                world.clients.get_mut(&n).expect("asked for above").settled = true;
            }
            None
        }
        Err(SubmitError::Refused(refusal)) => {
            world.coverage.note(match refusal.reason {
                RefusalReason::Backlog => Situation::RefusedBacklog,
                RefusalReason::Disk => Situation::RefusedDisk,
                RefusalReason::Memory => unreachable!("the simulation sets no bound to memory"),
            });
            Some(refusal.retry_after_secs * 1000)
        }
        Err(SubmitError::Journal(_)) => Some(200),
        Err(error) => {
            world.add_violation("L1", format!("request {n} cannot be handed in: {error}"));
            None
        }
    }
}

/// Cancels a run.
pub async fn cancel(sim: Arc<Sim>, process: Arc<Process>, n: u32) {
    let Some(partition) = sim.world().clients.get(&n).and_then(|client| client.partition) else { return };
    let command = Command::Cancel { pending: true };
    let answer = process.engine.command(partition, id(n), "client".to_owned(), command).await;
    sim.look_for_death();
    let mut world = sim.world();
    match answer {
        _ if world.is_dead() => {}
        Ok(()) => {
            world.coverage.note(Situation::CancelGranted);
            world.observe(Observation::CancelGranted { id: id(n) });
        }
        Err(CommandError::Rejected(Rejection::AfterPivot | Rejection::Ended(_))) => {
            world.coverage.note(Situation::CancelRefused);
        }
        Err(_) => {}
    }
}

/// A parked run and what waits for a decision.
type Open = (PartitionId, RunId, Vec<StepIndex>);

async fn parked(process: &Process) -> Vec<Open> {
    let mut all = Vec::new();
    for partition in process.partitions() {
        let is_parked = |run: &&Run| run.status() == RunStatus::Parked;
        let look = move |state: &kernel::State| {
            let found = state.runs().filter(is_parked);
            found.map(|run| (partition, run.request.id.clone(), run.open_steps())).collect::<Vec<_>>()
        };
        all.extend(process.engine.query(partition, look).await.unwrap_or_default());
    }
    all
}

/// A person looks at what is parked and decides on one of it, by a draw.
pub async fn decide(process: Arc<Process>, draw: u64) {
    let open = parked(&process).await;
    let Some((partition, id, steps)) = open.get(draw as usize % open.len().max(1)) else { return };
    let Some(step) = steps.get((draw >> 8) as usize % steps.len().max(1)).copied() else { return };
    let decision = match rng::hash(&draw) % 6 {
        0 | 1 => Decision::Retry { step: None },
        2 => Decision::Skip { step },
        3 => Decision::ByHand { step, output: Some(Bytes::from_static(b"{}")) },
        4 => Decision::GiveUp,
        _ => Decision::RetryFrom { step },
    };
    let command = Command::Decide { decision, note: "by a draw".to_owned() };
    // Whether it fits is the engine's to say.
    let _ = process.engine.command(*partition, id.clone(), "person".to_owned(), command).await;
}

/// Tries everything again that is parked, now that the faults are over.
pub async fn retry_all(process: &Process) {
    for (partition, id, _) in parked(process).await {
        let decision = Decision::Retry { step: None };
        let command = Command::Decide { decision, note: "again".to_owned() };
        // A run that is no longer parked needs no decision.
        let _ = process.engine.command(partition, id, "person".to_owned(), command).await;
    }
}

/// How long a client waits before it comes back to a process that was gone.
pub fn come_back_ms(seed: u64, n: u32, life: u32) -> u64 {
    rng::hash(&(seed, n, life, "come back")) % Duration::from_secs(2).as_millis() as u64
}
