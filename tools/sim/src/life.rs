//! One life of the process: from its start to its death, or until everything has come to rest.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::clients::{self, Client};
use crate::coverage::Situation;
use crate::editors;
use crate::observation::Observation;
use crate::plan::Operation;
use crate::process::Process;
use crate::traffic;
use crate::world::{Death, Sim, Task, World};

/// Why a life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Died(Death),
    /// The faults are over and nothing moves any more.
    Rested,
}

/// How long after the last operation the faults end, in ms.
const HEAL_AFTER_MS: u64 = 2000;

/// How often a process is looked at that should come to rest, in ms.
const LOOK_MS: u64 = 5000;

/// How long a healthy world may take to come to rest, in ms: far longer than any retry or late call.
const REST_MS: u64 = 3_600_000;

/// Starts a process and lets the world happen to it.
pub async fn live(sim: &Arc<Sim>, directory: &Path) -> Ending {
    let started = {
        let starting = std::pin::pin!(Process::start(sim, directory));
        tokio::select! {
            biased;
            started = starting => started,
            () = go_on_without(sim) => Err(anyhow::anyhow!("the process died while it started")),
        }
    };
    sim.look_for_death();
    let process = match started {
        Ok(process) => Arc::new(process),
        Err(error) => return failed_start(&mut sim.world(), &error),
    };
    sim.world().died_starting = 0;
    greet(&mut sim.world());
    loop {
        if let Some(death) = sim.world().death {
            return Ending::Died(death);
        }
        while let Some(task) = next_task(sim) {
            carry_out(sim, &process, task).await;
        }
        if sim.world().death.is_some() {
            continue;
        }
        if sim.world().healed {
            return rest(sim, &process).await;
        }
        let heal = {
            let world = sim.world();
            world.agenda.is_played().then_some(world.played_at + HEAL_AFTER_MS)
        };
        wait_until(sim, heal.unwrap_or(u64::MAX)).await;
    }
}

/// Waits for the next task, for a change of plans, or for a time.
async fn wait_until(sim: &Sim, at: u64) {
    let next = {
        let world = sim.world();
        world.instant(world.agenda.next().map_or(at, |next| next.min(at)))
    };
    tokio::select! {
        biased;
        () = sim.wake.notified() => {}
        () = tokio::time::sleep_until(next) => {}
    }
}

/// The world goes on while a process starts, until that is dead.
async fn go_on_without(sim: &Sim) {
    while sim.world().death.is_none() {
        let until = sim.world().now() + LOOK_MS;
        wait_until(sim, until).await;
        while let Some(task) = next_task(sim) {
            match task {
                Task::Arrive(call) => arrive(&mut sim.world(), &call),
                Task::Empty => sim.world().disk.set_capacity(u64::MAX),
                Task::Do(Operation::Kill { down_ms }) => sim.die(Death { power: false, down_ms }),
                Task::Do(Operation::PowerCut { down_ms }) => sim.die(Death { power: true, down_ms }),
                // Nobody answers yet.
                task => sim.world().put_off(LOOK_MS, task),
            }
        }
    }
}

fn failed_start(world: &mut World, error: &anyhow::Error) -> Ending {
    if let Some(death) = world.death {
        world.coverage.note(Situation::DiedInRecovery);
        world.died_starting += 1;
        if world.died_starting == 5 {
            world.coverage.note(Situation::DiedFiveTimesInRecovery);
        }
        return Ending::Died(death);
    }
    if world.healed {
        world.add_violation("L4", format!("the process does not come back: {error:#}"));
        return Ending::Rested;
    }
    // A full disk, perhaps: the supervisor of the process tries again.
    Ending::Died(Death { power: false, down_ms: 1000 })
}

/// Those whom the last process left without an answer come back.
fn greet(world: &mut World) {
    let waiting: Vec<u32> =
        world.clients.iter().filter(|(_, client)| !client.settled).map(|(n, _)| *n).collect();
    for n in waiting {
        let ms = clients::come_back_ms(world.plan.seed, n, world.life);
        world.later(ms, Task::Resend { n });
    }
    editors::greet(world);
    traffic::greet(world);
}

fn next_task(sim: &Sim) -> Option<Task> {
    let mut world = sim.world();
    if world.is_dead() {
        return None;
    }
    let now = world.now();
    if !world.healed && world.agenda.is_played() && now >= world.played_at + HEAL_AFTER_MS {
        world.heal();
    }
    let task = world.agenda.pop(now);
    if matches!(task, Some(Task::Do(_))) {
        world.played_at = now;
    }
    task
}

/// Continues without faults until nothing moves.
async fn rest(sim: &Arc<Sim>, process: &Arc<Process>) -> Ending {
    let mut look = sim.world().now();
    let mut owed = None;
    let patience = look + REST_MS;
    while look < patience {
        while let Some(task) = next_task(sim) {
            carry_out(sim, process, task).await;
        }
        if let Some(death) = sim.world().death {
            return Ending::Died(death);
        }
        if sim.world().now() >= look {
            clients::retry_all(process).await;
            owed = editors::wind_down(sim, process).await;
            if owed.is_none() {
                owed = traffic::wind_down(sim, process).await;
            }
            if owed.is_none() && is_at_rest(sim, process).await {
                // Long enough for the journal to write down that all of it is durable.
                tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
                sim.world().save_disk_at_rest();
                return Ending::Rested;
            }
            look = sim.world().now() + LOOK_MS;
        }
        wait_until(sim, look).await;
    }
    let mut world = sim.world();
    if let Some(owed) = owed {
        world.add_violation("L2", owed);
    }
    let waiting = world.clients.values().filter(|client| !client.settled).count();
    let live = world.history.runs().filter(|run| !run.status().is_final());
    let live: Vec<String> = live.map(|run| format!("{} {}", run.request.id, run.status())).collect();
    let what = format!("the world does not come to rest: {waiting} clients wait, {live:?}");
    world.add_violation("L1", what);
    Ending::Rested
}

