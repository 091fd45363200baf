//! The editors: they write, change, run and delete jobs; what a crash left without an answer they repeat or give up.

use std::sync::Arc;
use std::time::Duration;

use engine::jobs::{JobAnswer, JobCommand, JobError, partition_of};
use kernel::job::{Collection, CollectionDraft, Draft, Expect, Job, JobRejection, PutMode};
use types::{CollectionSpec, JobState, Span, Ticks, Timestamp, Uid};

use crate::coverage::Situation;
use crate::observation::{EditRequest, EditResponse, Observation};
use crate::plan::jobs::{Condition, JobOperation};
use crate::process::Process;
use crate::rng;
use crate::world::{Sim, Task, World};

/// The one collection of a simulated installation.
pub const COLLECTION: &str = "s/g/c";

/// How often an editor tries before it gives up.
const TRIES_MAX: u32 = 10;

/// How long an editor waits for a collection that is not there yet, in ms.
const AGAIN_MS: u64 = 500;

/// How late an occurrence may be in a healthy world that has caught up, in ms.
const LATE_MS: i64 = 2000;

/// What an editor wants, and how far it got.
#[derive(Debug, Clone)]
pub struct Editor {
    operation: JobOperation,
    tries: u32,
    pub settled: bool,
}

/// The name of a job.
fn name(job: u8) -> String {
    format!("J{job}")
}

/// An editor comes.
pub fn begin(sim: &Arc<Sim>, process: &Arc<Process>, operation: JobOperation) {
    let n = {
        let mut world = sim.world();
        let n = world.editors.len() as u32;
        world.editors.insert(n, Editor { operation, tries: 0, settled: false });
        n
    };
    tokio::spawn(edit(sim.clone(), process.clone(), n));
}

/// Those whom the last process left without an answer repeat their edit or give it up.
pub fn greet(world: &mut World) {
    let (seed, life) = (world.plan.seed, world.life);
    let mut again = Vec::new();
    for (n, editor) in world.editors.iter_mut().filter(|(_, editor)| !editor.settled) {
        let draw = rng::hash(&(seed, n, life, "editor"));
        // Who makes a collection wants it.
        let gives_up = draw.is_multiple_of(3) && !matches!(editor.operation, JobOperation::Collection { .. });
        editor.settled = gives_up;
        if !gives_up {
            again.push((draw % 2000, *n));
        }
    }
    for (ms, n) in again {
        world.later(ms, Task::Edit { n });
    }
}

/// One try of an editor.
pub async fn edit(sim: Arc<Sim>, process: Arc<Process>, n: u32) {
    let (operation, ask, seed) = {
        let mut world = sim.world();
        let seed = world.plan.seed;
        let Some(editor) = world.editors.get_mut(&n).filter(|editor| !editor.settled) else { return };
        editor.tries += 1;
        (editor.operation.clone(), n * 1000 + editor.tries, seed)
    };
    let Some(expect) = read(&process, &operation).await else {
        return settle(&sim, n);
    };
    let uid = Uid((u128::from(rng::hash(&(seed, ask))) << 64 | u128::from(ask)).to_be_bytes());
    let command = command(&operation, expect, uid, ask);
    sim.world().observe(Observation::EditAsked { ask, wanted: wanted(&operation, expect) });
    let answer = process.engine.job(partition_of(COLLECTION, process.partition_count()), command).await;
    sim.look_for_death();
    let mut world = sim.world();
    if world.is_dead() {
        return;
    }
    let verdict = match answer {
        Ok(JobAnswer::Job { job, created, .. }) => {
            EditResponse::Written { version: job.definition.version, created }
        }
        Ok(JobAnswer::Deleted) => EditResponse::Deleted,
        Ok(JobAnswer::Fired { run }) => EditResponse::Fired { run },
        Ok(JobAnswer::Collection { .. } | JobAnswer::Imported) => EditResponse::Other,
        Err(JobError::Rejected(rejection)) => match rejection {
            JobRejection::Changed { current } => {
                world.coverage.note(Situation::IfMatchConflict);
                EditResponse::Changed { current }
            }
            JobRejection::Exists => EditResponse::Exists,
            JobRejection::NoJob => EditResponse::NoJob,
            JobRejection::NoCollection => {
                drop(world);
                return again(&sim, n);
            }
            _ => EditResponse::Other,
        },
        Err(JobError::Stopped { .. } | JobError::NotHeld { .. } | JobError::Unknown { .. }) => {
            drop(world);
            return again(&sim, n);
        }
    };
    world.observe(Observation::EditAnswered { ask, verdict });
    drop(world);
    settle(&sim, n);
}

fn settle(sim: &Sim, n: u32) {
    sim.world().editors.get_mut(&n).expect("the editor is there").settled = true;
}

fn again(sim: &Sim, n: u32) {
    let mut world = sim.world();
    let editor = world.editors.get_mut(&n).expect("the editor is there");
    editor.settled = editor.tries >= TRIES_MAX;
    if !editor.settled {
        world.later(AGAIN_MS, Task::Edit { n });
        drop(world);
        sim.wake.notify_one();
    }
}

