//! What must be so when a cluster has come to rest.

use engine::jobs::partition_of;
use kernel::{DoneBy, Run, State, StepState, UndoneBy};
use regions::Role;
use types::{JobState, PartitionId, RunStatus};

use super::clients::COLLECTION;
use super::play::SimulatedCluster;
use crate::job_model::JobModel;
use crate::observation::fingerprint;

/// Partitions without an owner.
pub fn unowned(cluster: &SimulatedCluster) -> Vec<PartitionId> {
    let all = (0..cluster.partitions()).map(PartitionId);
    all.filter(|partition| cluster.owner(*partition).is_none()).collect()
}

/// Describes which partitions instances hold.
pub fn who_holds(cluster: &SimulatedCluster) -> String {
    let says = |one: &std::sync::Arc<super::instance::Instance>| {
        let stopped = one.engine.partitions().into_iter().filter_map(|info| info.stopped);
        format!("{} holds {:?} {:?}", one.life, one.engine.held(), stopped.collect::<Vec<_>>())
    };
    cluster.instances().iter().map(says).collect::<Vec<_>>().join("; ")
}

/// Something that still moves.
pub async fn moving(cluster: &SimulatedCluster) -> Option<String> {
    for partition in (0..cluster.partitions()).map(PartitionId) {
        // One that was overtaken a moment ago is about to be taken.
        let Some(owner) = cluster.owner(partition) else {
            return Some(format!("partition {partition} has no owner"));
        };
        match owner.engine.query(partition, |state: &State| (state.live_count(), state.inbox_through())).await
        {
            Ok((0, through)) => {
                let world = cluster.sim.world();
                let active = world.active();
                let last = world.regions[active].streams[&super::inbox(partition)].last() * 65_536;
                if through.0 < last {
                    return Some(format!("partition {partition} has taken {through} of {last}"));
                }
                let job_model = &world.checker.histories[active].job_model;
                let waits = job_model.jobs.values().find(|job| job.progress.state == JobState::Enabled);
                if let Some(job) = waits.filter(|_| partition.0 == 0) {
                    return Some(format!("job {} is to be fired", job.definition.name));
                }
            }
            Ok((live, _)) => return Some(format!("partition {partition} has {live} runs")),
            Err(error) => return Some(format!("partition {partition}: {error}")),
        }
    }
    None
}

/// Compares the state with what was promised.
pub async fn audit(cluster: &SimulatedCluster) {
    for partition in (0..cluster.partitions()).map(PartitionId) {
        replayed(cluster, partition).await;
    }
    acknowledged(cluster);
    effects(cluster);
    jobs(cluster);
    one_region(cluster);
}

/// The owner's state, and its view, are those that all frames make from the first on.
async fn replayed(cluster: &SimulatedCluster, partition: PartitionId) {
    let Some(owner) = cluster.owner(partition) else { return };
    let Ok(state) = owner.engine.query(partition, State::clone).await else { return };
    let mut world = cluster.sim.world();
    let active = world.active();
    let history = &world.checker.histories[active].history;
    let mut wrong = Vec::new();
    if history.state(partition).is_some_and(|replayed| *replayed != state) {
        wrong.push(format!("partition {partition} is in another state than its frames make"));
    }
    for run in history.ended_in(partition) {
        let id = &run.request.id;
        match owner.view.run(id, Some(partition)) {
            Ok(Some(ended)) if ended.status == run.status() => {}
            found => wrong.push(format!("{id} is {}, the view has {found:?}", run.status())),
        }
    }
    wrong.into_iter().for_each(|what| world.checker.add_violation("I21", what));
}

/// What was acknowledged has become one run, with its body, that has ended; or it is in what a lost region took along.
fn acknowledged(cluster: &SimulatedCluster) {
    let mut world = cluster.sim.world();
    let active = world.active();
    let mut wrong = Vec::new();
    for (id, body) in &world.checker.acked {
        match world.checker.histories[active].history.run(id) {
            Some(run) if fingerprint(&run.request.body) != *body => {
                wrong.push(("I1", format!("{id} has another body")))
            }
            Some(run) if !run.status().is_final() => {
                wrong.push(("L1", format!("{id} is {} and moves no more", run.status())));
            }
            Some(_) => {}
            None if world.checker.lost.contains(id) => {}
            None => wrong.push(("I1", format!("{id} was acknowledged and is nowhere"))),
        }
    }
    wrong.into_iter().for_each(|(id, what)| world.checker.add_violation(id, what));
}

/// The services have what the runs say.
fn effects(cluster: &SimulatedCluster) {
    let mut world = cluster.sim.world();
    let active = world.active();
    let mut wrong = Vec::new();
    let untouched = |run: &&Run| !world.checker.touched.contains(&run.request.id);
    for run in world.checker.histories[active].history.runs().filter(untouched) {
        let id = &run.request.id;
        for (index, plan, step) in run.each_step() {
            let in_effect = world.ledger.in_effect(id, index);
            let skipped = matches!(step.state, StepState::Done(DoneBy::Skipped | DoneBy::Hand));
            let left = matches!(step.state, StepState::Undone(UndoneBy::Skipped | UndoneBy::Hand));
            if run.status() == RunStatus::Completed && !in_effect && !skipped {
                wrong.push(("I5", format!("{id} completed without step {}", plan.name)));
            }
            if run.status() == RunStatus::Undone && in_effect && plan.undo.is_some() && !left {
                wrong.push(("I6", format!("{id} was undone and step {} is in effect", plan.name)));
            }
        }
    }
    wrong.into_iter().for_each(|(id, what)| world.checker.add_violation(id, what));
}

/// Jobs have fired as often as they should, and the view says so.
fn jobs(cluster: &SimulatedCluster) {
    let mut rows = JobModel::default();
    if let Some(owner) = cluster.owner(partition_of(COLLECTION, cluster.partitions()))
        && let Ok(Some(collection)) = owner.jobs.collection(COLLECTION)
    {
        for job in owner.jobs.jobs(&collection, None, usize::MAX).unwrap_or_default() {
            rows.jobs.insert(job.definition.at.clone(), job);
        }
    }
    let mut world = cluster.sim.world();
    let active = world.active();
    let mut wrong = Vec::new();
    for (at, job) in &world.checker.histories[active].job_model.jobs {
        let count = job.definition.spec.timing.recurrence.as_ref().and_then(|recurrence| recurrence.count);
        if count.is_some_and(|count| u64::from(count) != job.progress.fired) {
            wrong.push((
                "I12",
                format!("{} fired {} times, it should {count:?}", job.definition.name, job.progress.fired),
            ));
        }
        let row = rows.jobs.get(at);
        if row != Some(job) {
            wrong.push(("I21", format!("job {} is {row:?}, its history makes {job:?}", at.name)));
        }
    }
    wrong.into_iter().for_each(|(id, what)| world.checker.add_violation(id, what));
}

fn one_region(cluster: &SimulatedCluster) {
    let mut world = cluster.sim.world();
    let active = world.regions.iter().filter(|region| region.state.role == Role::Active).count();
    if active != 1 {
        world.checker.add_violation("R1", format!("{active} regions are active when all is well"));
    }
}