async fn is_at_rest(sim: &Sim, process: &Process) -> bool {
    {
        let world = sim.world();
        if world.is_dead() {
            return false;
        }
        let settled = world.clients.values().all(|client| client.settled);
        if !settled || !world.agenda.is_empty() {
            return false;
        }
    }
    for info in process.engine.partitions() {
        if let Some(reason) = info.stopped {
            sim.world().add_violation("L4", format!("partition {} is stopped: {reason}", info.id));
            return true;
        }
    }
    for partition in process.partitions() {
        let live = process.engine.query(partition, kernel::State::live_count).await;
        if live.is_ok_and(|live| live > 0) {
            return false;
        }
    }
    true
}

async fn carry_out(sim: &Arc<Sim>, process: &Arc<Process>, task: Task) {
    match task {
        Task::Do(operation) => act(sim, process, operation).await,
        Task::Arrive(call) => arrive(&mut sim.world(), &call),
        Task::Resend { n } => {
            if sim.world().clients.get(&n).is_some_and(|client| !client.settled) {
                tokio::spawn(clients::submit(sim.clone(), process.clone(), n, false));
            }
        }
        Task::Edit { n } => {
            tokio::spawn(editors::edit(sim.clone(), process.clone(), n));
        }
        Task::Queue(task) => traffic::carry_out(sim, process, task),
        Task::Empty => sim.world().disk.set_capacity(u64::MAX),
    }
}

/// A call reaches its service, even if its sender is dead.
pub fn arrive(world: &mut World, call: &crate::services::Call) {
    let (outcome, effect) = world.ledger.reach(&call.run, call.work);
    if matches!(outcome, types::Outcome::Refused { .. }) {
        world.coverage.note(Situation::LateAfterUndo);
    }
    world.observe(Observation::Reached {
        run: call.run.clone(),
        work: call.work,
        attempt: call.attempt,
        effect,
    });
    world.answers.insert(call.number, outcome);
    if !world.arrived.insert(call.number) {
        world.coverage.note(Situation::ArrivedTwice);
    }
}

async fn act(sim: &Arc<Sim>, process: &Arc<Process>, operation: Operation) {
    match operation {
        Operation::Submit { n, workflow } => {
            let client = Client { workflow, settled: false, partition: None };
            sim.world().clients.insert(n, client);
            tokio::spawn(clients::submit(sim.clone(), process.clone(), n, false));
        }
        Operation::Again { n } => {
            tokio::spawn(clients::submit(sim.clone(), process.clone(), n, false));
        }
        Operation::Impostor { n } => {
            tokio::spawn(clients::submit(sim.clone(), process.clone(), n, true));
        }
        Operation::Cancel { n } => {
            tokio::spawn(clients::cancel(sim.clone(), process.clone(), n));
        }
        Operation::Decide { draw } => {
            tokio::spawn(clients::decide(process.clone(), draw));
        }
        Operation::Jobs(operation) => editors::begin(sim, process, operation),
        Operation::Queues(operation) => traffic::begin(sim, process, operation),
        Operation::Snapshot => process.engine.ask_snapshots(),
        Operation::Pause { ms } => {
            sim.world().coverage.note(Situation::Paused);
            tokio::time::advance(Duration::from_millis(ms)).await;
        }
        Operation::Kill { down_ms } => sim.die(Death { power: false, down_ms }),
        Operation::PowerCut { down_ms } => sim.die(Death { power: true, down_ms }),
        fault => affect(&mut sim.world(), &fault),
    }
}

/// A fault that does its work later.
fn affect(world: &mut World, fault: &Operation) {
    match *fault {
        Operation::DieAfter { disk_operations, power, nested, down_ms } => {
            world.ordered_death = Death { power, down_ms };
            world.nested = nested;
            world.disk.die_after(disk_operations);
        }
        Operation::FailSync { after } => world.disk.fail_sync_after(after),
        Operation::SlowDisk { ms, for_ms } => world.slow = (world.now() + for_ms, ms),
        Operation::Fill { free_bytes, for_ms } => {
            world.disk.set_capacity(u64::MAX);
            let used = u64::MAX - journal_disk::disk::Disk::free_bytes(&world.disk).unwrap_or(u64::MAX);
            world.disk.set_capacity(used + free_bytes);
            world.later(for_ms, Task::Empty);
        }
        Operation::SetClock { by_ms } => world.set_clock(by_ms),
        Operation::Outage { for_ms } => world.outage_until = world.now() + for_ms,
        Operation::Submit { .. }
        | Operation::Again { .. }
        | Operation::Impostor { .. }
        | Operation::Cancel { .. }
        | Operation::Decide { .. }
        | Operation::Jobs(_)
        | Operation::Queues(_)
        | Operation::Snapshot
        | Operation::Pause { .. }
        | Operation::Kill { .. }
        | Operation::PowerCut { .. } => unreachable!("done at once"),
    }
}