/// What an editor expects, after it has read and thought; none when there is nothing to change.
async fn read(process: &Process, operation: &JobOperation) -> Option<Expect> {
    let (JobOperation::Put { job, condition, think_ms, .. }
    | JobOperation::Delete { job, condition, think_ms }) = operation
    else {
        return Some(Expect::Anything);
    };
    let expect = match condition {
        Condition::Anything => Expect::Anything,
        Condition::Nothing => Expect::Nothing,
        Condition::AsRead => Expect::Version(find(process, *job)?.definition.version),
    };
    if *think_ms > 0 {
        tokio::time::sleep(Duration::from_millis(*think_ms)).await;
    }
    Some(expect)
}

fn find(process: &Process, job: u8) -> Option<Job> {
    let collection = process.jobs.collection(COLLECTION).ok().flatten()?;
    process.jobs.job(&collection, &name(job)).ok().flatten()
}

fn command(operation: &JobOperation, expect: Expect, uid: Uid, ask: u32) -> JobCommand {
    let collection = COLLECTION.to_owned();
    match operation {
        JobOperation::Collection { enabled } => put_collection(*enabled, uid),
        JobOperation::Put { job, spec, change, .. } => JobCommand::PutJob {
            collection,
            draft: Box::new(Draft {
                name: name(*job),
                uid,
                spec: (**spec).clone(),
                document: ask.to_string(),
                delay: Span::ZERO,
            }),
            expect,
            manner: if *change { PutMode::Change } else { PutMode::Replace },
        },
        JobOperation::Delete { job, .. } => JobCommand::DeleteJob { collection, name: name(*job), expect },
        JobOperation::Run { job } => JobCommand::RunJob { collection, name: name(*job) },
    }
}

fn put_collection(enabled: bool, uid: Uid) -> JobCommand {
    let spec =
        CollectionSpec { jobs_max: 100, period_min: Span::from_secs(1), authentication: true, enabled };
    let draft = CollectionDraft {
        subscription: "s".to_owned(),
        group: "g".to_owned(),
        name: "c".to_owned(),
        uid,
        spec,
        document: "{}".to_owned(),
    };
    JobCommand::PutCollection { draft, expect: Expect::Anything }
}

fn wanted(operation: &JobOperation, expect: Expect) -> EditRequest {
    let expected = match expect {
        Expect::Version(version) => Some(version),
        Expect::Anything | Expect::Nothing => None,
    };
    match operation {
        JobOperation::Collection { .. } => EditRequest::Collection,
        JobOperation::Put { job, .. } => {
            let nothing = expect == Expect::Nothing;
            EditRequest::Put { job: name(*job).to_lowercase(), version: expected, nothing }
        }
        JobOperation::Delete { job, .. } => EditRequest::Delete {
            job: name(*job).to_lowercase(),
            version: expected,
            nothing: expect == Expect::Nothing,
        },
        JobOperation::Run { job } => EditRequest::Run { job: name(*job).to_lowercase() },
    }
}

/// Everything is well again: once all that is due has been fired, the collection is held, so that the world can come
/// to rest. What is still owed before that, if anything is.
pub async fn wind_down(sim: &Sim, process: &Process) -> Option<String> {
    if sim.world().editors.values().any(|editor| !editor.settled) {
        return Some("an editor waits for its answer".to_owned());
    }
    let Ok(Some(collection)) = process.jobs.collection(COLLECTION) else { return None };
    if !collection.spec.enabled {
        return None;
    }
    if let Some(owed) = owed(sim, process, &collection).await {
        return Some(owed);
    }
    let command = put_collection(false, collection.uid);
    let held = process.engine.job(partition_of(COLLECTION, process.partition_count()), command).await;
    held.err().map(|error| format!("the collection cannot be held: {error}"))
}

async fn owed(sim: &Sim, process: &Process, collection: &Collection) -> Option<String> {
    let partition = partition_of(COLLECTION, process.partition_count());
    let jobs = process.jobs.jobs(collection, None, usize::MAX).unwrap_or_default();
    if let Some(held) = jobs.iter().find(|job| job.progress.held) {
        return Some(format!("{} is held, its collection is not", held.definition.name));
    }
    for job in jobs.into_iter().filter(|job| job.progress.state == JobState::Enabled) {
        let key = job.key();
        let live = process.engine.query(partition, move |state| state.occurrences(&key).len()).await;
        let live = live.unwrap_or_default();
        let wall = sim.world().wall();
        if let Some(owed) = owed_by(&job, live, wall) {
            return Some(format!("{} {owed}", job.definition.name));
        }
    }
    None
}

fn owed_by(job: &Job, live: usize, wall: Timestamp) -> Option<String> {
    let progress = &job.progress;
    let jitter_ms = job.definition.spec.timing.jitter.as_ms() as i64;
    match progress.next {
        Some(next) if next < Ticks::from(Timestamp(wall.0 - jitter_ms - LATE_MS)) => {
            Some(format!("should have fired at {}, it is {}", next.ceil().0, wall.0))
        }
        None if live == 0 && (progress.counted > 0 || progress.missed > 0) => {
            Some("has nothing to come and nothing under way, and has not ended".to_owned())
        }
        _ => None,
    }
}
